package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// petstores returns the ways of serving the pet shop, by the file whose comments contain the
// requests to make.
func petstores(t *testing.T) map[string][]string {
	document := File("examples", "petstore.yml")
	return map[string][]string{
		"petstore.yml":       {"-m", document},
		"petstore-mocks.yml": {"-c", document, "-m", File("examples", "petstore-mocks.yml")},
	}
}

func TestPetstore_EveryCurlLineDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for name, args := range petstores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, append(args, "--no-webhooks")...)
			for _, line := range curlLines(t, name) {
				r, headers := readCurl(t, line)
				if a := p.Do(r.method, r.path, r.body, headers...); a.Status != r.status {
					t.Errorf("%s: got %d %s, want %d", line, a.Status, a.Body, r.status)
				}
			}
		})
	}
}

func TestPetstore_ValidatesWithoutAWarning(t *testing.T) {
	t.Parallel()
	for name, args := range petstores(t) {
		code, stdout, stderr := Refused(t, nil, append([]string{"validate"}, args...)...)
		if code != 0 || stderr != "" || strings.Contains(stdout, "warning") {
			t.Errorf("%s: got exit code %d, %q and %q", name, code, stdout, stderr)
		}
	}
}

func TestPetstore_TheMocksFileOverridesTheDocument(t *testing.T) {
	t.Parallel()
	p := Start(t, petstores(t)["petstore-mocks.yml"]...)
	for _, c := range []exampleCall{
		{"", "POST", "/v1/pets", `{"kind": "dog", "name": "Rex"}`, 201, `{"id": 3, "kind": "dog", "name": "Rex"}`},
		{"", "GET", "/v1/pets/13", "", 404, `{"code": "not_found", "message": "there is no pet 13"}`},
		{"", "GET", "/v1/pets/7", "", 200, `{"id": 1, "kind": "cat", "name": "Minka", "indoor": true}`}, // the document's first example
		{"", "GET", "/v1/pets", "", 200, `[{"id": 1, "kind": "cat", "name": "Minka"}]`},
	} {
		c.check(t, p)
	}
	if got := p.Get("/v1/pets").Header.Get("X-Total"); got != "1" {
		t.Errorf("got X-Total %q, want the one of the mocks file", got)
	}
}

func TestPetstore_AnOrderIsFollowedByItsCallback(t *testing.T) {
	t.Parallel()
	type call struct{ method, path, body string }
	calls := make(chan call, 1)
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an unread part is noticed in the comparison
		calls <- call{r.Method, r.URL.Path, string(body)}
	}))
	defer shop.Close()
	p := Start(t, petstores(t)["petstore.yml"]...)
	p.Do("POST", "/v1/orders", `{"item": "toy", "quantity": 1, "notify": "`+shop.URL+`/hooks"}`, "Content-Type: application/json")
	select {
	case got := <-calls:
		want := `{"id": "6f1c1f3e-8e0d-4c39-9d4b-3a1f6f0b2f11", "state": "shipped", "placed": "2024-05-01T10:00:00Z"}`
		if got.method != "POST" || got.path != "/hooks/shipped" || exampleDiff("", exampleDecode(t, want), exampleDecode(t, got.body), time.Time{}) != "" {
			t.Errorf("got %v, want %s", got, want)
		}
	case <-time.After(harness.Patience):
		t.Error("no webhook arrived")
	}
}
