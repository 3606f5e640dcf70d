package listener_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"mockserver/config"
	"mockserver/internal/harness/volume"
	"mockserver/listener"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/certs"
)

// The properties of a TLS connection are available to its streams, in templates, conditions and
// the journal.
func TestHTTP2_KnowsTLS(t *testing.T) {
	const text = `
- endpoint: {path: /tls, if: tls.version = 1.3, response: {body: "{{tls.version}} {{tls.sni}}"}}
- endpoint: {path: /late, latency: {min: 1ms, max: 1ms}, if: tls.version = 1.3, response: {body: "{{tls.version}} {{tls.sni}}"}}
`
	server := started(t, config.Parse("m.yml", []byte(text)), listener.Options{TLS: &certs.Options{Auto: true}, Record: &record.Options{}})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(server.CA())
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "shop.test"}}
	defer transport.CloseIdleConnections()
	for _, path := range []string{"/tls", "/late"} {
		resp, err := (&http.Client{Transport: transport}).Get("https://" + server.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.ProtoMajor != 2 || string(body) != "1.3 shop.test" || err != nil {
			t.Errorf("%s: %s %q, %v", path, resp.Proto, body, err)
		}
	}
	for _, x := range server.Journal() {
		if x.TLS == nil || string(x.TLS.Version) != "1.3" {
			t.Errorf("the journal has TLS %v", x.TLS)
		}
	}
}

// Java's standard HTTP client is served, with many concurrent streams that carry bodies.
func TestHTTP2_JavaOverTLS(t *testing.T) {
	volume.Only(t)
	if modules, _ := exec.CommandContext(t.Context(), "java", "--list-modules").Output(); !bytes.Contains(modules, []byte("jdk.compiler")) {
		t.Skip("no java with a compiler is on the PATH")
	}
	const text = `
- endpoint: {method: POST, path: /late, latency: {min: 1ms, max: 20ms}, response: {status: 201, body: "{{protocol}} {{tls.version}}"}}
`
	server := started(t, config.Parse("m.yml", []byte(text)), listener.Options{TLS: &certs.Options{Auto: true}})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, server.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(server.Addr().String())
	out, err := exec.CommandContext(t.Context(), "java", "testdata/Client.java", ca, "https://localhost:"+port+"/late").CombinedOutput()
	if want := "{HTTP_2 201 h2 1.3=100}\n"; string(out) != want || err != nil {
		t.Errorf("it says %s, %v, want %s", out, err, want)
	}
}

// records writes TLS 1.3 records with TLS_AES_128_GCM_SHA256. It is needed because crypto/tls never
// updates its keys on its own.
type records struct {
	net.Conn
	secret []byte
	number uint64
}

func (r *records) expand(label string, length int) []byte {
	info := append(binary.BigEndian.AppendUint16(nil, uint16(length)), byte(len("tls13 "+label)))
	key, err := hkdf.Expand(sha256.New, r.secret, string(append(append(info, "tls13 "+label...), 0)), length)
	if err != nil {
		panic(err)
	}
	return key
}

// send sends b in a record of the given content type.
func (r *records) send(kind byte, b []byte) error {
	block, _ := aes.NewCipher(r.expand("key", 16))
	gcm, _ := cipher.NewGCM(block)
	nonce := r.expand("iv", 12)
	for i := range 8 {
		nonce[11-i] ^= byte(r.number >> (8 * i))
	}
	r.number++
	head := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(b)+1+gcm.Overhead()))
	_, err := r.Conn.Write(gcm.Seal(head, nonce, append(bytes.Clone(b), kind), head))
	return err
}

func (r *records) Write(b []byte) (int, error) { return len(b), r.send(23, b) }

// change updates the keys, and asks the server to do the same: RFC 8446 section 4.6.3.
func (r *records) change() error {
	err := r.send(22, []byte{24, 0, 0, 1, 1})
	r.secret, r.number = r.expand("traffic upd", sha256.Size), 0
	return err
}

// A client may update its keys while responses are written: the server replies while it reads.
func TestHTTP2_KeyUpdate(t *testing.T) {
	const text = `- endpoint: {path: /late, latency: {min: 0ms, max: 2ms}, response: {body: "{{path}}` + "0123456789" + `"}}`
	server := started(t, config.Parse("m.yml", []byte(text)), listener.Options{TLS: &certs.Options{Auto: true}})
	nc := dial(t, server, "")
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	var log bytes.Buffer
	secured := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, KeyLogWriter: &log})
	if err := secured.Handshake(); err != nil {
		t.Fatal(err)
	}
	if secured.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("another cipher suite was chosen")
	}
	out := &records{Conn: nc}
	_, line, _ := strings.Cut(log.String(), "CLIENT_TRAFFIC_SECRET_0 ")
	out.secret, _ = hex.DecodeString(strings.Fields(line)[1])
	framer := http2.NewFramer(out, secured)
	_, _ = io.WriteString(out, http2.ClientPreface)
	_ = framer.WriteSettings()
	_ = framer.WriteWindowUpdate(0, 1<<30)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	const rounds, each = 40, 12 // crypto/tls accepts no more than 16 key updates in a row
	for round := range uint32(rounds) {
		for i := range uint32(each) {
			block.Reset()
			for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: "/late"}, {Name: ":authority", Value: "a"}} {
				_ = encoder.WriteField(f)
			}
			_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*(round*each+i) + 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
			if err := out.change(); err != nil {
				t.Fatal(err)
			}
		}
		for n := 0; n < each; {
			f, err := framer.ReadFrame()
			if err != nil {
				t.Fatalf("%d responses in round %d: %v", n, round, err)
			}
			if data, ok := f.(*http2.DataFrame); ok && data.StreamEnded() && string(data.Data()) == "/late0123456789" {
				n++
			}
		}
	}
}
