//go:build unix

package e2e_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

// overTLS requests a URL once, over a connection of its own.
func overTLS(t *testing.T, url string, config *tls.Config) (status int, body string, err error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: harness.Patience}).Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// https returns the URL of a process with the scheme https.
func https(p *Process) string {
	_, rest, _ := strings.Cut(p.URL, "://")
	return "https://" + rest
}

func poolOf(t *testing.T, text string) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(text)) {
		t.Fatalf("no certificate: %q", text)
	}
	return pool
}

// The CA that is printed before the server starts is the one that signs its certificates, at each
// start.
func TestTLS_TheCAThatIsPrinted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ca")
	code, ca, stderr := Refused(t, nil, "ca", "--tls-dir", dir)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for range 2 {
		p := Serving(t, One("a"), "--tls", "auto", "--tls-dir", dir)
		if status, body, err := overTLS(t, https(p)+"/a", &tls.Config{RootCAs: poolOf(t, ca)}); status != 200 || body != "a" {
			t.Errorf("got %d %q, %v", status, body, err)
		}
		p.Get("/a").Want(t, 200, "a")
		p.WaitLine(0, "this CA", "sha256=")
	}
	if code, _, stderr := Refused(t, nil, "ca"); code != 2 || !strings.Contains(stderr, "missing --tls-dir") {
		t.Errorf("without a directory: exit code %d: %s", code, stderr)
	}
}

// A session that one replica has started is resumed by another with the same keys.
func TestTLS_TicketsSharedByTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := harness.WriteFile(t, dir, "tickets", strings.Repeat("a", 43)+"=\n"+strings.Repeat("b", 43)+"=\n"+strings.Repeat("c", 42)+"8=\n")
	turned := harness.WriteFile(t, dir, "turned", strings.Repeat("c", 42)+"8=\n"+strings.Repeat("a", 43)+"=\n")
	var replicas []*Process
	for _, file := range []string{keys, keys, turned, ""} {
		flags := []string{"--tls", "auto", "--tls-dir", filepath.Join(dir, "ca")}
		if file != "" {
			flags = append(flags, "--tls-ticket-keys", file)
		}
		replicas = append(replicas, Serving(t, One("a"), flags...))
	}
	text, err := os.ReadFile(filepath.Join(dir, "ca", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: poolOf(t, string(text)), ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	for i, want := range []bool{false, true, true, false} {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(replicas[i].URL, "http://"), config)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err = io.WriteString(conn, "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || !bytes.HasSuffix(got, []byte("\r\n\r\na")) { // reading the answer also reads the ticket
			t.Errorf("replica %d: %q, %v", i, got, err)
		}
		if got := conn.ConnectionState().DidResume; got != want {
			t.Errorf("replica %d: resumed %v, want %v", i, got, want)
		}
	}
}

