package listener

import (
	"bytes"
	"cmp"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/renderer"
)

// JournalOptions says which requests are kept to be looked at.
type JournalOptions struct {
	// Sample keeps one of so many of the requests that nothing is remarkable about: 1
	// keeps all, 0 none. Those are kept always that were answered from 500 on, with an error of
	// the server's own or with a fault, that no endpoint matched, and the slowest.
	Sample int
	Bytes  int // that all of them may take; 0 is 16 MiB
}

// Kept says why the journal has a request.
type Kept string

// The reasons, each of which has a share of the journal's room of its own, so that a
// flood of one kind leaves the others.
const (
	Sampled   Kept = "sample"
	Failed    Kept = "error" // answered from 500 on, with an error of the server's own, or with a fault
	Unmatched Kept = "unmatched"
	Slow      Kept = "slow" // one of the slowest by the server's own time
)

// Exchange is a request and its answer, as the journal keeps them.
type Exchange struct {
	ID       uint64 // rises with each
	Kept     Kept
	Time     time.Time // of its arrival
	Endpoint string    // that answered, "GET /users/:id"; "" for none
	// EndpointID is the ID that Counted has of it.
	EndpointID string
	Remote     string // the client's address
	Method     string
	Host       string
	Target     string // path and query as sent
	Status     int
	Took       time.Duration // from its arrival to its answer
	Injected   time.Duration // of that, what latency was declared to take
	Fault      string        // "" for none
	Code       string        // of an answer of the server's own: "endpoint_not_found"
	Reason     string        // what that says
	Request    Message
	Response   Message

	route  *route // of the endpoint; nil for none
	short  bool   // method, host or target are not whole
	fewer  bool   // nor are the headers of the request
	places int    // where the journal has it; its lock guards it
}

// route is the path that an endpoint is declared for.
type route struct {
	path     string
	template bool // as OpenAPI writes it
}

// Message is the headers and body of a request or an answer. Values of headers that
// are secrets are left out.
type Message struct {
	Header [][2]string
	Body   []byte // at most 8 KiB of it
	Size   int    // bytes of the whole body
	Cut    bool   // headers or body are not whole
}

const (
	defaultJournalBytes = 16 << 20
	// keptPart is how much of the headers, and of the body, of a message is kept.
	keptPart = 8 << 10
	// keptTarget is how much of a target is kept.
	keptTarget = 2 << 10
	keptReason = 2 << 10 // of a message
	// slowest is how many of the slowest requests are kept.
	slowest = 100
	// exchangeSize is what an exchange takes beside its texts and headers, in bytes, with
	// what the heap adds and what it takes in the list that has it.
	exchangeSize = 512
	headerSize   = 64 // of a header beside its texts, in the same way
)

// journal keeps requests. Its room is bounded; what is old makes room for what is new.
type journal struct {
	sample    uint64
	threshold atomic.Int64 // what is slower is one of the slowest; 0 until there are enough

	mu      sync.Mutex // guards what follows
	last    uint64     // ID
	sampled ring
	failed  ring
	missed  ring // unmatched
	slow    slowHeap
	kept    Tally
}

// Tally is how many requests the journal was given, and how many of them it has no
// more.
type Tally struct {
	Seen    map[Kept]uint64
	Dropped map[Kept]uint64
	Bytes   int // that they take
}

func newJournal(o JournalOptions) *journal {
	if o.Bytes == 0 {
		o.Bytes = defaultJournalBytes
	}
	j := &journal{sample: uint64(max(o.Sample, 0))}
	// The slowest are few and bounded each: what is left is for the others.
	rest := max(o.Bytes-slowest*largestExchange, o.Bytes/2)
	j.sampled.room, j.failed.room, j.missed.room = rest/3, rest/3, rest/3
	j.slow.most = min(slowest, (o.Bytes-rest)/largestExchange)
	j.kept = Tally{Seen: map[Kept]uint64{}, Dropped: map[Kept]uint64{}}
	return j
}

