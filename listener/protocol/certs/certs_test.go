package certs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAuthority_IsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	var opened [8]*Authority
	var opening sync.WaitGroup
	for i := range opened { // like replicas that start together
		opening.Go(func() {
			a, err := OpenAuthority(dir)
			if err != nil {
				t.Error(err)
			}
			opened[i] = a
		})
	}
	opening.Wait()
	last, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range opened {
		if a != nil && a.Fingerprint() != last.Fingerprint() {
			t.Errorf("a CA %s that is not kept, want %s", a.Fingerprint(), last.Fingerprint())
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, authorityFile)); string(text) != string(last.PEM()) || strings.Contains(string(text), "PRIVATE KEY") {
		t.Errorf("%s: %s, %v", authorityFile, text, err)
	}
	if info, err := os.Stat(filepath.Join(dir, secretFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(dir, secretFile), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(dir); err == nil || !strings.Contains(err.Error(), secretFile) {
		t.Errorf("a broken key: %v", err)
	}
}

func TestLeaves_OnePerNameAndNoMoreThanAThousand(t *testing.T) {
	a, err := OpenAuthority("")
	if err != nil {
		t.Fatal(err)
	}
	l := newLeaves(a)
	var first, second *tls.Certificate
	var asking sync.WaitGroup
	asking.Go(func() { first, _ = l.of("a.test") })
	asking.Go(func() { second, _ = l.of("a.test") })
	asking.Wait()
	if first == nil || first != second {
		t.Errorf("two certificates for one name")
	}
	for i := range maxLeaves + 50 {
		if cert, err := l.of(fmt.Sprintf("n%d.test", i)); err != nil || cert.Leaf.VerifyHostname(fmt.Sprintf("n%d.test", i)) != nil {
			t.Fatal(cert, err)
		}
	}
	if len(l.made) != maxLeaves {
		t.Errorf("%d certificates are kept, want %d", len(l.made), maxLeaves)
	}
	first, _ = l.of("a.test")
	kept := l.made["a.test"]
	if early := first.Leaf.NotAfter.Sub(kept.until); early < leafRest-time.Second { // a certificate has whole seconds
		t.Errorf("a certificate is used until %v before its end", early)
	}
	kept.until = time.Now()
	if renewed, err := l.of("a.test"); renewed == first || err != nil {
		t.Errorf("a certificate that is about to expire is used: %v", err)
	}
	for name, want := range map[string]string{
		"*.a.test": fallbackName, "a..b": fallbackName, "": fallbackName, "-a": fallbackName, strings.Repeat("a", 64): fallbackName,
		"::1": "::1", "10.0.0.1": "10.0.0.1", strings.Repeat("a.", 100) + "test": strings.Repeat("a.", 32),
	} {
		if cert, err := l.of(name); err != nil || cert.Leaf.Subject.CommonName != want {
			t.Errorf("%q: %q, %v, want %q", name, cert.Leaf.Subject.CommonName, err, want)
		}
	}
}

// Ticket keys change with the CAs of clients, and with the mode.
func TestTickets_DependOnTheClients(t *testing.T) {
	keys := [][keySize]byte{{1}, {2}, {3}}
	seen := map[[keySize]byte]bool{}
	for _, digest := range [][32]byte{{}, {1}} {
		for _, mode := range []string{Required, Optional} {
			for _, key := range derive(keys, digest, mode) {
				if seen[key] {
					t.Error("a key is used twice")
				}
				seen[key] = true
			}
		}
	}
	if again := derive(keys, [32]byte{1}, Optional); !seen[again[0]] {
		t.Error("the same input yields a different key")
	}
}

func FuzzTicketKeys(f *testing.F) {
	key := strings.Repeat("q", 43) + "="
	for _, seed := range []string{"", key, "# c\n\n" + key + "\r\n" + key, "x", key + key, strings.Repeat(key+"\n", 17)} {
		f.Add([]byte(seed))
	}
	name := filepath.Join(f.TempDir(), "keys")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := readKeys(name)
		if (len(keys) == 0 || len(keys) > maxKeys) != (err != nil) {
			t.Errorf("%d keys, %v", len(keys), err)
		}
	})
}

func FuzzAuthority(f *testing.F) {
	a, err := OpenAuthority(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.PEM())
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if a, err := parseAuthority(text); (a == nil) == (err == nil) {
			t.Errorf("%v, %v", a, err)
		}
	})
}

// The errors of crypto/tls are explained; the tests of package listener cover the errors of real
// clients.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err          error
		result, what string
	}{
		{tls.RecordHeaderError{RecordHeader: [5]byte([]byte("GET /"))}, resultNotTLS, "plain HTTP"},
		{tls.RecordHeaderError{RecordHeader: [5]byte([]byte("hello"))}, resultNotTLS, "is not TLS"},
		{os.ErrDeadlineExceeded, resultTimeout, "took too long"},
		{errors.New("tls: something new"), resultOther, "something new"},
	} {
		if f := explain(c.err); f.Result != c.result || !strings.Contains(f.What, c.what) || !errors.Is(f, c.err) {
			t.Errorf("%v: %s %q, want %s %q", c.err, f.Result, f.What, c.result, c.what)
		}
	}
}
