// Package certs is the TLS side of a server, independent of its protocol: certificates chosen by
// name, a CA that makes them on demand, the CAs of clients, keys of session tickets, and
// handshakes, with the cause of each failure. Everything that comes from a file can be reloaded
// while connections are accepted.
//
//	store, err := certs.Open(certs.Options{Auto: true}, log)
//	conn, err := store.Handshake(accepted)
package certs

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/internal/files"
)

// Options say which certificates a server has and what it expects of clients. All files are in PEM,
// except TicketKeys.
type Options struct {
	// Pairs are certificates with their keys. A handshake gets the certificate for the name that
	// the client asks for, an exact name before a wildcard, or else the first one.
	Pairs []Pair
	// Auto makes certificates on demand for every name that is not in Pairs.
	Auto bool
	// Dir is the directory where the CA of Auto is stored for the next start; "" makes a new CA
	// each time.
	Dir string
	// Authority is the CA of Auto, if it is already open; nil opens the CA in Dir.
	Authority *Authority

	// Only refuses requests in clear text.
	Only bool
	// Protocols lists what clients may choose by ALPN, in order of preference; empty means only
	// "http/1.1".
	Protocols []string
	// Min is the lowest TLS version that is supported: "1.2", which is the default, or "1.3".
	Min string

	// ClientCA is a file with the CAs of client certificates; "" asks clients for none.
	ClientCA string
	// Client is "required", which is the default with ClientCA, or "optional".
	Client string

	// TicketKeys is a file with the keys of session tickets, which several servers may share; see
	// readKeys. "" makes keys that only this server knows.
	TicketKeys string
	// NoTickets turns session tickets off.
	NoTickets bool
}

// Pair names the files of a certificate: its chain, and its key.
type Pair struct{ Cert, Key string }

// The values of Options.Client.
const (
	Required = "required"
	Optional = "optional"
)

// check returns what is wrong with the options.
func (o *Options) check() error {
	switch {
	case len(o.Pairs) == 0 && !o.Auto:
		return errors.New("TLS needs certificates: expected files, or auto to make them on demand")
	case o.Client != "" && o.Client != Required && o.Client != Optional:
		return fmt.Errorf("client certificates are %q; expected %s or %s", o.Client, Optional, Required)
	case o.Client != "" && o.ClientCA == "":
		return fmt.Errorf("client certificates are %s, but there is no file with their CA", o.Client)
	case versions[o.Min] == 0:
		return fmt.Errorf("the lowest version of TLS is %q; expected 1.2 or 1.3", o.Min)
	}
	return nil
}

