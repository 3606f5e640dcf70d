package listenertest_test

import (
	"io"
	"net/http"
	"testing"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// rate is the code under test: it asks a server for a rate.
func rate(base, currency string) (string, error) {
	resp, err := http.Get(base + "/rates/" + currency)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// The test declares its endpoints in Go. The log of each request appears in the output of the
// test.
func ExampleStart() {
	_ = func(t *testing.T) { // func TestRate(t *testing.T) {
		mock := listenertest.Start(t, config.New(config.Endpoint{
			Path:     "/rates/:currency",
			Response: config.Response{Body: "1.25"},
		}), listener.Options{AccessLog: true})
		if got, err := rate(mock.URL(), "CHF"); got != "1.25" || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

// The test states which requests it expects.
func ExampleVerify() {
	_ = func(t *testing.T) { // func TestRateIsAskedForOnce(t *testing.T) {
		mock := listenertest.FromText(t, "- endpoint: {path: /rates/CHF, response: {body: 1.25}}")
		if _, err := rate(mock.URL(), "CHF"); err != nil {
			t.Error(err)
		}
		listenertest.Verify(t, mock, "path = /rates/CHF", 1)
	}
}

// The test declares its endpoints in YAML.
func ExampleFromText() {
	_ = func(t *testing.T) { // func TestRate(t *testing.T) {
		mock := listenertest.FromText(t, `
- endpoint: {path: /rates/CHF, response: {body: "1.25"}}
- endpoint: {path: /rates/*, response: {status: 404, body: {code: no_rate}}}
`)
		if got, err := rate(mock.URL(), "CHF"); got != "1.25" || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

// TestRate runs the tests of the examples.
func TestRate(t *testing.T) {
	t.Run("declared in Go", func(t *testing.T) {
		mock := listenertest.Start(t, config.New(config.Endpoint{
			Path:     "/rates/:currency",
			Response: config.Response{Body: "1.25"},
		}), listener.Options{AccessLog: true})
		if got, err := rate(mock.URL(), "CHF"); got != "1.25" || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("declared in YAML", func(t *testing.T) {
		mock := listenertest.FromText(t, `
- endpoint: {path: /rates/CHF, response: {body: "1.25"}}
- endpoint: {path: /rates/*, response: {status: 404, body: {code: no_rate}}}
`)
		for currency, want := range map[string]string{"CHF": "1.25", "XYZ": `{"code":"no_rate"}`} {
			if got, err := rate(mock.URL(), currency); got != want || err != nil {
				t.Errorf("%s: got %s, %v, want %s", currency, got, err, want)
			}
		}
	})
}
