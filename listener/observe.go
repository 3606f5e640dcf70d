package listener

import (
	"sync/atomic"
	"time"

	"mockserver/config"
	"mockserver/dispatcher"
)

// RecordOptions says what a server keeps of what it does: its counts always, and of the
// requests themselves what the journal is told to.
type RecordOptions struct {
	Journal JournalOptions
}

// Counts is what a server has done since it was started. The totals only rise, and are
// exact: each request is counted once, when its answer is about to be written. What is
// counted while they are read may be in them or not.
type Counts struct {
	Started time.Time
	Time    time.Time // when they were read
	// Endpoints are those that are served, in the order of the specification, and then
	// its WebSockets. One that a reload changes in what it answers goes on being counted.
	Endpoints []Counted
	Unmatched Counted // requests that no endpoint answered
	Options   Counted // OPTIONS that the server answered itself, from what is declared
	Malformed Counted // what never became a request, and was answered: 400, 408, 413, 431
	Gone      Counted // requests to endpoints that are served no more

	Connections int   // that are open, WebSockets among them
	WebSockets  int   // that are open
	InFlight    int64 // requests that are being served, those that wait for their latency among them
	// Distinct is how many different unmatched requests there were, as far as they were
	// still known: see Unmatched.
	Distinct uint64
}

// Counted is what was counted of one endpoint.
type Counted struct {
	ID       string // of the endpoint, 16 hexadecimal digits, the same at each start; "" for none
	Endpoint string // "GET /users/:id", "WebSocket /rooms/:id"; "" for none
	Host     string // that it is declared for; "" for any
	If       string // its condition; "" for none
	// Since is when it was served first, or again after a reload had taken it away: it
	// is counted from 0 then, and what it had before is among the Gone.
	Since time.Time
	// Requests is how many there were: the sum of Statuses.
	Requests uint64
	// Statuses are the answers of each status; 499 are requests whose client left, or
	// that stopping the server cut off, before they were answered, and 101 those that
	// became WebSocket connections. An answer that a fault spoilt counts with its status.
	Statuses map[int]uint64
	In, Out  uint64 // bytes of request and response bodies, without what faults held back
	// Faults are the answers that went wrong as declared: by the type of the fault,
	// "failure" for an injected 500 and "timeout" for an injected 504.
	Faults  map[string]uint64
	Limited uint64 // answered 429 by a rate limit
	Refused uint64 // answered 503 by a capacity
	// Broken are the answers of 500 and above that the server gave in place of what is
	// declared, which it could not give: a body that cannot be had, an internal error.
	Broken uint64
	// Received and Sent are messages of WebSocket connections.
	Received, Sent uint64
	// Service is the time that the server took itself: from a request's arrival until
	// its answer was handed over to be written, without what was injected.
	Service Lengths
	// Injected is the time that latency was declared to take, and the wait for a place
	// of a capacity, of requests that have either.
	Injected Lengths
	// InjectionError is how much later than that answers were ready.
	InjectionError Lengths
}

// Served is one endpoint or WebSocket that is served.
type Served struct {
	ID   string // as that of Counted
	Name string // "GET /users/:id"
	// Endpoint is its declaration, and WebSocket that of a WebSocket: the other is nil.
	// Neither may be changed.
	Endpoint  *config.Endpoint
	WebSocket *config.WebSocket
	// Index is where it stands among the endpoints, or the WebSockets, of Spec.
	Index int
}

// Records tells whether the server counts what it does: Options.Record.
func (s *Server) Records() bool { return s.recorder != nil }

