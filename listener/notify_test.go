package listener_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/dispatcher"
	"mockserver/internal/histogram"
	"mockserver/listener"
)

// descriptors returns the number of open file descriptors of this process, or -1 if it is unknown.
func descriptors() int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(open)
}

// until waits until a condition is true, and fails the test if that takes too long.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("condition never met: %s", what)
		}
	}
}

// closedPort returns an address on which no program listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// However a server with webhooks in every state stops, it leaves nothing running, and it counts the
// webhooks that it did not send.
func TestShutdown_LeavesNothingOfWebhooks(t *testing.T) {
	const each = 20
	for _, stored := range []bool{false, true} {
		for name, stop := range map[string]func(s *listener.Server) error{
			"Close": (*listener.Server).Close,
			"Shutdown": func(s *listener.Server) error {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				defer cancel()
				return s.Shutdown(ctx)
			},
		} {
			t.Run(fmt.Sprintf("%s, stored %v", name, stored), func(t *testing.T) {
				http.DefaultTransport.(*http.Transport).CloseIdleConnections()
				nothingLeft(t)
				before := descriptors()
				hanging := newStuck(t)
				hook := func(url string, delay time.Duration, retry *config.Retry) config.Webhook {
					return config.Webhook{Method: "POST", URL: url, Delay: delay, Retry: retry, Timeout: time.Hour}
				}
				spec := config.New(config.Endpoint{Path: "/hello", Webhooks: []config.Webhook{
					hook("http://127.0.0.1:1/", time.Hour, nil),
					hook(hanging.URL, config.AtOnce, nil),
					hook("http://"+closedPort(t)+"/", config.AtOnce, &config.Retry{Backoff: time.Hour}),
				}})
				var log bytes.Buffer
				opts := listener.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
				if stored {
					opts.WebhookStore = t.TempDir()
				}
				server := start(t, spec, opts)
				for range each {
					get(t, server.URL()+"/hello")
				}
				until(t, "all webhooks are in their expected states", func() bool {
					s := server.Webhooks()
					return s.Pending == 3*each && s.InFlight == each && s.Retried == each
				})
				for range each {
					<-hanging.reached
				}
				if err := stop(server); err != nil {
					t.Error(err)
				}
				want := dispatcher.Stats{Pending: 3 * each, Retried: each, Abandoned: 3 * each}
				if stored {
					want.Abandoned, want.Kept = 0, 3*each
				}
				got := server.Webhooks()
				if line := fmt.Sprintf("delivered=0 retried=%d dead=0 refused=0 abandoned=%d kept=%d", each, want.Abandoned, want.Kept); !strings.Contains(log.String(), line) {
					t.Errorf("the log has no %q:\n%s", line, log.String())
				}
				if got.Lag, got.InFlight = (histogram.Snapshot{}), 0; !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v, want %+v", got, want)
				}
				hanging.Close()
				http.DefaultTransport.(*http.Transport).CloseIdleConnections()
				until(t, "no additional descriptor is open", func() bool { return descriptors() <= before })
				if stored {
					again := start(t, hello("two"), opts)
					// Webhooks that were in flight are sent again immediately, to a target that no
					// longer listens.
					if s := again.Webhooks(); int(s.Pending)+int(s.Dead) != 3*each || int(s.Dead) > each {
						t.Errorf("%d webhooks are pending again and %d have failed, want %d of which %d may fail", s.Pending, s.Dead, 3*each, each)
					}
					if err := again.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func TestServer_AWebhookWithoutAMethodIsAPOST(t *testing.T) {
	methods := make(chan string, 1)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { methods <- r.Method }))
	defer target.Close()
	server := started(t, config.New(config.Endpoint{
		Path: "/hello", Webhooks: []config.Webhook{{URL: target.URL, Delay: config.AtOnce}},
	}), listener.Options{})
	get(t, server.URL()+"/hello")
	if got := <-methods; got != "POST" {
		t.Errorf("got %s", got)
	}
}

// An error in a rendered URL is found immediately, so the webhook is neither stored nor pending.
func TestServer_AURLThatTurnsOutToBeNoneIsCounted(t *testing.T) {
	var log bytes.Buffer
	server := started(t, config.New(config.Endpoint{
		Path:     "/hello",
		Webhooks: []config.Webhook{{Method: "POST", URL: "{{query-params.url}}"}},
	}), listener.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), WebhookStore: t.TempDir()})
	get(t, server.URL()+"/hello?url=nonsense")
	if s := server.Webhooks(); s.Dead != 1 || s.Pending != 0 {
		t.Errorf("got %+v, want one dead webhook", s)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if s := server.Webhooks(); s.Dead != 1 || s.Kept != 0 {
		t.Errorf("at the end: got %+v, want one dead webhook", s)
	}
	if text := log.String(); !strings.Contains(text, "dead=1") || !strings.Contains(text, `webhook="GET /hello" attempt=1 final=true`) || !strings.Contains(text, "nonsense") {
		t.Errorf("the log says\n%s", text)
	}
}

// A webhook with an invalid Host is neither sent nor stored; an empty Host is replaced with the
// host of the URL.
func TestServer_AHostThatTurnsOutToBeNoneIsCounted(t *testing.T) {
	hosts := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host + " " + r.Header.Get("X-A") }))
	defer target.Close()
	var log bytes.Buffer
	server := started(t, config.New(config.Endpoint{
		Path: "/hello",
		Webhooks: []config.Webhook{{
			Method: "POST", URL: target.URL, Delay: config.AtOnce,
			Headers: config.Headers("host", "{{query-params.host}}", "X-A", "a"),
		}},
	}), listener.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, host := range []string{"a%20b", "%C3%BC", "http://a", "a:99999", "[::1", strings.Repeat("a%20", 500)} {
		get(t, server.URL()+"/hello?host="+host)
	}
	if s := server.Webhooks(); s.Dead != 6 || s.Pending != 0 {
		t.Errorf("got %+v, want 6 dead webhooks", s)
	}
	for host, want := range map[string]string{"shop.example.com:81": "shop.example.com:81", "": strings.TrimPrefix(target.URL, "http://")} {
		get(t, server.URL()+"/hello?host="+host)
		if got := <-hosts; got != want+" a" {
			t.Errorf("%q: got %s, want %s a", host, got, want)
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 500 {
			t.Errorf("a line of %d bytes: %.500s", len(line), line)
		}
	}
	if text := log.String(); !strings.Contains(text, `error="\"a b\" is not the Host of a request: ' ' is not allowed in the name of a host"`) || !strings.Contains(text, "dead=6") {
		t.Errorf("the log says\n%s", text)
	}
}

// Neither a target's answer nor its certificate can make a log line long.
func TestServer_LinesAboutFailedWebhooksAreBounded(t *testing.T) {
	target := httptest.NewUnstartedServer(nil)
	target.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return manyNames(t), nil }}
	target.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	target.StartTLS()
	defer target.Close()
	var log bytes.Buffer
	server := started(t, config.New(config.Endpoint{
		Path: "/hello", Webhooks: []config.Webhook{{
			Method: "POST", URL: strings.Replace(target.URL, "127.0.0.1", "localhost", 1), Delay: config.AtOnce,
		}},
	}), listener.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	get(t, server.URL()+"/hello")
	until(t, "it failed", func() bool { return server.Webhooks().Dead == 1 })
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "host0.xxx") || len(text) > 1000 {
		t.Errorf("%d bytes: %.1000s", len(text), text)
	}
}

