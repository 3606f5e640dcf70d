package bench

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckFindsWrongResponses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "1")
		w.WriteHeader(201)
		if _, err := w.Write([]byte(`{"b": 1.0}`)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name       string
		response   declaredResponse
		statusOnly bool
		wrong      string // "" for a correct answer
	}{
		{"right", declaredResponse{Status: 201, Headers: map[string]string{"X-A": "1"}, Body: text(`{"b": 1.0}`)}, false, ""},
		{"same JSON", declaredResponse{Status: 201, JSON: text(`{ "b":1.0 }`)}, false, ""},
		{"default status", declaredResponse{}, false, "expected: status 200"},
		{"header", declaredResponse{Status: 201, Headers: map[string]string{"X-A": "2"}}, false, "expected: X-A: 2\n  got:      X-A: 1"},
		{"body", declaredResponse{Status: 201, Body: text(`{"b": 1}`)}, false, `expected: {"b": 1}`},
		{"JSON number", declaredResponse{Status: 201, JSON: text(`{"b": 1}`)}, false, "expected: JSON"},
		{"status only", declaredResponse{Status: 201, Body: text("other")}, true, ""},
	} {
		r := request{Path: "/", Response: c.response}
		wants, first, err := checkResponses(context.Background(), address, r.expanded(), c.statusOnly)
		var wrong *wrongResponse
		switch {
		case c.wrong == "" && (err != nil || wants[0].Status != 201 || first.status != 201):
			t.Errorf("%s: %v", c.name, err)
		case c.wrong != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v; want %q", c.name, err, c.wrong)
		case c.name == "right" && wants[0].Length != 10, c.name == "status only" && wants[0].Length != -1:
			t.Errorf("%s: under load a body of %d bytes is expected", c.name, wants[0].Length)
		}
	}
}

func TestTailKeepsLastLines(t *testing.T) {
	tail := &tail{listening: make(chan string, 1)}
	for _, part := range []string{`{"msg":"liste`, `ning","address":"127.0.0.1:7"}` + "\nplain\n", strings.Repeat("x\n", 20), "last"} {
		if n, err := tail.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if address := <-tail.listening; address != "127.0.0.1:7" {
		t.Errorf("got %q", address)
	}
	if lines := tail.lines(); len(lines) != lastLines+1 || lines[lastLines] != "last" {
		t.Errorf("got %q", lines)
	}
}

func TestServerEnvironmentLeavesSettingsOut(t *testing.T) {
	got := serverEnvironment([]string{"PATH=/bin", "PORT=7", "SENTRY_DSN=x", "MOCKSERVER_GRACE=1s", "API_KEY=k", "CONFIG=a.yml"})
	if strings.Join(got, " ") != "PATH=/bin API_KEY=k" {
		t.Errorf("got %q", got)
	}
}