// Counts reads what was counted. It may not be changed: what has stood still is shared by
// several readings. That of a server that does not record is
// empty but for what is open.
func (s *Server) Counts() Counts {
	c := Counts{Time: time.Now(), WebSockets: s.WebSockets(), Connections: s.listener.count()}
	r := s.recorder
	if r == nil {
		return c
	}
	c.Started = r.begun
	for i := range r.lanes {
		c.InFlight += r.lanes[i].serving.Load()
	}
	c.Unmatched, c.Options, c.Malformed = r.unmatched.read(), r.options.read(), r.malformed.read()
	c.Distinct = r.misses.distinct()
	r.mu.Lock() // so that none moves to the gone meanwhile
	defer r.mu.Unlock()
	c.Endpoints = make([]Counted, len(r.order))
	for i, t := range r.order {
		c.Endpoints[i] = t.reread()
	}
	c.Gone = r.gone.read()
	for _, shards := range r.retired {
		readShards(shards, &c.Gone)
	}
	return c
}

// reread is what an account has, as it was read last unless it has had a request since:
// of thousands of endpoints most have not from one second to the next.
func (t *account) reread() Counted {
	var stamp uint64
	for i := range t.shards {
		if c := t.shards[i].Load(); c != nil {
			stamp += c.stamp()
		}
	}
	if !t.known || stamp != t.stamp {
		t.last, t.stamp, t.known = t.read(), stamp, true
	}
	return t.last
}

// read is what an account has.
func (t *account) read() Counted {
	total := Counted{
		ID: t.key, Endpoint: t.name, Host: t.host, If: t.condition, Since: t.since,
		Statuses: map[int]uint64{}, Faults: map[string]uint64{},
	}
	readShards(t.shards, &total)
	return total
}

func readShards(shards []atomic.Pointer[counts], total *Counted) {
	for i := range shards {
		if c := shards[i].Load(); c != nil {
			c.read(total)
		}
	}
}

// Journal returns the requests that are kept, the newest first. The list is a copy; the
// requests may not be changed.
func (s *Server) Journal() []*Exchange {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.journal.all()
}

// ResetJournal forgets the requests that are kept, and the unmatched ones with them.
// What is counted stays.
func (s *Server) ResetJournal() {
	if s.recorder != nil {
		s.recorder.journal.reset()
		s.recorder.misses.reset()
	}
}

// JournalTally tells how many requests the journal was given, and has no more.
func (s *Server) JournalTally() Tally {
	if s.recorder == nil {
		return Tally{}
	}
	return s.recorder.journal.tally()
}

// Unmatched returns the different requests that no endpoint answered, by method, host
// and path, those that came last first: a thousand at most are known.
func (s *Server) Unmatched() []Miss {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.misses.all()
}

// Spec is the specification that is served. It may not be changed: make another, and
// Apply that.
func (s *Server) Spec() *config.Spec { return s.snapshot.Load().spec }

// Endpoints are the endpoints and WebSockets that are served, in the order of Spec.
func (s *Server) Endpoints() []Served { return EndpointsOf(s.Spec()) }

// EndpointsOf are the endpoints and WebSockets of a specification, whether it is served or
// not, as they are called when it is. It is one of Spec, or one that was read: an endpoint
// made in Go has its ID once it is served.
func EndpointsOf(spec *config.Spec) []Served {
	all := make([]Served, len(spec.Endpoints)+len(spec.WebSockets))
	for i, id := range identities(spec) {
		all[i] = Served{ID: id.id(), Name: id.name, Index: i}
		if n := len(spec.Endpoints); i < n {
			all[i].Endpoint = &spec.Endpoints[i]
		} else {
			all[i].Index, all[i].WebSocket = i-n, &spec.WebSockets[i-n]
		}
	}
	return all
}

// PendingWebhooks returns webhooks that wait to be sent or are being sent, those due
// first before the others, most of them at most, and how many there are.
func (s *Server) PendingWebhooks(most int) (list []dispatcher.Pending, all int) {
	return s.webhooks.List(most)
}

// FireWebhook has a pending webhook sent now. The error is dispatcher.ErrUnknown or
// dispatcher.ErrClosed.
func (s *Server) FireWebhook(id string) error { return s.webhooks.Fire(id) }

// CancelWebhook takes a pending webhook back. The error is dispatcher.ErrUnknown,
// dispatcher.ErrInFlight or dispatcher.ErrClosed.
func (s *Server) CancelWebhook(id string) error { return s.webhooks.Cancel(id) }
