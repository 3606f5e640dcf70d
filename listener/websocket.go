package listener

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"mockserver/internal/ascii"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/listener/record"
	"mockserver/listener/reply"
	"mockserver/listener/traffic"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
	"mockserver/renderer"
)

// webSockets are the WebSockets of a snapshot. Nil is none.
type webSockets struct {
	table *matcher.Table
	all   []webSocket // by the index the table gives
}

// webSocket is one path that becomes a WebSocket connection, compiled.
type webSocket struct {
	name         string // "WebSocket /rooms/:id", as logs and messages call it
	subprotocols []string
	connect      *message // nil for none
	reactions    []reaction
	sends        []send
	close        *ending
	limit        int  // bytes of a message
	templated    bool // something that is sent is made of the request
	chance       *traffic.Seed
	tally        *traffic.Counts // nil where nothing is counted
	counters     *record.Counters
}

// reaction is what answers the messages of a pattern.
type reaction struct {
	pattern *pattern
	message message
}

// send is a message that is sent unasked.
type send struct {
	first, every time.Duration
	times        int // 0 for no end
	message      message
}

// message is what is sent: a message, the end of the connection, or both.
type message struct {
	sends    bool // there is a message
	static   []byte
	template *renderer.Template // instead of static
	frame    int                // websocket.TextMessage or BinaryMessage; 0 is that of the message it answers
	close    *ending            // nil leaves the connection open
}

// ending is how the server ends a connection.
type ending struct {
	code   int
	reason *renderer.Template
	after  time.Duration // from when the connection is open
}

const socketKey = "Sec-WebSocket-Key"

// defaultMaxMessage is the largest message, in bytes, unless something else is declared.
const defaultMaxMessage = 1 << 20

// sockets compiles the WebSockets of a specification; nil when there are none, or some
// are wrong.
func (c *compiler) sockets(spec *config.Spec) (*webSockets, syntax.Problems) {
	var problems syntax.Problems
	all := &webSockets{}
	var routes []matcher.Route
	for i := range spec.WebSockets {
		route, compiled, wrong := c.socket(&spec.WebSockets[i])
		routes, all.all = append(routes, route), append(all.all, compiled)
		problems = append(problems, wrong...)
	}
	if len(spec.BrokenWebSockets) > 0 {
		known := keysOf(spec.Problems)
		for i := range spec.BrokenWebSockets {
			_, _, wrong := c.socket(&spec.BrokenWebSockets[i])
			problems = append(problems, known.leaveOut(wrong)...)
		}
	}
	if len(routes) == 0 || problems.Err() != nil {
		return nil, problems
	}
	var shadowed syntax.Problems
	all.table, shadowed = matcher.Compile(routes)
	return all, append(problems, shadowed...)
}

// socket compiles one WebSocket: when a request becomes a connection, and what is said
// on it.
func (c *compiler) socket(w *config.WebSocket) (matcher.Route, webSocket, syntax.Problems) {
	asking := w.Asking()
	parsed, problems := matcher.ParsePattern(w.Path)
	request := &renderer.Scope{Params: parsed.Params(), Env: c.env, Counters: c.counters}
	condition, wrong := renderer.CompileCondition(w.If, request)
	problems = append(problems, wrong...)
	route := matcher.Route{Endpoint: asking, Pattern: parsed, Kind: record.WebSocketKind}
	counted := w.Asking()
	counted.Method = record.WebSocketKind // apart from an endpoint of the same path
	t := traffic.NewCounts(&c.kept, counted, c.chance.Seeded)
	if !condition.Always() {
		route.If = condition.Holds
		if c.chance.Seeded {
			route.If = c.chance.Conditional(t, condition.Holds)
		}
	}
	s := webSocket{chance: &c.chance, tally: t, name: record.WebSocketKind + " " + w.Path.Value, subprotocols: w.Subprotocols, limit: cmp.Or(w.MaxMessage, c.maxMessage)}
	k := socketCompiler{scope: *request, socket: &s}
	k.scope.Message = true
	if w.OnConnect != nil {
		m := k.message(w.OnConnect)
		s.connect = &m
	}
	k.reactions(w.OnMessage)
	for i := range w.Send {
		d := &w.Send[i]
		times := d.Times
		if d.Every == 0 {
			times = 1
		}
		s.sends = append(s.sends, send{first: d.First(), every: d.Every, times: times, message: k.message(&d.Response)})
	}
	s.close = k.ending(w.Close)
	return route, s, w.Claim(append(problems, k.problems...))
}

