package listener_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/listener"
)

// A server in a Go program follows its files: a change is served, an invalid one is not, and a
// caller that asks for a reload gets the error.
func TestReloader_ServesWhatTheFilesSay(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("m.yml", "- endpoint: {path: /a, response: {body: one}}")
	served := make(chan struct{}, 100)
	files := listener.NewReloader(config.Loader{}, filepath.Join(dir, "m.yml"))
	files.Served = func() { served <- struct{}{} }
	spec := files.Load()
	// The file changes before the server runs, which also counts as a change.
	write("m.yml", "- endpoint: {path: /a, response: {body: two, status: 201}}")
	log := &safe{got: make(chan struct{}, 1000)} // there are only a few lines
	server := started(t, spec, listener.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	files.Attach(server)
	run := func(interval time.Duration) (end func()) {
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() { files.Run(ctx, interval); close(over) }()
		return func() { cancel(); <-over }
	}
	end := run(time.Millisecond)
	<-served
	if status, body := get(t, server.URL()+"/a"); status != 201 || body != "two" {
		t.Errorf("after a change: %d %q", status, body)
	}
	write("m.yml", "- endpoint: {path: /a, response: {bodi: three}}")
	until(t, "the error is logged", func() bool { return log.has("did you mean") && log.has("the last good configuration stays in service") })
	if status, body := get(t, server.URL()+"/a"); status != 201 || body != "two" {
		t.Errorf("after an error: %d %q", status, body)
	}
	var problems syntax.Problems
	if err := files.Reload("a test"); !errors.As(err, &problems) || !strings.Contains(err.Error(), "m.yml:1:") {
		t.Errorf("Reload: %v", err)
	}
	end()
	end = run(time.Hour) // the interval is too long for a change to be seen: Ask causes the reload
	write("m.yml", "- endpoint: {path: /a, response: {body: four}}")
	files.Ask("a signal")
	<-served
	if _, body := get(t, server.URL()+"/a"); body != "four" {
		t.Errorf("after a reload on request: %q", body)
	}
	end()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := files.Reload("a test"); !errors.Is(err, listener.ErrStopped) {
		t.Errorf("on a server that has stopped: %v", err)
	}
}
