// Package upstream passes requests on to other servers. An Upstream is such a server, with its
// connections and the places of requests in progress; an Exchange is one request to it:
//
//	x := upstream.NewExchange()
//	err := u.Do(x, &upstream.Request{Request: r, Waiter: connection})
//	… x.Status, x.Fields, x.Body …
//	for !x.Whole { n, err := x.Read(buffer); … }   // the rest of a long body
//	x.Close()
//
// An answer is checked against RFC 9112 before any of it is passed on, so that client and upstream
// cannot disagree about where a message ends.
package upstream

import (
	"cmp"
	"crypto/tls"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/dispatcher/client"
	"mockserver/internal/places"
	"mockserver/renderer"
)

// Upstream is a server that requests are passed on to. It may be used from any goroutine.
type Upstream struct {
	Name string
	// URL is the declared URL, without a trailing slash.
	URL string

	target  string // in the pool
	host    []byte // value of Host, unless it is passed on
	passes  bool   // the Host of clients is passed on, if they send one
	prefix  []byte // precedes the paths of requests
	timeout time.Duration
	// maxDuration bounds a streamed answer, from the request to its last byte.
	maxDuration time.Duration
	fixed       []byte // header lines that are the same for every request
	headers     []header
	omit        []string // headers of clients to omit: those that are set, and those that must not be sent
	via         string   // name by which the server recognizes its own requests

	pool    *client.Pool
	places  *places.Places
	retired atomic.Bool
	// UnderWay is the number of requests that are at the upstream or wait for a place.
	UnderWay atomic.Int64
}

// header is a header that is rendered for each request.
type header struct {
	name  string
	value *renderer.Template
}

// Via is the name by which a server recognizes requests that it has passed on itself. It is the
// same for all upstreams of the server.
type Via string

// New compiles an upstream. It connects only when a request needs a connection, so an unused
// upstream need not be closed.
func New(declared *item.Upstream, via Via, scope *renderer.Scope) (*Upstream, syntax.Problems) {
	d := declared.Effective()
	url := strings.TrimSuffix(d.URL.Value, "/")
	location, err := client.CutURL([]byte(url))
	if err != nil { // the URL was checked when it was read
		return nil, syntax.Problems{{Pos: d.Pos, Key: d.Key + ".url", What: err.Error()}}
	}
	u := &Upstream{Name: d.Name, URL: url, target: string(location.AppendTarget(nil)), timeout: d.Timeout, maxDuration: d.MaxDuration, via: string(via)}
	u.host, u.passes = location.AppendHost(nil), d.Host == item.HostPass
	if path := location.Path(); string(path) != "/" {
		u.prefix = path
	}
	u.pool = client.NewPool(d.Connections)
	if d.Insecure {
		u.pool.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the configuration says so
	}
	u.places = places.New(d.Connections, math.MaxInt)
	u.omit = d.Without
	var problems syntax.Problems
	for i := range d.Headers {
		h := &d.Headers[i]
		u.omit = append(u.omit, h.Name)
		t, wrong := renderer.Compile(h.Value, renderer.Header, scope)
		problems = append(problems, wrong...)
		if t == nil {
			continue
		}
		if text, ok := t.Static(); ok {
			u.fixed = append(append(append(append(u.fixed, h.Name...), ": "...), text...), "\r\n"...)
			continue
		}
		u.headers = append(u.headers, header{h.Name, t})
	}
	return u, problems
}

// Set contains the upstreams of a server, across reloads. An upstream that a reload does not change
// keeps its connections.
type Set struct {
	Via Via

	mu   sync.Mutex // guards the fields below
	all  map[string]*Upstream
	next map[string]*Upstream // while a specification is compiled; in use after Commit
}

// Begin begins a specification.
func (s *Set) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = map[string]*Upstream{}
}

// Add returns the upstream for a declaration: the one in use if its declaration is the same.
func (s *Set) Add(declared *item.Upstream, scope *renderer.Scope) (*Upstream, syntax.Problems) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := declared.Fingerprint()
	u, problems := s.all[key], syntax.Problems(nil)
	if u == nil {
		if u, problems = New(declared, s.Via, scope); u == nil || problems.Err() != nil {
			return nil, problems
		}
	}
	s.next[key] = u
	return u, problems
}

// Commit puts the upstreams of the specification into use. The other upstreams are released with
// their last request.
func (s *Set) Commit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, u := range s.all {
		if s.next[key] != u {
			u.retired.Store(true)
			u.pool.CloseIdle()
		}
	}
	s.all = s.next
}

// Close closes the connections of the upstreams in use. Their requests in progress fail.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.all {
		u.pool.Close()
	}
}

// Deadline returns the time at which a request that begins now times out.
func (u *Upstream) Deadline(now time.Time) time.Time {
	return now.Add(cmp.Or(u.timeout, item.DefaultUpstreamTimeout))
}
