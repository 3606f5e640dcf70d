package listener_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/coder/websocket"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/certs"
)

const overTLS = `
- endpoint: {path: /fixed, response: {body: fixed}}
- endpoint: {path: "/of/:name", response: {body: "{{path-params.name}} {{tls.version}} {{tls.sni}}"}}
- endpoint: {path: /url, response: {body: "{{host.url}}"}}
- endpoint: {path: /cipher, response: {body: "{{tls.cipher}}"}}
- endpoint: {path: /who, if: client-cert.cn = shop, response: {body: "{{client-cert.subject}} {{client-cert.san}} {{client-cert.serial.length}} {{client-cert.fingerprint.length}}"}}
- endpoint: {path: /who, response: {body: "nobody {{client-cert.present}}{{client-cert.cn}}"}}
- endpoint: {path: /slow, latency: {min: 1h, max: 1h}, response: {body: slow}}
- endpoint: {path: /soon, latency: {min: 30ms, max: 30ms}, response: {body: soon}}
- endpoint: {path: /large, response: {body: "{% for x in json-params.all %}0123456789012345678901234567890123456789{% endfor %}"}, method: POST}
- endpoint: {path: /reset, response: {body: x}, fault: {type: reset}}
- endpoint: {path: /empty, response: {body: x}, fault: {type: empty}}
- endpoint: {path: /malformed, response: {body: x}, fault: {type: malformed}}
- endpoint: {path: /truncate, response: {body: "0123456789"}, fault: {type: truncate}}
- endpoint: {path: /drip, response: {body: "0123456789"}, fault: {type: slow-body, bytes-per-second: 1000}}
- websocket: {path: /ws, on-message: [{pattern: ping, response: pong}]}
`

// secured starts a server that speaks TLS. It also returns the server's log.
func secured(t *testing.T, opts certs.Options) (*listener.Server, *logged) {
	t.Helper()
	log := &logged{}
	spec := config.Parse("tls.yml", []byte(overTLS))
	return started(t, spec, listener.Options{TLS: &opts, Record: &record.Options{}, Logger: slog.New(slog.NewTextHandler(log, nil))}), log
}

// logged is a log on which tests can wait.
type logged struct{ harness.Log }

func (l *logged) has(parts ...string) bool {
	for line := range strings.Lines(l.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

// wants waits until a line that contains all parts is logged.
func (l *logged) wants(t *testing.T, parts ...string) {
	t.Helper()
	harness.Until(t, fmt.Sprintf("%q is logged", parts), func() bool { return l.has(parts...) })
}

// pairs returns the options for the given certificate and key files.
func pairs(files ...string) []certs.Pair {
	var all []certs.Pair
	for i := 0; i < len(files); i += 2 {
		all = append(all, certs.Pair{Cert: files[i], Key: files[i+1]})
	}
	return all
}

// dialTLS opens a connection.
func dialTLS(t *testing.T, server *listener.Server, config *tls.Config) (*tls.Conn, error) {
	t.Helper()
	conn, err := tls.Dial("tcp", server.Addr().String(), config)
	if err == nil {
		t.Cleanup(func() { conn.Close() })
		err = conn.SetDeadline(time.Now().Add(harness.Patience))
	}
	return conn, err
}

// asked sends a GET request over a connection and returns the body of the response.
func asked(conn net.Conn, path string) (string, error) {
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// trusting returns a pool with the CA that a server has made.
func trusting(t *testing.T, server *listener.Server) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(server.CA()) {
		t.Fatalf("no CA: %q", server.CA())
	}
	return pool
}

func TestTLS_BothOnOnePort(t *testing.T) {
	server, _ := secured(t, certs.Options{Auto: true})
	if status, body := get(t, server.URL()+"/of/clear"); status != 200 || body != "clear  " {
		t.Errorf("without TLS: %d %q", status, body)
	}
	for name, c := range map[string]struct {
		config  *tls.Config
		path    string
		want    string
		version uint16
	}{
		"1.3":            {&tls.Config{ServerName: "shop.test"}, "/of/a", "a 1.3 shop.test", tls.VersionTLS13},
		"1.2":            {&tls.Config{ServerName: "Shop.Test", MaxVersion: tls.VersionTLS12}, "/of/a", "a 1.2 Shop.Test", tls.VersionTLS12},
		"without a name": {&tls.Config{ServerName: "127.0.0.1"}, "/of/a", "a 1.3 ", tls.VersionTLS13},
		"host":           {&tls.Config{ServerName: "x"}, "/url", "https://a", tls.VersionTLS13},
		"fixed":          {&tls.Config{ServerName: "x"}, "/fixed", "fixed", tls.VersionTLS13},
		"delayed":        {&tls.Config{ServerName: "x"}, "/soon", "soon", tls.VersionTLS13},
		"cipher":         {&tls.Config{ServerName: "x", MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}, "/cipher", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", tls.VersionTLS12},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.RootCAs = trusting(t, server)
			conn, err := dialTLS(t, server, c.config)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // several requests on one connection
				if got, err := asked(conn, c.path); got != c.want || err != nil || conn.ConnectionState().Version != c.version {
					t.Errorf("got %q, %v, version %x, want %q, %x", got, err, conn.ConnectionState().Version, c.want, c.version)
				}
			}
		})
	}
}

