package bench

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/wording"
)

// setup is the server of a scenario with its files and its sink.
type setup struct {
	run           *run
	scenario      *scenario
	configuration string // the path of its file
	endpoints     []any
	server        *server
	sink          *sink
}

// open writes the configuration and starts the server.
func (st *setup) open(ctx context.Context) (side, error) {
	dir := filepath.Join(st.run.dir, st.scenario.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return side{}, err
	}
	for i := range st.scenario.Files {
		if err := st.scenario.Files[i].write(dir); err != nil {
			return side{}, err
		}
	}
	var err error
	address := ""
	if st.scenario.Sink {
		if st.sink, err = openSink(); err != nil {
			return side{}, err
		}
		address = st.sink.Addr().String()
	}
	if st.endpoints, err = st.scenario.endpoints(address); err != nil {
		return side{}, err
	}
	st.configuration = filepath.Join(dir, "mocks.json")
	if err := writeConfiguration(st.configuration, st.endpoints); err != nil {
		return side{}, err
	}
	if st.server, err = st.run.startServer(ctx, []string{st.configuration}); err != nil {
		return side{}, err
	}
	return st.server.side(nameOfCandidate), nil
}

// rewrite rewrites the configuration at intervals, each time with one more endpoint at its
// end, until ctx ends.
func (st *setup) rewrite(ctx context.Context) {
	ticker := time.NewTicker(st.scenario.RewriteEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ticker.C:
			marker := map[string]any{"endpoint": map[string]any{"path": fmt.Sprintf("/rewritten/%d", n), "response": map[string]any{}}}
			if err := writeConfiguration(st.configuration, append(slices.Clone(st.endpoints), marker)); err != nil {
				return // no reload is counted then, as the result shows
			}
		case <-ctx.Done():
			return
		}
	}
}

// finish adds the final figures of the server and the sink to a result.
func (st *setup) finish(ctx context.Context, res *result) {
	if st.scenario.RewriteEvery > 0 {
		_, n := st.server.log.find("configuration reloaded")
		res.Reloads = &n
	}
	if st.sink == nil || ctx.Err() != nil {
		return
	}
	st.run.progressf("%s: waiting for the last webhooks", st.scenario.Name)
	st.server.stop(ctx)
	line, n := st.server.log.find("webhooks")
	arrived := st.sink.received.Load()
	res.Webhooks = &delivered{
		Arrived: arrived, Lost: max(line.Delivered+line.Dead+line.Refused+line.Abandoned-arrived, 0),
		LagP50: durationOf(line.LagP50), LagP99: durationOf(line.LagP99), LagMax: durationOf(line.LagMax),
	}
	if res.Void != "" {
		return // it is void already
	}
	if n == 0 {
		res.Void = "the server did not log the outcome of its webhooks"
	} else if lost := res.Webhooks.Lost; lost > 0 {
		res.Void = fmt.Sprintf("%s lost on the way", wording.Count(lost, "webhook"))
	}
}

// close stops everything that open started.
func (st *setup) close(ctx context.Context) {
	if st.server != nil {
		st.server.stop(ctx)
	}
	if st.sink != nil {
		_ = st.sink.Close() // its clients have exited
	}
}

// durationOf returns a number of milliseconds as a duration; nil for nil.
func durationOf(ms *float64) *time.Duration {
	if ms == nil {
		return nil
	}
	return new(time.Duration(*ms * float64(time.Millisecond)))
}

// sink receives the webhooks of a server and counts them.
type sink struct {
	net.Listener

	received atomic.Int64
}

// openSink starts a sink on a free port. The caller must close it.
func openSink() (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{Listener: l}
	server := fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			s.received.Add(1)
			ctx.SetStatusCode(fasthttp.StatusNoContent)
		},
		Logger: log.New(io.Discard, "", 0), // the server's log says if a delivery failed
	}
	go func() { _ = server.Serve(l) }() // it returns when its listener is closed
	return s, nil
}
