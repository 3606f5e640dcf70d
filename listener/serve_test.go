package listener

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/listener/protocol/wire"
)

// asReceived puts the request of ctx into the form that it has after being read from a connection.
func asReceived(ctx *exchange) *exchange {
	var sent bytes.Buffer
	w := bufio.NewWriter(&sent)
	err := errors.Join(ctx.request.Write(w), w.Flush(), ctx.request.Read(bufio.NewReaderSize(&sent, 1<<20)))
	if err != nil {
		panic(fmt.Sprintf("the test's own request is invalid: %v", err))
	}
	return ctx
}

// A panic while a request is served is answered with 500 and affects no other request.
func TestServe_Panic(t *testing.T) {
	var logged bytes.Buffer
	s := newServer(Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	defer s.compiler.loader.Close(context.Background())
	s.snapshot.Store(&snapshot{}) // no table: the first stage panics
	var ctx exchange
	_ = s.handle(&ctx)
	var body struct{ Code string }
	if err := json.Unmarshal(ctx.response.Body(), &body); err != nil || ctx.response.StatusCode() != 500 || body.Code != "internal" {
		t.Errorf("got %d %s", ctx.response.StatusCode(), ctx.response.Body())
	}
	if got := logged.String(); !strings.Contains(got, "stack=") || !strings.Contains(got, "serve.go") {
		t.Errorf("the log has no stack: %s", got)
	}
	if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {body: ok}}"))); err != nil {
		t.Fatal(err)
	}
	_ = s.handle(&ctx)
	if got := string(ctx.response.Body()); got != "ok" {
		t.Errorf("after the panic: %s, want ok", got)
	}
}

func TestDefaultContentType(t *testing.T) {
	for _, c := range []struct {
		name string
		resp item.Response
		want string
	}{
		{"no body", item.Response{}, typeText},
		{"a text", item.Response{Body: syntax.Text{Value: "hello"}}, typeText},
		{"an object", item.Response{Body: syntax.Text{Value: " \n{\"a\":1}"}}, typeJSON},
		{"a list", item.Response{Body: syntax.Text{Value: "[1]"}}, typeJSON},
		{"a map of the configuration", item.Response{Body: syntax.Text{Value: "7"}, BodyJSON: true}, typeJSON},
		{"an external body", item.Response{External: &item.ExternalBody{}}, typeJSON},
		{"a placeholder", item.Response{Body: syntax.Text{Value: "{{path}}"}}, typeText},
		{"a placeholder in a raw text is an object by its first letter", item.Response{Body: syntax.Text{Value: "{{path}}"}, Raw: true}, typeJSON},
		{"an object in a branch", item.Response{Body: syntax.Text{Value: "{% if path %} {\"a\":1}{% endif %}"}}, typeJSON},
		{"an object in a branch, spelt with braces", item.Response{Body: syntax.Text{Value: "{{#if path}}{\"a\":1}{{/if}}"}}, typeJSON},
		{"a text in a branch", item.Response{Body: syntax.Text{Value: "{% if path %}x{% endif %}"}}, typeText},
		{"an unclosed tag", item.Response{Body: syntax.Text{Value: "{% if path"}}, typeText},
	} {
		if got := defaultContentType(&c.resp); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestServe_PanicsAreLoggedAtAPace(t *testing.T) {
	var logged bytes.Buffer
	s := newServer(Options{Logger: slog.New(slog.NewTextHandler(&logged, nil)), AccessLog: true})
	defer s.compiler.loader.Close(context.Background())
	s.snapshot.Store(&snapshot{}) // no table: the first stage panics
	for range 5 {
		ctx := exchange{conn: wire.New(nil, nil).Adopt(&scripted{})}
		ctx.request.Header.SetHost("a")
		ctx.request.SetRequestURI("//a/../b?c")
		_ = s.handle(&ctx)
		if got := ctx.response.StatusCode(); got != 500 {
			t.Errorf("got %d, want 500", got)
		}
	}
	if got := strings.Count(logged.String(), "panic while serving"); got != 1 {
		t.Errorf("got %d lines of one panic, want 1", got)
	}
	if got := strings.Count(logged.String(), "msg=request method=GET uri=//a/../b?c status=500"); got != 5 {
		t.Errorf("got %d lines of the access log, want 5:\n%s", got, &logged)
	}
}