func TestTLS_VersionsProtocolsAndCiphers(t *testing.T) {
	for name, c := range map[string]struct {
		opts   certs.Options
		config *tls.Config
		result string // "" means success
		logged string
	}{
		"1.1":               {certs.Options{Auto: true}, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "version", "share no version of TLS"},
		"1.2 below the min": {certs.Options{Auto: true, Min: "1.3"}, &tls.Config{MaxVersion: tls.VersionTLS12}, "version", "share no version of TLS"},
		"1.3 as the min":    {certs.Options{Auto: true, Min: "1.3"}, &tls.Config{}, "", ""},
		"http/1.1":          {certs.Options{Auto: true}, &tls.Config{NextProtos: []string{"other", "http/1.1"}}, "", ""},
		"no protocol":       {certs.Options{Auto: true}, &tls.Config{NextProtos: []string{"smtp"}}, "protocol", "none of the server's protocols"},
		"no cipher":         {certs.Options{Auto: true}, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}, "cipher", "share no cipher suite"},
		"not trusted":       {certs.Options{Auto: true}, &tls.Config{RootCAs: x509.NewCertPool()}, "untrusted", "the client"},
	} {
		t.Run(name, func(t *testing.T) {
			server, log := secured(t, c.opts)
			c.config.ServerName, c.config.InsecureSkipVerify = "a.test", c.config.RootCAs == nil
			conn, err := dialTLS(t, server, c.config)
			if err == nil {
				var got string
				if got, err = asked(conn, "/fixed"); err == nil && got != "fixed" {
					t.Errorf("got %q", got)
				}
			}
			if (err != nil) != (c.result != "") {
				t.Fatalf("got %v, want result %q", err, c.result)
			}
			if c.result != "" {
				log.wants(t, "TLS handshake failed", c.logged)
				if n := handshakes(server, c.result); n != 1 {
					t.Errorf("%d handshakes are counted as %s: %+v", n, c.result, server.Counts().Handshakes)
				}
			}
		})
	}
}

// handshakes returns how many handshakes of a server had the given result.
func handshakes(server *listener.Server, result string) (n uint64) {
	counts := server.Counts()
	for _, h := range counts.Handshakes {
		if h.Result == result {
			n += h.Count
		}
	}
	return n
}

func TestTLS_CertificateByName(t *testing.T) {
	ca, dir := newCA(t, "test"), t.TempDir()
	var files []string
	for name, l := range map[string]leaf{
		"first": {CN: "first", Names: []string{"first.test"}}, "exact": {CN: "exact", Names: []string{"a.shop.test"}},
		"wild": {CN: "wild", Names: []string{"*.shop.test"}}, "address": {CN: "address", Names: []string{"127.0.0.1"}},
	} {
		cert, key := ca.Files(dir, name, l)
		if name == "first" {
			files = append([]string{cert, key}, files...)
		} else {
			files = append(files, cert, key)
		}
	}
	for auto, of := range map[bool]map[string]string{
		false: {"first.test": "first", "a.shop.test": "exact", "A.Shop.Test": "exact", "b.shop.test": "wild", "b.c.shop.test": "first", "other": "first", "": "address"},
		true:  {"a.shop.test": "exact", "b.shop.test": "wild", "other": "other", "": "address", "b.c.shop.test": "b.c.shop.test", "-bad.test": "localhost"},
	} {
		server, _ := secured(t, certs.Options{Pairs: pairs(files...), Auto: auto})
		for name, want := range of {
			conn, err := dialTLS(t, server, &tls.Config{ServerName: name, InsecureSkipVerify: true})
			if err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			if got := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; got != want {
				t.Errorf("auto %v, %q: got the certificate of %s, want %s", auto, name, got, want)
			}
		}
	}
}

