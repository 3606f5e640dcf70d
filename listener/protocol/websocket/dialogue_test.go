package websocket

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/matcher"
)

// piped is a connection without a preceding HTTP request.
type piped struct{ net.Conn }

func (piped) ReadHeld([]byte) int { return 0 }
func (piped) IsEnding() bool      { return false }
func (piped) Discard()            {}
func (p piped) CloseNow() error   { return p.Close() }

// A message that falls due while the head of a frame is read does not damage that head.
func TestDialogue_SendsInsideAHead(t *testing.T) {
	spec := config.Parse("mock.yml", []byte("- websocket: {path: /, on-message: [{pattern: '.*', response: '{{message}}'}], send: [{every: 1s, response: tick}]}"))
	c := Compiler{Seed: func(*item.Endpoint) *Seed { return nil }}
	table, problems := c.Compile(spec.WebSockets)
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		r := matcher.Acquire(matcher.Input{})
		defer matcher.Release(r)
		d := &Dialogues{MaxText: 1 << 20}
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.New(&table.sockets[0], r, 0).Run(piped{server}, server)
		}()
		payload := bytes.Repeat([]byte{'x'}, 200)
		sent := append([]byte{0x81, 0x80 | 126, 0, 200, 0, 0, 0, 0}, payload...) // the mask is zero
		for _, step := range []struct{ sent, want string }{
			{string(sent[:3]), "\x81\x04tick"}, {string(sent[3:6]), "\x81\x04tick"}, {string(sent[6:]), "\x81\x7e\x00\xc8" + string(payload)},
		} {
			if _, err := io.WriteString(client, step.sent); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(step.want))
			if _, err := io.ReadFull(client, got); err != nil || string(got) != step.want {
				t.Fatalf("got %q, %v, want %q", got, err, step.want)
			}
		}
		if d.Open() != 1 {
			t.Errorf("%d dialogues are open, want 1", d.Open())
		}
		_ = client.Close()
		<-done
		if d.Open() != 0 {
			t.Errorf("%d dialogues are open after the end", d.Open())
		}
	})
}
