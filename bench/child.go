package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// Attach stops the process when its parent, which holds the other end of its standard input, exits:
// it sends the signal that a user would send.
func Attach(stdin io.Reader, signals chan<- os.Signal) {
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // an error also means that the parent has exited
		signals <- syscall.SIGTERM
		time.AfterFunc(stopPatience, func() { signals <- syscall.SIGTERM }) // a second signal stops the process at once
	}()
}

// ServeBaseline answers every request with the content of a file until it receives a signal. The
// arguments are the content type and the file. It prints its address as the server does.
func ServeBaseline(args []string, signals <-chan os.Signal, stdout io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("the baseline takes a Content-Type and a file, not %q", args)
	}
	body, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- serveBare(l, args[0], body) }()
	if err := json.NewEncoder(stdout).Encode(map[string]string{"msg": "listening", "address": l.Addr().String()}); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-signals:
		return nil
	}
}

// startBaseline starts a bare handler that gives the same answer as the candidate.
func (r *run) startBaseline(ctx context.Context, sample *reply) (*server, error) {
	file := filepath.Join(r.dir, "baseline")
	if err := os.WriteFile(file, sample.body, 0o600); err != nil {
		return nil, err
	}
	return r.start(ctx, "the baseline", roleBaseline, []string{"bench", sample.header.Get("Content-Type"), file})
}

// serveBare answers every request with the same bytes, in the way a careful user of fasthttp would:
// this is the least that a server can cost. It returns when l is closed.
func serveBare(l net.Listener, contentType string, body []byte) error {
	server := fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.SetContentType(contentType)
			ctx.Response.SetBodyRaw(body)
		},
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		IdleTimeout:           time.Minute,
	}
	return server.Serve(l)
}