func TestTLS_Resumption(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		begun := time.Now()
		server, _ := secured(t, certs.Options{Auto: true})
		config := &tls.Config{ServerName: "a", RootCAs: trusting(t, server), MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
		for i := range 3 {
			conn, err := dialTLS(t, server, config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := asked(conn, "/fixed"); err != nil || conn.ConnectionState().DidResume != (i > 0) { // reading the response also reads the ticket
				t.Errorf("version %x, connection %d: resumed %v, %v", version, i, conn.ConnectionState().DidResume, err)
			}
		}
		counts := server.Counts()
		if full, all := counts.FullHandshakes(); full != 1 || all != 3 || counts.HandshakeTime <= 0 || counts.HandshakeTime > time.Since(begun) {
			t.Errorf("%d full handshakes of %d, %v: %+v", full, all, counts.HandshakeTime, counts.Handshakes)
		}
	}
}

func TestTLS_ClientCertificates(t *testing.T) {
	ca, other, dir := newCA(t, "clients"), newCA(t, "others"), t.TempDir()
	file := ca.File(dir, "clients.pem")
	shop := ca.Client(leaf{CN: "shop", Names: []string{"shop.test", "10.0.0.1", "spiffe://a/b"}})
	for name, c := range map[string]struct {
		mode   string
		shown  []tls.Certificate
		want   string // "" if the handshake is refused
		logged string
	}{
		"required, shown":       {"", []tls.Certificate{shop}, "CN=shop shop.test,10.0.0.1,spiffe://a/b ", ""},
		"required, absent":      {certs.Required, nil, "", "sent no certificate"},
		"required, another CA":  {certs.Required, []tls.Certificate{other.Client(leaf{CN: "shop"})}, "", "unknown authority"},
		"required, expired":     {certs.Required, []tls.Certificate{ca.Client(leaf{CN: "shop", Until: time.Now().Add(-time.Hour)})}, "", "expired"},
		"optional, shown":       {certs.Optional, []tls.Certificate{shop}, "CN=shop ", ""},
		"optional, another one": {certs.Optional, []tls.Certificate{ca.Client(leaf{CN: "else"})}, "nobody trueelse", ""},
		"optional, absent":      {certs.Optional, nil, "nobody false", ""},
		"optional, another CA":  {certs.Optional, []tls.Certificate{other.Client(leaf{CN: "shop"})}, "", "unknown authority"},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(fmt.Sprintf("%s %x", name, version), func(t *testing.T) {
				server, log := secured(t, certs.Options{Auto: true, ClientCA: file, Client: c.mode})
				config := &tls.Config{ServerName: "a", RootCAs: trusting(t, server), MaxVersion: version}
				if len(c.shown) > 0 { // present the certificate whatever CAs the server names
					config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.shown[0], nil }
				}
				conn, err := dialTLS(t, server, config)
				var got string
				if err == nil {
					got, err = asked(conn, "/who")
				}
				switch {
				case c.want != "" && (err != nil || !strings.HasPrefix(got, c.want)):
					t.Errorf("got %q, %v, want %q", got, err, c.want)
				case c.want == "" && (err == nil || !strings.Contains(err.Error(), "remote error: tls: ")): // the client must receive the alert
					t.Errorf("got %q, %v", got, err)
				case c.want == "":
					log.wants(t, "TLS handshake failed", c.logged)
					if handshakes(server, "client-certificate") != 1 {
						t.Errorf("counted %+v", server.Counts().Handshakes)
					}
				}
			})
		}
	}
}