// versions maps the values of Options.Min to TLS versions.
var versions = map[string]uint16{"": tls.VersionTLS12, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// Store holds the current certificates of a server. Its methods may be called from any goroutine.
type Store struct {
	opts      Options
	log       *slog.Logger
	authority *Authority // nil without Auto

	// base is the configuration that handshakes begin with. It holds the ticket keys if they do not
	// come from a file, so it is replaced when the CAs of clients change.
	base    atomic.Pointer[tls.Config]
	current atomic.Pointer[state]
	loading sync.Mutex // held while files are read

	counts counts
}

// FileError is the error for a file that does not exist or is not valid.
type FileError struct{ error }

// Open checks the options and reads all files. If files are invalid, the error is a FileError that
// names the first of them.
func Open(opts Options, log *slog.Logger) (*Store, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Store{opts: opts, log: cmp.Or(log, slog.New(slog.DiscardHandler)), authority: opts.Authority}
	if len(opts.Protocols) == 0 {
		s.opts.Protocols = []string{"http/1.1"}
	}
	if opts.Auto && s.authority == nil {
		var err error
		if s.authority, err = OpenAuthority(opts.Dir); err != nil {
			return nil, err
		}
	}
	st, problems := s.read(&state{})
	if len(problems) > 0 {
		return nil, FileError{problems[0]}
	}
	s.serve(st)
	s.WarnOfExpiry(time.Now())
	return s, nil
}

// Authority returns the CA of Options.Auto; nil without it.
func (s *Store) Authority() *Authority { return s.authority }

// Only reports whether requests in clear text are refused.
func (s *Store) Only() bool { return s.opts.Only }

// Files returns the names of the files; Reload must be called when one of the files changes.
func (s *Store) Files() []string {
	var names []string
	for _, p := range s.opts.Pairs {
		names = append(names, p.Cert, p.Key)
	}
	for _, name := range []string{s.opts.ClientCA, s.opts.TicketKeys} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Reload reads all files again. It logs the files that are invalid, and keeps their previous
// content. The cause is for the log.
func (s *Store) Reload(cause string) {
	s.loading.Lock()
	defer s.loading.Unlock()
	st, problems := s.read(s.current.Load())
	for _, problem := range problems {
		s.log.Error("TLS file not reloaded, the last good one stays in use", "error", problem.Error(), "cause", cause)
	}
	if s.serve(st) {
		s.log.Info("certificates reloaded", "cause", cause)
		s.WarnOfExpiry(time.Now())
	}
}

// read reads all files. For a file that is invalid, it uses the content in before.
func (s *Store) read(before *state) (st *state, problems []error) {
	st = &state{pairs: slices.Clone(before.pairs), clients: before.clients, digest: before.digest, keys: before.keys, made: before.made}
	if st.pairs == nil {
		st.pairs = make([]*tls.Certificate, len(s.opts.Pairs))
	}
	for i, p := range s.opts.Pairs {
		if pair, err := readPair(p); err != nil {
			problems = append(problems, err)
		} else if st.pairs[i] == nil || !slices.EqualFunc(pair.Certificate, st.pairs[i].Certificate, slices.Equal) {
			st.pairs[i] = pair
		}
	}
	if s.opts.Auto && st.made == nil {
		st.made = newLeaves(s.authority)
	}
	if s.opts.ClientCA != "" {
		if pool, digest, err := readPool(s.opts.ClientCA); err != nil {
			problems = append(problems, fmt.Errorf("client CA %s: %w", s.opts.ClientCA, err))
		} else {
			st.clients, st.digest = pool, digest
		}
	}
	if s.opts.TicketKeys != "" {
		if keys, err := readKeys(s.opts.TicketKeys); err != nil {
			problems = append(problems, fmt.Errorf("ticket keys %s: %w", s.opts.TicketKeys, err))
		} else {
			st.keys = keys
		}
	}
	return st, problems
}

// serve makes handshakes use st from now on. It reports whether that changes anything.
func (s *Store) serve(st *state) (changed bool) {
	before := s.current.Load()
	if before != nil && slices.Equal(st.pairs, before.pairs) && st.digest == before.digest && slices.Equal(st.keys, before.keys) {
		return false
	}
	st.byName = index(st.pairs)
	st.config = s.compile(st)
	s.current.Store(st)
	if before == nil || st.digest != before.digest {
		s.base.Store(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current.Load().config, nil }})
	}
	return true
}

// compile returns the configuration of handshakes.
func (s *Store) compile(st *state) *tls.Config {
	c := &tls.Config{
		MinVersion:             versions[s.opts.Min],
		NextProtos:             s.opts.Protocols,
		GetCertificate:         st.choose,
		ClientCAs:              st.clients,
		SessionTicketsDisabled: s.opts.NoTickets,
		// Small initial records only help browsers that show partial pages, and cost a system call
		// for each packet.
		DynamicRecordSizingDisabled: true,
	}
	if st.keys != nil {
		c.SetSessionTicketKeys(derive(st.keys, st.digest, s.opts.Client))
	}
	if st.clients == nil {
		return c
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if s.opts.Client == Optional {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	c.VerifyConnection = st.verify
	return c
}

// readPair reads a certificate and its key.
func readPair(p Pair) (*tls.Certificate, error) {
	cert, err := files.Read(p.Cert)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", p.Cert, err)
	}
	key, err := files.Read(p.Key)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", p.Key, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if block, _ := pem.Decode(key); err != nil && block != nil && (block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "") {
		err = errors.New("the key is encrypted; expected one without a passphrase")
	}
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", p.Cert, p.Key, err)
	}
	return &pair, nil
}

// readPool reads the certificates of CAs. The digest identifies them.
func readPool(name string) (pool *x509.CertPool, digest [sha256.Size]byte, err error) {
	text, err := files.Read(name)
	if err != nil {
		return nil, digest, err
	}
	pool, hash := x509.NewCertPool(), sha256.New()
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, digest, err
		}
		pool.AddCert(cert)
		hash.Write(block.Bytes)
		n++
	}
	if n == 0 {
		return nil, digest, errors.New("it contains no certificate; expected PEM")
	}
	return pool, [sha256.Size]byte(hash.Sum(nil)), nil
}
