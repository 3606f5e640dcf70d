package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"mockserver/internal/harness"
)

// openSocket opens a WebSocket connection to a path of a program.
func openSocket(p *Process, path string, options *websocket.DialOptions) *clientSocket {
	p.T.Helper()
	c, _, err := upgrade(p, path, options)
	if err != nil {
		p.T.Fatal(err)
	}
	return c
}

// upgrade tries to open a WebSocket, and also returns the response to the attempt.
func upgrade(p *Process, path string, options *websocket.DialOptions) (*clientSocket, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	p.T.Cleanup(cancel)
	conn, resp, err := websocket.Dial(ctx, p.URL+path, options)
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(64 << 20)
	p.T.Cleanup(func() { _ = conn.CloseNow() })
	return &clientSocket{t: p.T, Ctx: ctx, Conn: conn}, resp, nil
}

// clientSocket is the client side of a WebSocket.
type clientSocket struct {
	t    *testing.T
	Ctx  context.Context
	Conn *websocket.Conn
}

// Say sends a text.
func (c *clientSocket) Say(text string) {
	c.t.Helper()
	if err := c.Conn.Write(c.Ctx, websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// Read returns the next message.
func (c *clientSocket) Read() (kind websocket.MessageType, text string, err error) {
	kind, b, err := c.Conn.Read(c.Ctx)
	return kind, string(b), err
}

// Hear fails the test unless the next message is the text want.
func (c *clientSocket) Hear(want string) {
	c.t.Helper()
	c.HearAs(websocket.MessageText, want)
}

// HearAs fails the test unless the next message is want and has the given kind.
func (c *clientSocket) HearAs(kind websocket.MessageType, want string) {
	c.t.Helper()
	got, text, err := c.Read()
	if err != nil {
		c.t.Fatalf("got %v, want %q", err, want)
	}
	if got != kind || text != want {
		c.t.Errorf("got %v %q, want %v %q", got, text, kind, want)
	}
}

// Ends fails the test unless the connection is closed next, with the code and the reason.
func (c *clientSocket) Ends(code websocket.StatusCode, reason string) {
	c.t.Helper()
	_, b, err := c.Conn.Read(c.Ctx)
	var closed websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != code || closed.Reason != reason {
		c.t.Errorf("got %q, %v, want a close with %d %q", b, err, code, reason)
	}
}

// Next returns the next message.
func (c *clientSocket) Next() string {
	c.t.Helper()
	_, b, err := c.Conn.Read(c.Ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}