// Everything can be set by environment variables: certificates, clients, the admin address.
func TestTLS_ByTheEnvironment(t *testing.T) {
	t.Parallel()
	ca, clients, dir := newCA(t, "servers"), newCA(t, "clients"), t.TempDir()
	one, oneKey := ca.Files(dir, "one", leaf{CN: "one", Names: []string{"one.test", "127.0.0.1"}})
	two, twoKey := ca.Files(dir, "two", leaf{CN: "two", Names: []string{"two.test"}})
	file := harness.WriteFile(t, dir, "mock.yml", "- endpoint: {path: /a, response: {body: '{{client-cert.cn}} {{tls.version}}'}}\n")
	env := []string{
		"MOCKSERVER_TLS_CERT=" + one + "," + two, "MOCKSERVER_TLS_KEY=" + oneKey + "," + twoKey, "MOCKSERVER_TLS_ONLY=true", "MOCKSERVER_TLS_MIN=1.3",
		"MOCKSERVER_TLS_CLIENT_CA=" + clients.File(dir, "clients.pem"), "MOCKSERVER_TLS_CLIENT=required",
		"MOCKSERVER_ADMIN=127.0.0.1:0", "MOCKSERVER_ADMIN_TLS_CERT=" + one, "MOCKSERVER_ADMIN_TLS_KEY=" + oneKey, "MOCKSERVER_ADMIN_TLS_CLIENT_CA=" + filepath.Join(dir, "clients.pem"),
		"MOCKSERVER_JOURNAL_SAMPLE=1", "MOCKSERVER_ACCESS_LOG=true",
	}
	p := Launch(t, env, "-c", file).Listening()
	if !strings.HasPrefix(p.URL, "https://") {
		t.Errorf("the URL is %s", p.URL)
	}
	config := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{clients.Client(leaf{CN: "shop"})}}
	if status, body, err := overTLS(t, p.URL+"/a", config); status != 200 || body != "shop 1.3" {
		t.Errorf("got %d %q, %v", status, body, err)
	}
	p.WaitLine(0, "request", "uri=/a", "tls=1.3")
	if _, _, err := overTLS(t, p.URL+"/a", &tls.Config{RootCAs: ca.Pool()}); err == nil {
		t.Error("a client without a certificate is served")
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(p.URL, "https://"), ":")
	if code, stdout, stderr := Refused(t, append(env, "PORT="+port), "health"); code != 0 || !strings.Contains(stdout, "healthy") {
		t.Errorf("health: exit code %d: %s", code, stderr)
	}
	admin := "https://" + strings.Fields(strings.SplitN(p.WaitLine(0, "admin address", "https://"), "https://", 2)[1])[0]
	if _, _, err := overTLS(t, admin+"/healthz", &tls.Config{RootCAs: ca.Pool()}); err == nil {
		t.Error("the admin address serves a client without a certificate")
	}
	for path, wants := range map[string][]string{
		"/metrics": {`mockserver_tls_handshakes_total{result="ok",resumed="false",version="1.3"}`, `mockserver_tls_handshakes_total{result="client-certificate",resumed="false",version=""}`, "mockserver_tls_handshake_cpu_seconds_total 0.",
			fmt.Sprintf("mockserver_tls_certificate_expiry_timestamp_seconds{certificate=%q} ", two)},
		"/__admin/journal": {`"tls": "1.3"`},
		"/__admin/samples": {`"tls_handshakes_full"`},
		"/__admin/ca.pem":  {`"no_ca"`},
	} {
		harness.Until(t, path+" has it", func() bool {
			_, body, err := overTLS(t, admin+path, config)
			return err == nil && containsAll(body, wants)
		})
	}
}

// The admin address has a certificate from the CA of --tls auto, and serves that CA; SIGHUP reloads
// certificates.
func TestTLS_AdminAddressAndSIGHUP(t *testing.T) {
	t.Parallel()
	ca, dir := newCA(t, "servers"), t.TempDir()
	cert, key := ca.Files(dir, "a", leaf{CN: "v1", Names: []string{"a.test"}})
	p := Serving(t, One("a"), "--tls", "auto", "--tls-cert", cert, "--tls-key", key, "--admin", "127.0.0.1:0", "--admin-tls", "auto")
	admin := "https://" + strings.Fields(strings.SplitN(p.WaitLine(0, "admin address", "https://"), "https://", 2)[1])[0]
	status, own, err := overTLS(t, admin+"/__admin/ca.pem", &tls.Config{InsecureSkipVerify: true}) // the CA is not known yet
	if status != 200 {
		t.Fatal(status, own, err)
	}
	for _, url := range []string{admin + "/readyz", https(p) + "/a"} {
		if status, body, err := overTLS(t, url, &tls.Config{RootCAs: poolOf(t, own)}); status != 200 {
			t.Errorf("%s: %d %q, %v", url, status, body, err)
		}
	}
	c, k := ca.Issue(leaf{CN: "v2", Names: []string{"a.test"}})
	harness.WriteFile(t, dir, "a.key", string(k))
	harness.WriteFile(t, dir, "a.pem", string(c))
	p.Signal(syscall.SIGHUP)
	p.WaitLine(0, "certificates reloaded")
	if _, body, err := overTLS(t, https(p)+"/a", &tls.Config{RootCAs: ca.Pool(), ServerName: "a.test"}); body != "a" {
		t.Errorf("got %q, %v", body, err)
	}
}

