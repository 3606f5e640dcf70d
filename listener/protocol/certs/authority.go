package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mockserver/internal/address"
	"mockserver/internal/files"
)

// Authority is a CA that makes certificates.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// The files of a CA in its directory. The file of the key also contains the certificate. It is
// written first, and only if it does not exist, so that two servers that start with an empty
// directory get the same CA.
const (
	authorityFile = "ca.pem"
	secretFile    = "ca-key.pem"
)

const (
	authorityTime = 10 * 365 * 24 * time.Hour
	leafTime      = 90 * 24 * time.Hour
	// backdated is how far in the past the validity of a certificate begins, because the clocks of
	// clients differ.
	backdated = 24 * time.Hour
	// leafRest is how long a certificate must still be valid when it is used, unless its CA expires
	// at the same time.
	leafRest = 30 * 24 * time.Hour
	// createTries is how often reading an incomplete file is tried, and createPause is the wait
	// between tries.
	createTries = 5
	createPause = 20 * time.Millisecond
	// maxLeaves is the maximum number of certificates that are kept.
	maxLeaves = 1000
)

// OpenAuthority returns the CA that is stored in a directory. If there is none, it makes one and
// stores it; for "" it makes one that is not stored.
func OpenAuthority(dir string) (opened *Authority, broken error) {
	if dir == "" {
		return newAuthority()
	}
	name := filepath.Join(dir, secretFile)
	var a *Authority
	for range createTries {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = create(dir, name)
		}
		if err != nil {
			return nil, fmt.Errorf("CA in %s: %w", dir, err)
		}
		if a, err = parseAuthority(text); err == nil {
			break
		}
		broken = fmt.Errorf("CA %s: %w", name, err)
		time.Sleep(createPause) // another server may be writing it
	}
	if a == nil {
		return nil, broken
	}
	open := filepath.Join(dir, authorityFile)
	if old, err := os.ReadFile(open); err != nil || string(old) != string(a.PEM()) {
		if err := os.WriteFile(open, a.PEM(), 0o644); err != nil {
			return nil, fmt.Errorf("CA in %s: %w", dir, err)
		}
	}
	return a, nil
}

// create makes a CA and writes it. If another server is faster, it returns that server's file.
func create(dir, name string) ([]byte, error) {
	a, err := newAuthority()
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return nil, err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), a.PEM()...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return files.Read(name)
	}
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	return text, errors.Join(err, f.Close())
}

func parseAuthority(text []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("%w; the file contains the key and the certificate of the CA; remove it to get a new CA", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("its certificate is not a CA certificate")
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("its certificate expired on %s; remove the file to get a new one", pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return &Authority{cert: pair.Leaf, key: key}, nil
}

func newAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("mockserver CA "+strings.ToLower(rand.Text()[:6]), authorityTime)
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	cert, err := sign(t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: cert, key: key}, nil
}

// template returns the fields that all certificates have in common.
func template(name string, valid time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126)) // it never fails
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: pkix.Name{CommonName: name, Organization: []string{"mockserver"}},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(valid),
	}
}

func sign(t, by *x509.Certificate, key crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, by, key, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// PEM returns the certificate of the CA, which clients must trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Fingerprint returns the SHA-256 of the certificate of the CA, in hexadecimal digits.
func (a *Authority) Fingerprint() string {
	sum := sha256.Sum256(a.cert.Raw)
	return hex.EncodeToString(sum[:])
}

// issue makes a certificate for a host or an IP address.
func (a *Authority) issue(name string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template(name[:min(len(name), 64)], leafTime) // a longer common name is invalid
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if t.NotAfter.After(a.cert.NotAfter) {
		t.NotAfter = a.cert.NotAfter
	}
	if ip := net.ParseIP(name); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{name}
	}
	leaf, err := sign(t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// leaves are the certificates that a CA has made, by name.
type leaves struct {
	authority *Authority

	mu   sync.Mutex // guards made
	made map[string]*leaf
}

// leaf is a certificate for a name, which is made when it is first used.
type leaf struct {
	cert  func() (*tls.Certificate, error)
	until time.Time // when another one is made
}

func newLeaves(a *Authority) *leaves { return &leaves{authority: a, made: map[string]*leaf{}} }

// fallbackName is the name in the certificate for clients that name an invalid host. It is also
// used if a client names no host and its connection has no IP address.
const fallbackName = "localhost"

// of returns the certificate for a name. Handshakes that need a new one at the same time share it.
func (l *leaves) of(name string) (*tls.Certificate, error) {
	if net.ParseIP(name) == nil && (strings.HasPrefix(name, "*") || address.NameFault(name) != "") {
		name = fallbackName
	}
	one := l.find(name)
	cert, err := one.cert()
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.made[name] == one {
			delete(l.made, name)
		}
	}
	return cert, err
}

// find returns the certificate for a name. A new one takes the place of an arbitrary other one if there
// are too many: a client that asks for thousands of names does not return to each of them.
func (l *leaves) find(name string) *leaf {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if one := l.made[name]; one != nil && now.Before(one.until) {
		return one
	}
	for other := range l.made {
		if len(l.made) < maxLeaves {
			break
		}
		delete(l.made, other)
	}
	one := &leaf{cert: sync.OnceValues(func() (*tls.Certificate, error) { return l.authority.issue(name) }), until: now.Add(leafTime - leafRest)}
	if last := l.authority.cert.NotAfter; last.Before(now.Add(leafTime)) {
		one.until = last // no certificate is valid for longer
	}
	l.made[name] = one
	return one
}