// socketCompiler compiles what is said on a connection.
type socketCompiler struct {
	scope    renderer.Scope
	socket   *webSocket
	problems syntax.Problems
}

// reactions compiles what answers messages, and warns of what nothing reaches.
func (k *socketCompiler) reactions(declared []config.Exchange) {
	for i := range declared {
		x := &declared[i]
		p, wrong := compilePattern(x.Pattern)
		k.problems = append(k.problems, wrong...)
		e := reaction{pattern: p, message: k.message(&x.Response)}
		if p == nil {
			continue
		}
		for j := range k.socket.reactions {
			if k.socket.reactions[j].pattern.covers(p) {
				k.problems = append(k.problems, syntax.Problem{Pos: x.Pattern.Pos, Key: x.Pattern.Key, Warning: true,
					What: fmt.Sprintf("no message reaches this pattern: all that it matches are answered by the pattern %s before it", bounded(k.socket.reactions[j].pattern.text))})
				break
			}
		}
		k.socket.reactions = append(k.socket.reactions, e)
	}
}

func (k *socketCompiler) message(m *config.Message) message {
	out := message{sends: m.Sends(), close: k.ending(m.Close)}
	switch m.Frame {
	case config.TextFrame:
		out.frame = websocket.TextMessage
	case config.BinaryFrame:
		out.frame = websocket.BinaryMessage
	}
	switch {
	case m.Bytes != nil:
		out.static, out.frame = m.Bytes, websocket.BinaryMessage
	case m.Raw:
		out.static = []byte(m.Body.Value)
	default:
		out.static, out.template = k.text(m.Body, renderer.Inferred)
	}
	return out
}

// text compiles a text: to bytes, or to a template if it is not always the same.
func (k *socketCompiler) text(text syntax.Text, form renderer.Form) ([]byte, *renderer.Template) {
	t, wrong := renderer.Compile(text, form, &k.scope)
	k.problems = append(k.problems, wrong...)
	if t == nil {
		return nil, nil
	}
	if fixed, ok := t.Static(); ok {
		return []byte(fixed), nil
	}
	k.socket.templated = true
	return nil, t
}

func (k *socketCompiler) ending(e *config.Close) *ending {
	if e == nil {
		return nil
	}
	out := &ending{code: e.CloseCode(), after: e.After}
	reason, template := k.text(e.Reason, renderer.Plain)
	if out.reason = template; template == nil {
		out.reason = renderer.Literal(string(reason))
	}
	return out
}

// declares tells whether a request would become a connection if it asked for one,
// whatever the conditions say.
func (k *webSockets) declares(r *matcher.Request) bool {
	return k != nil && len(k.table.Methods(r)) > 0
}

// nearest says of the WebSockets like a request why each does not match it.
func (k *webSockets) nearest(r *matcher.Request) []string {
	if k == nil {
		return nil
	}
	var reasons []string
	for _, near := range nearest.Find(k.table.Routes(), r, namedEndpoints) {
		reasons = append(reasons, k.all[near.Index].name+" ("+near.Why+")")
	}
	return reasons
}

// asksForWebSocket tells whether a request asks to become a WebSocket connection,
// well or badly.
func asksForWebSocket(r *matcher.Request) bool {
	return string(r.In.Method) == fasthttp.MethodGet && hasOption(r, fasthttp.HeaderUpgrade, "websocket")
}

// hasOption tells whether a header is a list that holds an option, which is given in
// lower case.
func hasOption(r *matcher.Request, name, option string) bool {
	for line := range r.In.Header.Values(name) {
		for one := range bytes.SplitSeq(line, []byte{','}) {
			if ascii.EqualFold(ascii.TrimBlanks(one), option) {
				return true
			}
		}
	}
	return false
}

