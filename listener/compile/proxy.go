package compile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/fetcher/upstream"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/observe/recording"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/stream"
)

// proxies contains the upstreams of a server. They survive reloads.
type proxies struct {
	upstreams  upstream.Set
	Recordings *recording.Set
	named      map[string]*upstream.Upstream // the upstreams of the specification being compiled, by name; nil for an invalid one
}

// compileUpstreams compiles the upstreams of a specification.
func (p *proxies) compileUpstreams(spec *config.Spec, env func(string) (string, bool)) (problems syntax.Problems) {
	if p.upstreams.Via == "" { // a server recognizes its own requests by this name
		p.upstreams.Via = upstream.Via(fmt.Sprintf("mockserver-%016x", rand.Uint64()))
	}
	p.upstreams.Begin()
	p.Recordings.Begin()
	p.named = map[string]*upstream.Upstream{}
	for i := range spec.Broken.Upstreams {
		p.named[spec.Broken.Upstreams[i].Name] = nil
	}
	scope := &renderer.Scope{Env: env}
	for i := range spec.Upstreams {
		u, wrong := p.upstreams.Add(&spec.Upstreams[i], scope)
		problems = append(append(problems, wrong...), recording.Check(&spec.Upstreams[i], scope)...)
		p.named[spec.Upstreams[i].Name] = u
	}
	return problems
}

// proxy describes how an answer passes requests on.
type proxy struct {
	To        *upstream.Upstream
	Tap       *recording.Tap
	Path      *renderer.Template // the path to request; nil if it is fixed, or the request's own
	Fixed     []byte             // the path if it is fixed; nil for the request's own
	Forwarded bool
	atOnce    bool     // latencies are not waited for
	missing   bool     // requests are passed on only if the answer itself has nothing to send
	finds     int      // how many rows must exist for the answer itself to be sent
	set       []string // the headers that the answer declares, which replace those of the upstream
}

// proxy compiles the proxy of an answer; nil for none.
func (c *Compiler) proxy(e *item.Endpoint, scope *renderer.Scope) (*proxy, syntax.Problems) {
	declared := e.Response.Proxy
	if declared == nil {
		return nil, nil
	}
	to, known := c.named[declared.To.Value]
	if !known {
		names := slices.Sorted(maps.Keys(c.named))
		what := fmt.Sprintf("there is no upstream %q%s", wording.Clip(declared.To.Value), wording.DidYouMean(declared.To.Value, names))
		return nil, syntax.Problems{{Pos: declared.To.Pos, Key: declared.To.Key, What: what}}
	}
	p := &proxy{To: to, Tap: c.Recordings.Tap(declared.To.Value), Forwarded: declared.Forwarded, atOnce: c.NoLatency, missing: declared.When == item.ProxyMissing}
	if p.missing {
		p.finds = len(e.Find)
	}
	var problems syntax.Problems
	if declared.Path.Value != "" {
		var text string
		text, p.Path, problems = renderer.CompileText(declared.Path, renderer.URL, scope)
		p.Fixed = []byte(text)
	}
	return p, problems
}

// Recorded returns the stream of a recorded answer, whose pieces come when they were recorded; nil for any other answer.
func (p *proxy) Recorded(found *recording.Served) *Stream {
	s, _ := found.Stream.Load().(*Stream)
	if s != nil || len(found.Pieces) == 0 {
		return s
	}
	s = new(Stream)
	var texts []string
	from, at := int64(0), int64(0)
	for i, piece := range found.Pieces {
		end := max(from, min(piece[0], int64(len(found.Body))))
		if i == len(found.Pieces)-1 {
			end = int64(len(found.Body))
		}
		texts = append(texts, reply.Text(found.Body[from:end]))
		step := time.Duration(piece[1]-at) * time.Microsecond
		s.Afters = append(s.Afters, func(float64) time.Duration { return step })
		from, at = end, piece[1]
	}
	if s.First = s.Afters[0]; p.atOnce {
		s.First, s.Afters = nil, nil
	}
	s.Items = stream.Fixed(texts)
	found.Stream.Store(s)
	return s
}

// Takes reports whether a request is passed on without looking up the answer's own content.
func (p *proxy) Takes(r *matcher.Request) bool {
	isMissing := func(row json.Value) bool { return row.Kind == json.Missing }
	return p != nil && (!p.missing || slices.ContainsFunc(r.Rows[:min(p.finds, len(r.Rows))], isMissing))
}

// Sets reports whether the answer itself declares the header with the given name.
func (p *proxy) Sets(name []byte) bool {
	return slices.ContainsFunc(p.set, func(one string) bool { return strings.EqualFold(one, reply.Text(name)) })
}
