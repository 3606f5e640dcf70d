package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener/compile"
	"mockserver/listener/protocol/wire"
)

// asReceived puts the request of ctx into the form that it has after being read from a connection.
func asReceived(ctx *wire.Exchange) *wire.Exchange {
	var sent bytes.Buffer
	w := bufio.NewWriter(&sent)
	err := errors.Join(ctx.Request.Write(w), w.Flush(), ctx.Request.Read(bufio.NewReaderSize(&sent, 1<<20)))
	if err != nil {
		panic(fmt.Sprintf("the test's own request is invalid: %v", err))
	}
	return ctx
}

// A panic while a request is served is answered with 500 and affects no other request.
func TestServe_Panic(t *testing.T) {
	var logged bytes.Buffer
	s := newServer(t, compile.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	s.snapshot.Store(&world{Snapshot: &compile.Snapshot{}}) // no table: the first stage panics
	var ctx wire.Exchange
	_ = s.Serve(&ctx)
	var body struct{ Code string }
	if err := json.Unmarshal(ctx.Response.Body(), &body); err != nil || ctx.Response.StatusCode() != 500 || body.Code != "internal" {
		t.Errorf("got %d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	if got := logged.String(); !strings.Contains(got, "stack=") || !strings.Contains(got, "stages.go") {
		t.Errorf("the log has no stack: %s", got)
	}
	if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {body: ok}}"))); err != nil {
		t.Fatal(err)
	}
	_ = s.Serve(&ctx)
	if got := string(ctx.Response.Body()); got != "ok" {
		t.Errorf("after the panic: %s, want ok", got)
	}
}

func TestServe_PanicsAreLoggedAtAPace(t *testing.T) {
	var logged bytes.Buffer
	s := newServer(t, compile.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	s.AccessLog = true
	s.snapshot.Store(&world{Snapshot: &compile.Snapshot{}}) // no table: the first stage panics
	for range 5 {
		ctx := wire.Exchange{Conn: wire.New(nil, nil).Adopt(&script{})}
		ctx.Request.Header.SetHost("a")
		ctx.Request.SetRequestURI("//a/../b?c")
		_ = s.Serve(&ctx)
		if got := ctx.Response.StatusCode(); got != 500 {
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

// The content types of bodies whose response declares none.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

func TestServe_DefaultContentType(t *testing.T) {
	file := filepath.ToSlash(harness.WriteFile(t, t.TempDir(), "body.json", "7"))
	for response, want := range map[string]string{
		`{}`:                                  typeText,
		`{body: hello}`:                       typeText,
		`{body: " \n{\"a\":1}"}`:              typeJSON,
		`{body: "[1]"}`:                       typeJSON,
		`{body: {a: 7}}`:                      typeJSON,
		`{body: [7]}`:                         typeJSON,
		`{body: "{{path}}"}`:                  typeText,
		`{body: "{{path}}", template: false}`: typeJSON, // by its first letter
		`{body: '{% if path %} {"a":1}{% endif %}'}`:              typeJSON,
		`{body: '{{#if path}}{"a":1}{{/if}}'}`:                    typeJSON,
		`{body: '{% if path %}x{% endif %}'}`:                     typeText,
		`{external-body: {provider: json, path: "` + file + `"}}`: typeJSON,
	} {
		var ctx wire.Exchange
		ctx.Request.SetRequestURI("/x")
		_ = configured(t, "- endpoint: {path: /x, response: "+response+"}\n").Serve(&ctx)
		if got := string(ctx.Response.Header.ContentType()); got != want || ctx.Response.StatusCode() != 200 {
			t.Errorf("%s: got %s, want %s, with status %d", response, got, want, ctx.Response.StatusCode())
		}
	}
	unclosed := "- endpoint: {path: /x, response: {body: '{% if path'}}\n"
	if err := newServer(t, compile.Options{}).Apply(config.Parse("mock.yml", []byte(unclosed))); err == nil {
		t.Error("an unclosed tag is served")
	}
}
