// Package websocket serves WebSockets: it compiles them from a specification, answers the handshake
// of a request, and owns the connection from then on until it is closed. It is called by the
// server, which accepts connections and receives requests.
package websocket

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gobwas/ws"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/listener/observe/record"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Socket is one compiled WebSocket path.
type Socket struct {
	Counters *record.Counters // nil when nothing is recorded

	name         string // "WebSocket /rooms/:id", for logs and messages
	subprotocols []string
	connect      *message // nil if none
	reactions    []reaction
	sends        []send
	limit        int  // maximum size of a message, in bytes
	templated    bool // some text that is sent depends on the request
	seed         *Seed
}

// reaction answers the messages that match a pattern.
type reaction struct {
	pattern *pattern
	message message
}

// send is an unrequested message.
type send struct {
	first, every time.Duration
	times        int // 0 means without end
	message      message
}

// message is an action of the server: a message to send, the end of the connection, or both.
type message struct {
	sends    bool // there is a message to send
	static   []byte
	template *renderer.Template // used instead of static
	opcode   ws.OpCode          // 0 means the opcode of the message it answers
	close    *ending            // nil leaves the connection open
}

// ending is how the server ends a connection.
type ending struct {
	code   int
	reason *renderer.Template
}

// Compiler holds the settings that WebSockets are compiled with.
type Compiler struct {
	Env        func(string) (string, bool)
	Counters   *renderer.Counters
	MaxMessage int // maximum size of a message, unless the WebSocket declares one; 0 is 1 MiB
	// Seed makes the random choices of a WebSocket repeatable; if it returns nil, they are not
	// repeatable.
	Seed func(asking *item.Endpoint) *Seed
}

// Seed makes the random choices of one WebSocket repeatable.
type Seed struct {
	// Condition makes the choices of the WebSocket's condition repeatable.
	Condition func(holds func(*matcher.Request) bool) func(*matcher.Request) bool
	// Connection begins a connection. The function that it returns sets the random numbers of the
	// nth text on that connection.
	Connection func() func(nth uint64, numbers *matcher.Random)
}

const defaultMaxMessage = 1 << 20 // bytes

// compile compiles one WebSocket: which requests become connections, and what is sent on them.
func (c *Compiler) compile(w *item.WebSocket) (matcher.Route, Socket, syntax.Problems) {
	path, problems := matcher.ParsePattern(w.Path)
	scope := renderer.Scope{Params: path.Params(), Env: c.Env, Counters: c.Counters}
	condition, wrong := renderer.CompileCondition(w.If, &scope)
	problems = append(problems, wrong...)

	asking := w.Asking()
	asking.Method = record.WebSocketKind // an endpoint with the same path has different random numbers
	s := Socket{
		name:         record.WebSocketKind + " " + w.Path.Value,
		subprotocols: w.Subprotocols,
		limit:        cmp.Or(w.MaxMessage, c.MaxMessage, defaultMaxMessage),
		seed:         c.Seed(asking),
	}
	route := matcher.Route{Endpoint: w.Asking(), Pattern: path, Kind: record.WebSocketKind}
	if !condition.Always() {
		route.If = condition.Holds
		if s.seed != nil {
			route.If = s.seed.Condition(condition.Holds)
		}
	}

	t := texts{scope: scope, socket: &s, problems: problems}
	t.scope.Message = true
	if w.OnConnect != nil {
		m := t.message(w.OnConnect)
		s.connect = &m
	}
	t.reactions(w.OnMessage)
	for i := range w.Send {
		d := &w.Send[i]
		times := d.Times
		if d.Every == 0 {
			times = 1
		}
		s.sends = append(s.sends, send{first: d.First(), every: d.Every, times: times, message: t.message(&d.Response)})
	}
	if w.Close != nil { // added last, so that it follows the messages that are due at the same time
		s.sends = append(s.sends, send{first: w.Close.After, times: 1, message: message{close: t.ending(w.Close)}})
	}
	return route, s, t.problems
}

// texts compiles what is sent on a connection.
type texts struct {
	scope    renderer.Scope
	socket   *Socket
	problems syntax.Problems
}

// reactions compiles the reactions to messages, and warns of patterns that no message reaches.
func (t *texts) reactions(declared []item.Exchange) {
	for i := range declared {
		x := &declared[i]
		p, wrong := compilePattern(x.Pattern)
		t.problems = append(t.problems, wrong...)
		m := t.message(&x.Response)
		if p == nil {
			continue
		}
		for j := range t.socket.reactions {
			if earlier := t.socket.reactions[j].pattern; earlier.covers(p) {
				t.problems = append(t.problems, syntax.Problem{Pos: x.Pattern.Pos, Key: x.Pattern.Key, Warning: true,
					What: fmt.Sprintf("no message reaches this pattern: the pattern %s before it answers all that it matches", wording.Clip(earlier.text))})
				break
			}
		}
		t.socket.reactions = append(t.socket.reactions, reaction{p, m})
	}
}

func (t *texts) message(m *item.Message) message {
	out := message{sends: m.Sends(), close: t.ending(m.Close)}
	switch m.Frame {
	case item.TextFrame:
		out.opcode = ws.OpText
	case item.BinaryFrame:
		out.opcode = ws.OpBinary
	}
	switch {
	case m.Bytes != nil:
		out.static, out.opcode = m.Bytes, ws.OpBinary
	case m.Raw:
		out.static = []byte(m.Body.Value)
	default:
		out.template = t.template(m.Body, renderer.Inferred)
		if fixed, ok := out.template.Static(); ok {
			out.static, out.template = []byte(fixed), nil
		}
	}
	return out
}

func (t *texts) ending(e *item.Close) *ending {
	if e == nil {
		return nil
	}
	return &ending{e.CloseCode(), t.template(e.Reason, renderer.Plain)}
}

// template compiles a text. A text with errors becomes the empty text.
func (t *texts) template(text syntax.Text, form renderer.Form) *renderer.Template {
	made, wrong := renderer.Compile(text, form, &t.scope)
	t.problems = append(t.problems, wrong...)
	if made == nil {
		return renderer.Literal("")
	}
	if _, ok := made.Static(); !ok {
		t.socket.templated = true
	}
	return made
}