// A session that began with one client CA is not resumed once that CA is replaced, whether or not
// the ticket keys come from a file.
func TestTLS_ReplacedClientCAEndsSessions(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"", strings.Repeat("q", 43) + "=\n"} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			ca, next, dir := newCA(t, "clients"), newCA(t, "next"), t.TempDir()
			opts := certs.Options{Auto: true, ClientCA: ca.File(dir, "clients.pem")}
			if keys != "" {
				opts.TicketKeys = harness.WriteFile(t, dir, "tickets", keys)
			}
			server, log := secured(t, opts)
			shown := ca.Client(leaf{CN: "shop"})
			config := &tls.Config{
				ServerName: "a", RootCAs: trusting(t, server), MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(4),
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil },
			}
			for i := range 2 {
				conn, err := dialTLS(t, server, config)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := asked(conn, "/who"); err != nil || !strings.HasPrefix(got, "CN=shop") || conn.ConnectionState().DidResume != (i == 1) {
					t.Fatalf("connection %d: %q, %v, resumed %v", i, got, err, conn.ConnectionState().DidResume)
				}
			}
			next.File(dir, "clients.pem")
			log.wants(t, "certificates reloaded")
			conn, err := dialTLS(t, server, config)
			if err == nil {
				_, err = asked(conn, "/who")
			}
			if err == nil {
				t.Errorf("keys %q, version %x: a session of the replaced CA is resumed", keys, version)
			}
		}
	}
}

// No request over a new connection fails while certificates change.
func TestTLS_ReloadUnderLoad(t *testing.T) {
	t.Parallel()
	ca, dir := newCA(t, "test"), t.TempDir()
	cert, key := ca.Files(dir, "a", leaf{CN: "v0", Names: []string{"a.test"}})
	server, log := secured(t, certs.Options{Pairs: pairs(cert, key)})
	config := &tls.Config{ServerName: "a.test", RootCAs: ca.Pool()}
	var done atomic.Bool
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for !done.Load() {
				conn, err := tls.Dial("tcp", server.Addr().String(), config)
				if err != nil {
					t.Errorf("handshake: %v", err)
					return
				}
				if got, err := asked(conn, "/fixed"); got != "fixed" {
					t.Errorf("got %q, %v", got, err)
				}
				conn.Close()
			}
		})
	}
	now := func() string {
		conn, err := dialTLS(t, server, config)
		if err != nil {
			t.Fatal(err)
		}
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	for i := range 2 {
		c, k := ca.Issue(leaf{CN: fmt.Sprintf("v%d", i+1), Names: []string{"a.test"}})
		harness.WriteFile(t, dir, "a.key", string(k)) // the two files of a pair cannot change at the same time
		harness.WriteFile(t, dir, "a.pem", string(c))
		harness.Until(t, "the new certificate is served", func() bool { return now() == fmt.Sprintf("v%d", i+1) })
	}
	harness.WriteFile(t, dir, "a.pem", "broken")
	log.wants(t, "TLS file not reloaded", "a.pem")
	if got := now(); got != "v2" {
		t.Errorf("after a broken file the certificate is %s", got)
	}
	done.Store(true)
	asking.Wait()
}