// largestExchange is what one takes at most.
const largestExchange = exchangeSize + keptTarget + keptReason + 2<<10 + 4*keptPart

// ring is exchanges of one kind, the oldest first.
type ring struct {
	room, bytes int
	all         []*Exchange // from first
	first       int
}

// put adds an exchange, and calls leave for those that have to go for it.
func (r *ring) put(x *Exchange, leave func(*Exchange)) {
	r.all = append(r.all, x)
	r.bytes += x.size()
	for r.bytes > r.room && r.first < len(r.all) {
		gone := r.all[r.first]
		r.all[r.first] = nil
		r.first++
		r.bytes -= gone.size()
		leave(gone)
	}
	if r.first > len(r.all)/2 {
		r.all = append(make([]*Exchange, 0, len(r.all)-r.first), r.all[r.first:]...)
		r.first = 0
	}
}

// slowHeap is the slowest exchanges, in a heap with the quickest of them first.
type slowHeap struct {
	most, bytes int
	all         []*Exchange
}

// put adds an exchange if it is one of the slowest, and calls leave for the one that has
// to go for it, which it may be itself.
func (h *slowHeap) put(x *Exchange, leave func(*Exchange)) {
	gone := x
	switch {
	case len(h.all) < h.most:
		h.bytes += x.size()
		h.all = append(h.all, x)
		for i := len(h.all) - 1; i > 0 && h.all[i].own() < h.all[(i-1)/2].own(); i = (i - 1) / 2 {
			h.all[i], h.all[(i-1)/2] = h.all[(i-1)/2], h.all[i]
		}
		return
	case len(h.all) > 0 && x.own() > h.all[0].own():
		gone, h.all[0] = h.all[0], x
		h.bytes += x.size() - gone.size()
		h.sink()
	}
	leave(gone)
}

// sink restores the order below the first.
func (h *slowHeap) sink() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.all); child++ {
			if h.all[child].own() < h.all[least].own() {
				least = child
			}
		}
		if least == i {
			return
		}
		h.all[i], h.all[least] = h.all[least], h.all[i]
		i = least
	}
}

// own is the time that the server took itself.
func (x *Exchange) own() time.Duration { return x.Took - x.Injected }

// size is what an exchange takes, in bytes and roughly from above. The name of the
// endpoint is that of its account.
func (x *Exchange) size() int {
	n := exchangeSize + len(x.Remote) + len(x.Method) + len(x.Host) + len(x.Target) + len(x.Reason)
	for _, m := range [...]*Message{&x.Request, &x.Response} {
		n += cap(m.Body)
		for _, h := range m.Header {
			n += headerSize + len(h[0]) + len(h[1])
		}
	}
	return n
}

// wants tells why a request is to be kept, if it is, and whether it is one of the slowest
// as well. nth is its number among those of its kind, of which the first is sampled;
// sampled tells that it was chosen before.
func (j *journal) wants(remark Kept, sampled bool, nth uint64, own time.Duration) (kept Kept, slow, ok bool) {
	slow = remark == "" && j.slow.most > 0 && int64(own) > j.threshold.Load()
	switch {
	case remark != "":
		return remark, false, true
	case sampled || j.sample > 0 && (nth-1)%j.sample == 0:
		return Sampled, slow, true
	}
	return Slow, slow, slow
}

// put keeps an exchange, which is the journal's from now on. One that is sampled and
// slow is in both places: it stays until it is in neither.
func (j *journal) put(x *Exchange, slow bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	x.ID = j.last
	j.kept.Seen[x.Kept]++
	into := j.ring(x.Kept)
	if into != nil {
		x.places++
	}
	if slow {
		x.places++
		j.slow.put(x, j.leave)
		if n := len(j.slow.all); n > 0 && n == j.slow.most {
			j.threshold.Store(int64(j.slow.all[0].own()))
		}
	}
	if into != nil {
		into.put(x, j.leave)
	}
}

