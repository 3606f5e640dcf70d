package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
		ctx := wire.Exchange{Conn: wire.New(nil, nil).Adopt(&harness.Script{})}
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