// Webhooks and fetches of bodies trust a CA and present a certificate.
func TestTLS_OfWebhooksAndFetchedBodies(t *testing.T) {
	t.Parallel()
	ca, clients, dir := newCA(t, "servers"), newCA(t, "clients"), t.TempDir()
	cert, key := ca.Files(dir, "server", leaf{CN: "a", Names: []string{"127.0.0.1"}})
	ca.File(dir, "ca.pem")
	clients.Files(dir, "client", leaf{CN: "mock"})
	target := Serving(t, "- endpoint: {path: /who, response: {body: {who: '{{client-cert.cn}}'}}}\n- endpoint: {method: POST, path: /hook, response: {body: '{{client-cert.cn}}'}}\n",
		"--tls-cert", cert, "--tls-key", key, "--tls-client-ca", clients.File(dir, "clients.pem"), "--access-log", "--tls-only")
	declared := func(more string) string {
		return fmt.Sprintf("- endpoint:\n    path: /fetched\n    response: {external-body: {provider: json, path: %s/who, %s}}\n"+
			"    webhook: {url: %s/hook, sleep-time: 0, %s}\n", target.URL, more, target.URL, more)
	}
	file := harness.WriteFile(t, dir, "mock.yml", declared("ca: ca.pem, cert: client.pem, key: client.key"))
	p := Start(t, "-c", file)
	p.Get("/fetched").Want(t, 200, `{"who":"mock"}`)
	target.WaitLine(0, "request", "/hook", "status=200")
	for more, want := range map[string]string{
		"ca: none.pem":                           "there is no such file",
		"ca: mock.yml":                           "it contains no certificate",
		"cert: client.pem":                       "cert is given without key",
		"key: client.key":                        "key is given without cert",
		"cert: client.pem, key: server.key":      "private key does not match",
		"ca: ca.pem, cert: mock.yml, key: a.key": "there is no such file",
	} {
		harness.WriteFile(t, dir, "wrong.yml", declared(more))
		code, _, stderr := Refused(t, nil, "validate", "-c", filepath.Join(dir, "wrong.yml"))
		if lines := strings.Count(stderr, want); code != 2 || lines != 2 || !strings.Contains(stderr, "wrong.yml:3:") || !strings.Contains(stderr, "wrong.yml:4:") {
			t.Errorf("%s: exit code %d, want 2 errors with %q: %s", more, code, want, stderr)
		}
	}
}

func TestTLS_FlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", One("a"))
	_ = os.Symlink(filepath.Join(dir, "nothing.pem"), filepath.Join(dir, "dangling.pem"))
	for flags, want := range map[string]string{
		"--tls only":                             "expected auto; --tls-only refuses clear text",
		"--tls-only":                             "--tls-only: has no effect alone; expected --tls auto or --tls-cert too",
		"--tls-cert a.pem":                       "1 of the former and 0 of the latter",
		"--tls auto --tls-min 1.1":               "expected 1.2 or 1.3",
		"--tls auto --tls-client required":       "expected --tls-client-ca too",
		"--tls-cert none.pem --tls-key n.key":    "certificate none.pem: there is no such file",
		"--tls auto --tls-client-ca none.pem":    "client CA none.pem: there is no such file",
		"--tls auto --tls-ticket-keys " + file:   "ticket keys " + file,
		"--tls-cert " + dir + " --tls-key n.key": "certificate " + dir,
		"--tls-cert " + filepath.Join(dir, "dangling.pem") + " --tls-key n.key": "dangling.pem: there is no such file",
		"--admin-tls-client-ca a.pem":                                           "expected --admin-tls auto or --admin-tls-cert too",
		"--admin 127.0.0.1:0 --admin-tls-cert none.pem --admin-tls-key n.key":   "certificate none.pem: there is no such file",
	} {
		code, stdout, stderr := Refused(t, nil, append([]string{"-c", file}, strings.Fields(flags)...)...)
		if code != 2 || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: exit code %d: %s, want %q", flags, code, stdout+stderr, want)
		}
	}
}