// ring is that of the exchanges that are kept for a reason; nil for none.
func (j *journal) ring(kept Kept) *ring {
	switch kept {
	case Failed:
		return &j.failed
	case Unmatched:
		return &j.missed
	case Sampled:
		return &j.sampled
	}
	return nil
}

// leave counts an exchange that is in one place less.
func (j *journal) leave(x *Exchange) {
	if x.places--; x.places == 0 {
		j.kept.Dropped[x.Kept]++
	}
}

// reset forgets everything.
func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range []*ring{&j.sampled, &j.failed, &j.missed} {
		*r = ring{room: r.room}
	}
	j.slow = slowHeap{most: j.slow.most}
	j.threshold.Store(0)
	j.kept = Tally{Seen: map[Kept]uint64{}, Dropped: map[Kept]uint64{}}
}

// all is every exchange, the newest first. They are not changed any more.
func (j *journal) all() []*Exchange {
	j.mu.Lock()
	list := make([]*Exchange, 0, len(j.slow.all))
	for _, x := range j.slow.all {
		if x.Kept != Slow { // but for now it is
			slow := *x
			slow.Kept = Slow
			x = &slow
		}
		list = append(list, x)
	}
	list = slices.Concat(list, j.sampled.all[j.sampled.first:], j.failed.all[j.failed.first:], j.missed.all[j.missed.first:])
	j.mu.Unlock()
	slices.SortStableFunc(list, func(a, b *Exchange) int { return cmp.Compare(b.ID, a.ID) })
	return slices.CompactFunc(list, func(a, b *Exchange) bool { return a.ID == b.ID })
}

// tally is what the journal has seen and has.
func (j *journal) tally() Tally {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := Tally{Seen: map[Kept]uint64{}, Dropped: map[Kept]uint64{}, Bytes: j.sampled.bytes + j.failed.bytes + j.missed.bytes + j.slow.bytes}
	for k, n := range j.kept.Seen {
		t.Seen[k] = n
	}
	for k, n := range j.kept.Dropped {
		t.Dropped[k] = n
	}
	return t
}

// missing says why the journal does not have every request; "" when it has.
func (j *journal) missing() string {
	t := j.tally()
	switch {
	case j.sample != 1:
		return "the journal keeps only some of the requests that went well; see --journal-sample"
	case len(t.Dropped) > 0:
		return "the journal is full, and has dropped requests"
	}
	return ""
}

// exchangeOf copies what a request was and what answers it. Of one whose headers were
// not understood, nothing is known.
func exchangeOf(ctx *fasthttp.RequestCtx) *Exchange {
	x := &Exchange{Time: ctx.Time(), Remote: ctx.RemoteAddr().String(), Status: ctx.Response.StatusCode()}
	if x.Time.IsZero() {
		x.Time = time.Now()
	}
	if h := &ctx.Request.Header; isKnown(h) {
		x.Method, x.Host, x.Target = cutText(h.Method(), 64), cutText(h.Host(), 256), cutText(h.RequestURI(), keptTarget)
		x.short = len(h.Method()) > len(x.Method) || len(h.Host()) > len(x.Host) || len(h.RequestURI()) > len(x.Target)
	}
	x.Request.headers(ctx.Request.Header.All())
	x.fewer = x.Request.Cut
	x.Request.Cut = x.fewer || x.short
	x.Request.body(ctx.Request.Body())
	x.Response.headers(ctx.Response.Header.All())
	if ctx.Response.IsBodyStream() { // it is for the client alone to read
		x.Response.Size, x.Response.Cut = ctx.Response.Header.ContentLength(), true
	} else {
		x.Response.body(ctx.Response.Body())
	}
	if f, ok := ctx.UserValue(refusalKey{}).(*refusal); ok {
		x.Code, x.Reason = f.code, cutText([]byte(f.message), keptReason)
	}
	return x
}

// refusalKey is the key under which a request keeps what an answer of the server's own
// says.
type refusalKey struct{}

type refusal struct{ code, message string }

