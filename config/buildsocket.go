package config

import (
	"fmt"
	"slices"

	"mockserver/config/syntax"
)

// NewWebSockets returns a spec of WebSockets that are declared in Go, in order:
//
//	spec := config.NewWebSockets(config.WebSocket{
//		Path:      config.Plain("/rooms/:room"),
//		OnConnect: &config.Message{Body: config.Plain("welcome to {{path-params.room}}")},
//		OnMessage: []config.Exchange{{
//			Pattern:  config.JSON(map[string]any{"echo": "{{json-params.echo}}"}),
//			Response: config.Message{Body: config.JSON(map[string]any{"echo": "{{json-params.echo}}"})},
//		}},
//	})
//
// Join makes one spec of it and one of endpoints. As New does, it copies what it is given.
func NewWebSockets(sockets ...WebSocket) *Spec {
	spec := &Spec{WebSockets: make([]WebSocket, len(sockets))}
	for i := range sockets {
		spec.WebSockets[i] = sockets[i].copied(syntax.Pos{}, "", func(t syntax.Text, _ string) syntax.Text { return t.Unplaced() })
	}
	return spec
}

// copied returns a copy that shares nothing with w, with a place, and its texts as text
// makes them of what they were and of their key.
func (w *WebSocket) copied(pos syntax.Pos, key string, text func(t syntax.Text, key string) syntax.Text) WebSocket {
	c := *w
	c.Pos, c.Key = pos, key
	c.Path, c.If = text(w.Path, ".path"), text(w.If, ".if")
	c.Subprotocols, c.Doc.Tags = slices.Clone(w.Subprotocols), slices.Clone(w.Doc.Tags)
	if w.OnConnect != nil {
		m := w.OnConnect.copied(pos, ".on-connect.response", text)
		c.OnConnect = &m
	}
	c.OnMessage = slices.Clone(w.OnMessage)
	for i := range c.OnMessage {
		x, at := &c.OnMessage[i], fmt.Sprintf(".on-message[%d]", i)
		x.Pattern = text(x.Pattern.Raw(), at+".pattern")
		x.Response = x.Response.copied(pos, at+".response", text)
	}
	c.Send = slices.Clone(w.Send)
	for i := range c.Send {
		c.Send[i].Response = c.Send[i].Response.copied(pos, fmt.Sprintf(".send[%d].response", i), text)
	}
	c.Close = w.Close.copied(".close", text)
	return c
}

func (m *Message) copied(pos syntax.Pos, key string, text func(t syntax.Text, key string) syntax.Text) Message {
	c := *m
	c.Pos, c.Bytes = pos, slices.Clone(m.Bytes)
	if c.Body.IsJSON() {
		c.BodyJSON = true
	}
	if c.Raw {
		c.Body = c.Body.Raw()
	}
	c.Body = text(c.Body, key+".body")
	c.Close = m.Close.copied(key+".close", text)
	return c
}

func (c *Close) copied(key string, text func(t syntax.Text, key string) syntax.Text) *Close {
	if c == nil {
		return nil
	}
	e := *c
	e.Reason = text(e.Reason, key+".reason")
	return &e
}

// completeWebSockets puts the WebSockets of s that were made in Go into c, as Complete
// does with endpoints.
func (s *Spec) completeWebSockets(c *Spec) {
	number := 0
	for i := range s.WebSockets {
		w := s.WebSockets[i]
		if w.Key != "" {
			c.WebSockets = append(c.WebSockets, w)
			continue
		}
		pos, key := syntax.Pos{Column: number + 1}, fmt.Sprintf("[%d].websocket", number)
		p := placer{endpoint: &Endpoint{Pos: pos, Key: key}}
		w = w.copied(pos, key, func(t syntax.Text, at string) syntax.Text {
			p.text(&t, at)
			return t
		})
		problems := w.Claim(append(p.problems, w.check(nil, p.faulty)...))
		c.Problems = append(c.Problems, problems...)
		if problems.Err() == nil {
			c.WebSockets = append(c.WebSockets, w)
		} else {
			c.BrokenWebSockets = append(c.BrokenWebSockets, w)
		}
		number++
	}
}