func TestTLS_ExpiryIsWarnedOf(t *testing.T) {
	ca, dir := newCA(t, "test"), t.TempDir()
	for name, c := range map[string]struct {
		until time.Duration
		want  string
	}{
		"in a month": {30 * 24 * time.Hour, ""}, "in 13 days": {13 * 24 * time.Hour, "certificate expires soon"}, "an hour ago": {-time.Hour, "certificate has expired"},
	} {
		until := time.Now().Add(c.until)
		cert, key := ca.Files(dir, strings.ReplaceAll(name, " ", "-"), leaf{CN: "a", Names: []string{"a"}, Until: until})
		server, log := secured(t, certs.Options{Pairs: pairs(cert, key)})
		if got := log.has("certificate") != (c.want == ""); !got || c.want != "" && !log.has(c.want, cert) {
			t.Errorf("%s: want %q", name, c.want)
		}
		if v := server.Certificates(); len(v) != 1 || v[0].Name != cert || !v[0].Until.Equal(until.UTC().Truncate(time.Second)) {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestTLS_OnlyRefusesClearText(t *testing.T) {
	server, _ := secured(t, certs.Options{Auto: true, Only: true})
	if !strings.HasPrefix(server.URL(), "https://") {
		t.Errorf("the URL is %s", server.URL())
	}
	for _, sent := range []string{whole(), "\r\n" + whole(), "G", "POST /fixed HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx"} {
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err = io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%q: %v", sent, err)
			continue
		}
		if body, err := io.ReadAll(resp.Body); resp.StatusCode != 400 || !bytes.Contains(body, []byte("this port speaks TLS")) || err != nil {
			t.Errorf("%q: %d %s %v", sent, resp.StatusCode, body, err)
		}
	}
	conn, err := dialTLS(t, server, &tls.Config{ServerName: "a", RootCAs: trusting(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := asked(conn, "/fixed"); got != "fixed" {
		t.Errorf("got %q, %v", got, err)
	}
}

func whole() string { return "GET /fixed HTTP/1.1\r\nHost: a\r\n\r\n" }

// slowly is a connection that sends one byte at a time.
type slowly struct{ net.Conn }

func (s slowly) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := s.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

// A handshake and requests may arrive in pieces of any size.
func TestTLS_ByteByByte(t *testing.T) {
	server, _ := secured(t, certs.Options{Auto: true})
	plain, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	conn := tls.Client(slowly{plain}, &tls.Config{ServerName: "a", RootCAs: trusting(t, server)})
	for range 2 {
		if got, err := asked(conn, "/of/x"); got != "x 1.3 a" {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// Input that is not a handshake ends its connection, and the next connection is served.
func TestTLS_GarbageAfterTheFirstByte(t *testing.T) {
	server, log := secured(t, certs.Options{Auto: true})
	for _, sent := range []string{
		"\x16", "\x16GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x00", "\x16\x03\x01\xff\xff" + strings.Repeat("x", 70000),
		"\x16\x03\x01\x00\x05hello", "\x16\x03\x01\x00\x04\x01\x00\x00\x00", "\x16\x03\x01\x00\x04\x01\xff\xff\xff" + strings.Repeat("\x16\x03\x01\x00\x01a", 10),
	} {
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, sent) // the server may have closed the connection by now
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(harness.Patience))
		if _, err = io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%.20q: the connection stays open", sent)
		}
		conn.Close()
	}
	log.wants(t, "TLS handshake failed")
	if status, _ := get(t, server.URL()+"/fixed"); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

// recorded is a connection that keeps the bytes it receives.
type recorded struct {
	net.Conn
	got bytes.Buffer
}

func (r *recorded) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.got.Write(b[:n])
	return n, err
}

// says reports whether the last record received is an alert, such as the notice that ends TLS.
func (r *recorded) says() (alert bool) {
	for b := r.got.Bytes(); len(b) >= 5; {
		alert = b[0] == 21
		b = b[min(5+int(b[3])<<8+int(b[4]), len(b)):]
	}
	return alert
}

func TestTLS_Faults(t *testing.T) {
	server, _ := secured(t, certs.Options{Auto: true})
	for path, c := range map[string]struct {
		begins, ends string // how the received bytes begin and end
		noticed      bool   // TLS ends properly, with a notice
		fails        error
	}{
		"/reset":     {"", "", false, syscall.ECONNRESET},
		"/empty":     {"", "", true, nil},
		"/malformed": {"\x00\x01\xff\xfe", "\r\n\r\n", true, nil},
		"/truncate":  {"HTTP/1.1 200 OK\r\n", "\r\n\r\n01234", false, nil},
		"/drip":      {"HTTP/1.1 200 OK\r\n", "\r\n\r\n0123456789", true, nil},
	} {
		plain, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		below := &recorded{Conn: plain}
		conn := tls.Client(below, &tls.Config{ServerName: "a", RootCAs: trusting(t, server), MaxVersion: tls.VersionTLS12}) // its alerts are not encrypted, so the test can see them
		if _, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if !strings.HasPrefix(string(got), c.begins) || !strings.HasSuffix(string(got), c.ends) || c.begins == "" && len(got) > 0 || !errors.Is(err, c.fails) {
			t.Errorf("%s: got %q, %v, want %q, %q, %v", path, got, err, c.begins, c.ends, c.fails)
		}
		if below.says() != c.noticed {
			t.Errorf("%s: ended with close_notify: %v, want %v", path, below.says(), c.noticed)
		}
	}
}

// The server notices that a client leaves while its request waits, by the TLS notice or by the end
// of the connection alone.
func TestTLS_ClientLeavesDuringLatency(t *testing.T) {
	server, _ := secured(t, certs.Options{Auto: true})
	config := &tls.Config{ServerName: "a", RootCAs: trusting(t, server)}
	for i, leave := range []func(*tls.Conn) error{
		(*tls.Conn).Close, func(c *tls.Conn) error { return c.NetConn().Close() }, (*tls.Conn).CloseWrite,
	} {
		conn, err := dialTLS(t, server, config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		harness.Until(t, "the request waits", func() bool { return server.Counts().InFlight == 1 })
		if err = leave(conn); err != nil {
			t.Fatal(err)
		}
		harness.Until(t, fmt.Sprintf("the client has left, in manner %d", i), func() bool { return server.Counts().InFlight == 0 })
	}
}

func TestTLS_PipelinedAndLarge(t *testing.T) {
	server, _ := secured(t, certs.Options{Auto: true})
	conn, err := dialTLS(t, server, &tls.Config{ServerName: "a", RootCAs: trusting(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"all": [` + strings.Repeat("1,", 50000) + `1]}`
	go func() {
		_, _ = io.WriteString(conn, strings.Repeat(whole(), 3)+fmt.Sprintf("POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)+whole())
	}()
	in := bufio.NewReader(iotest.OneByteReader(bufio.NewReader(conn)))
	for i, want := range []int{5, 5, 5, 50001 * 40, 5} {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); len(got) != want || err != nil {
			t.Fatalf("response %d: %d bytes, %v, want %d", i, len(got), err, want)
		}
	}
}

func TestTLS_WebSocket(t *testing.T) {
	server, _ := secured(t, certs.Options{Auto: true})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusting(t, server)}}
	url := "wss" + strings.TrimPrefix(server.URL(), "http") + "/ws"
	conn, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte("ping")); err != nil {
			t.Fatal(err)
		}
		if _, got, err := conn.Read(t.Context()); string(got) != "pong" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

// Shutdown sends the TLS notice on idle connections, and aborts handshakes that make no progress.
func TestTLS_Shutdown(t *testing.T) {
	nothingLeft(t)
	spec := config.Parse("tls.yml", []byte(overTLS))
	server := start(t, spec, listener.Options{TLS: &certs.Options{Auto: true}})
	half, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	if _, err = half.Write([]byte{0x16, 3}); err != nil {
		t.Fatal(err)
	}
	conn, err := dialTLS(t, server, &tls.Config{ServerName: "a", RootCAs: trusting(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := asked(conn, "/fixed"); got != "fixed" {
		t.Fatal(got, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err != io.EOF { // the server sent the TLS notice
		t.Errorf("the idle connection: %d, %v", n, err)
	}
	_ = conn.Close()                                     // the server waits for that
	if _, err := io.Copy(io.Discard, half); err != nil { // the handshake is aborted
		t.Errorf("the connection whose handshake makes no progress: %v", err)
	}
	_ = half.Close()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestTLS_OptionsThatCannotBe(t *testing.T) {
	ca, dir := newCA(t, "test"), t.TempDir()
	cert, key := ca.Files(dir, "a", leaf{CN: "a"})
	_, other := ca.Files(dir, "b", leaf{CN: "b"})
	broken := harness.WriteFile(t, dir, "broken", "x")
	for _, c := range []struct {
		opts certs.Options
		want string
	}{
		{certs.Options{}, "TLS needs certificates"},
		{certs.Options{Pairs: pairs(cert, other)}, "private key does not match public key"},
		{certs.Options{Pairs: pairs(cert, filepath.Join(dir, "none"))}, "none: there is no such file"},
		{certs.Options{Pairs: pairs(broken, key)}, "failed to find any PEM data"},
		{certs.Options{Auto: true, ClientCA: broken}, "it contains no certificate"},
		{certs.Options{Auto: true, Client: "maybe"}, `"maybe"; expected optional or required`},
		{certs.Options{Auto: true, Client: "optional"}, "no file with their CA"},
		{certs.Options{Auto: true, Min: "1.1"}, "expected 1.2 or 1.3"},
		{certs.Options{Auto: true, TicketKeys: broken}, "line 1 is not a key"},
		{certs.Options{Auto: true, Dir: filepath.Join(broken, "x")}, "CA in "},
	} {
		if server, err := listener.Start(hello("a"), listener.Options{TLS: &c.opts}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v, want %q", c.opts, server, err, c.want)
		}
	}
}