// manyNames returns a certificate for many hosts, none of which is the target's.
func manyNames(t *testing.T) *tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Error(err)
		return nil
	}
	about := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	for i := range 90 {
		about.DNSNames = append(about.DNSNames, fmt.Sprintf("host%d.%s.example.com", i, strings.Repeat("x", 50)))
	}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	if err != nil {
		t.Error(err)
		return nil
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A URL that is the same for every request is checked on loading, wherever it comes from.
func TestStart_AURLFromTheEnvironmentIsChecked(t *testing.T) {
	env := map[string]string{"GOOD": "http://127.0.0.1:9", "PORT": "99999"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for url, want := range map[string]string{
		"{{env.GOOD}}/a":                           "",
		"{{env.NONE}}/a":                           `[0].endpoint.webhooks[0].url: GET /x: "/a" is not a valid URL: it begins with neither http:// nor https://`,
		"http://ann:hunter2@a:{{env.PORT}}/":       `"http://xxxxx@a:99999/" is not a valid URL: the port is "99999"; expected 1 to 65535`,
		"{{env.GOOD}}:{{query-params.a}}/{{now}}b": "",
	} {
		problems := listener.Check(config.New(config.Endpoint{
			Path: "/x", Webhooks: []config.Webhook{{Method: "POST", URL: url}},
		}), listener.Options{Env: lookup})
		err := problems.Err()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %s", url, err, want)
		}
	}
}

// A Host that comes from the environment is also checked on loading.
func TestStart_AHostFromTheEnvironmentIsChecked(t *testing.T) {
	env := map[string]string{"GOOD": "shop.example.com", "BAD": "a b"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for host, want := range map[string]string{
		"{{env.GOOD}}:81":               "",
		"{{env.BAD}}":                   `m.yml:1:109: [0].endpoint.webhook.headers.Host: "a b" is not the Host of a request: ' ' is not allowed in the name of a host`,
		"{{env.NONE}}":                  "it names no host",
		"{{env.GOOD}}:99999":            `the port is "99999"`,
		"{{env.BAD}}{{query-params.a}}": "", // it depends on the request
	} {
		spec := config.Parse("m.yml", []byte(`[{endpoint: {path: /x, method: GET, response: {}, webhook: {method: POST, url: "http://a", headers: {Host: "`+host+`"}}}}]`))
		err := listener.Check(spec, listener.Options{Env: lookup}).Err()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", host, err, want)
		}
	}
}