// upgrade has a request that asks for it become a WebSocket connection, and tells
// whether one is declared for it: what is wrong with how it asks is answered then.
func (s *Server) upgrade(sn *snapshot, c *call) bool {
	r := &c.Request
	if sn.sockets == nil || c.peer == nil || !asksForWebSocket(r) {
		return false
	}
	i := sn.sockets.table.Match(r, fasthttp.MethodGet)
	if i < 0 {
		return false
	}
	k := &sn.sockets.all[i]
	c.trace.Counters = k.counters
	if f, what := handshakeFault(r); what != "" {
		f.Write(&c.reply, what)
		if f.Status == fasthttp.StatusUpgradeRequired {
			askForUpgrade(&c.reply)
		}
		return true
	}
	key, _ := r.Header(socketKey)
	c.reply.Status = fasthttp.StatusSwitchingProtocols
	c.reply.Add(fasthttp.HeaderUpgrade, "websocket")
	c.reply.Add(fasthttp.HeaderConnection, "Upgrade")
	c.reply.Add("Sec-Websocket-Accept", acceptance(key))
	if name := k.subprotocol(r); name != "" {
		c.reply.Add("Sec-Websocket-Protocol", name)
	}
	t := &dialogue{server: s, conn: c.peer, socket: k, asked: asked(k, r)}
	if k.counters != nil {
		t.counts = k.counters.At(c.peer.Shard())
	}
	if k.chance.Seeded {
		t.number = k.tally.Next()
	}
	c.peer.Leave(t.run)
	return true
}

// handshakeFault is how a request asks badly for a WebSocket; "" when it does not.
func handshakeFault(r *matcher.Request) (f reply.Failure, what string) {
	text, keys := only(r.In.Header.Values(socketKey))
	key, err := base64.StdEncoding.DecodeString(string(text))
	version, versions := only(r.In.Header.Values("Sec-WebSocket-Version"))
	switch {
	case r.In.HTTP10:
		return reply.BadHandshake, "a WebSocket is asked for in HTTP/1.1, not HTTP/1.0"
	case hasOption(r, fasthttp.HeaderConnection, "close") || !hasOption(r, fasthttp.HeaderConnection, "upgrade"):
		return reply.BadHandshake, "a WebSocket is asked for with Connection: Upgrade; a proxy in between may have taken it away"
	case keys != 1 || err != nil || len(key) != 16:
		return reply.BadHandshake, "the Sec-WebSocket-Key is not the base64 text of 16 bytes"
	case versions != 1:
		return reply.BadHandshake, "there is no Sec-WebSocket-Version, or more than one; 13 is spoken"
	case string(version) != "13":
		return reply.UpgradeRequired, fmt.Sprintf("version %s of WebSocket is asked for; 13 is spoken", bounded(string(version)))
	case len(r.In.Body) > 0:
		return reply.BadHandshake, "a request for a WebSocket has no body"
	}
	return reply.Failure{}, ""
}

// only is the first of the values of a header, and how many there are.
func only(values iter.Seq[[]byte]) (first []byte, n int) {
	for value := range values {
		if n == 0 {
			first = value
		}
		n++
	}
	return first, n
}

// requireUpgrade answers a request for a path that is a WebSocket's, and does not ask
// for one.
func (s *Server) requireUpgrade(c *call) {
	message := string(c.Method()) + " " + string(c.Path()) + " is the path of a WebSocket: it is asked for by GET with Upgrade: websocket"
	reply.UpgradeRequired.Write(&c.reply, message)
	askForUpgrade(&c.reply)
	s.tellUnmatched(c, reply.UpgradeRequired, message)
}

// askForUpgrade says in an answer what a client is to ask for.
func askForUpgrade(p *reply.Reply) {
	p.Add(fasthttp.HeaderUpgrade, "websocket")
	p.Add(fasthttp.HeaderConnection, "Upgrade")
	p.Add("Sec-Websocket-Version", "13")
}

// acceptance is the value that proves that a key was understood, RFC 6455 section 4.2.2.
func acceptance(key []byte) string {
	sum := sha1.Sum(append(key[:len(key):len(key)], "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// subprotocol is the first of the declared subprotocols that the client offers; "" when
// it offers none of them: the client may end the connection then.
func (k *webSocket) subprotocol(r *matcher.Request) string {
	for _, name := range k.subprotocols {
		for line := range r.In.Header.Values("Sec-WebSocket-Protocol") {
			offered := strings.Split(string(line), ",")
			if slices.ContainsFunc(offered, func(one string) bool { return strings.Trim(one, " \t") == name }) {
				return name
			}
		}
	}
	return ""
}