// keepReason keeps what an answer of the server's own says, for the journal.
func keepReason(ctx *fasthttp.RequestCtx, reason *refusal) {
	if c, ok := ctx.Conn().(*connection); ok && c.from.recorder == nil {
		return // there is none
	}
	ctx.SetUserValue(refusalKey{}, reason)
}

func cutText(b []byte, most int) string { return string(b[:min(len(b), most)]) }

// headers copies header lines, for as long as there is room. All that it copies is one
// text, of which the lines are parts: many small ones would cost more than all else.
func (m *Message) headers(all func(yield func(name, value []byte) bool)) {
	lines, size, room := 0, 0, keptPart
	var secret [keptPart / headerSize]bool // of each line
	for name, value := range all {
		if room -= len(name) + len(value) + headerSize; room < 0 {
			m.Cut = true
			break
		}
		size += len(name) + len(value)
		if isSecret(name) && !isNoSecret(value) {
			secret[lines] = true
			size += len(secretShown) - len(value) // no room for what is not shown: it may be long
		}
		lines++
	}
	var text strings.Builder
	text.Grow(size)
	m.Header = make([][2]string, 0, lines)
	for name, value := range all {
		if len(m.Header) == lines {
			break
		}
		begin := text.Len()
		text.Write(name)
		middle := text.Len()
		if secret[len(m.Header)] {
			text.WriteString(secretShown)
		} else {
			text.Write(value)
		}
		so := text.String()
		m.Header = append(m.Header, [2]string{so[begin:middle], so[middle:]})
	}
}

// body copies the beginning of a body.
func (m *Message) body(b []byte) {
	m.Size = len(b)
	m.Cut = m.Cut || len(b) > keptPart
	m.Body = bytes.Clone(b[:min(len(b), keptPart)])
}

// secretShown stands for what is not shown.
const secretShown = "(not shown)"

// secretParts are what the names of headers that hold secrets have in them, with - for _.
var secretParts = []string{
	"authorization", "authentication", "x-auth-", "cookie", "token", "jwt", "secret", "password", "passwd", "passphrase", "-otp",
	"api-key", "apikey", "access-key", "private-key", "subscription-key", "functions-key", "signature", "credential", "session",
}

// isCommon tells of the commonest headers, which hold no secret, without looking at each
// part of their names.
func isCommon(name []byte) bool {
	switch string(name) {
	case "Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection", "Content-Type", "Content-Length",
		"Date", "Server", "Origin", "Cache-Control", "Transfer-Encoding", "Traceparent", "X-Request-Id", "X-Forwarded-For":
		return true
	}
	return false
}

// isSecret tells whether a header may hold what nobody should read in a journal.
func isSecret[T string | []byte](header T) bool {
	if isCommon([]byte(header)) {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(textproto.TrimString(string(header))), "_", "-")
	return name == "x-auth" || slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}

// isNoSecret tells of values that conditions take for false, which are none in any header:
// a value that is not shown is taken for true.
func isNoSecret(value []byte) bool { return !renderer.IsTrue(value) }

// restore makes the kept request what it was, as far as it was kept, for conditions to
// be held against.
func (x *Exchange) restore(req *fasthttp.Request) {
	h := &req.Header
	h.DisableNormalizing()
	h.SetMethod(x.Method)
	h.SetRequestURI(x.Target)
	for _, line := range x.Request.Header {
		h.Add(line[0], line[1])
	}
	h.SetHost(x.Host)
	h.EnableNormalizing()
	req.SetBodyRaw(x.Request.Body)
}

// unknown is what is not known any more of the request.
func (x *Exchange) unknown() *renderer.Unknown {
	return &renderer.Unknown{Body: len(x.Request.Body) < x.Request.Size, Header: func(name string) renderer.HeaderKnown {
		for _, line := range x.Request.Header {
			switch {
			case !strings.EqualFold(line[0], name):
			case line[1] == secretShown && isSecret(name):
				return renderer.HeaderHidden
			default:
				return renderer.HeaderWhole
			}
		}
		if x.fewer {
			return renderer.HeaderLost
		}
		return renderer.HeaderWhole
	}}
}
