package websocket

import (
	"bufio"
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

// protocolError is a protocol error by a client, in the form in which a close frame reports it.
type protocolError struct {
	code   ws.StatusCode
	reason string
}

func (e *protocolError) Error() string { return e.reason }

var (
	errTooLarge = &protocolError{ws.StatusMessageTooBig, ""}
	errNotUTF8  = &protocolError{ws.StatusInvalidFramePayloadData, "a text message is not valid UTF-8"}
	errEnded    = errors.New("the client sent a close")
)

// nextData reads up to the payload of the next data frame. It answers the control frames before it.
func (t *Dialogue) nextData() (ws.Header, error) {
	for {
		h, err := ws.ReadHeaderBuffer(t.in, t.head[:])
		switch {
		case err == ws.ErrHeaderLengthMSB:
			return h, errTooLarge
		case err != nil:
			return h, err
		}
		if err := ws.CheckHeader(h, t.state); err != nil {
			return h, &protocolError{ws.StatusProtocolError, err.Error()}
		}
		if !h.OpCode.IsControl() {
			t.state = t.state.Clear(ws.StateFragmented)
			if !h.Fin {
				t.state = t.state.Set(ws.StateFragmented)
			}
			return h, nil
		}
		if err := t.control(h); err != nil {
			return h, err
		}
	}
}

// control answers a control frame whose head was read.
func (t *Dialogue) control(h ws.Header) error {
	payload, err := t.in.Peek(int(h.Length))
	if err != nil {
		return err
	}
	ws.Cipher(payload, h.Mask, 0)
	switch {
	case h.OpCode == ws.OpClose:
		return t.hearClose(payload)
	case h.OpCode == ws.OpPing && !t.closing:
		t.write(ws.OpPong, payload)
	}
	_, err = t.in.Discard(len(payload))
	return err
}

// noCode stands for the code of a close frame that has none. It is never sent.
const noCode = int(ws.StatusNoStatusRcvd)

// hearClose answers the client's close frame with the code of that frame, if it has one.
func (t *Dialogue) hearClose(payload []byte) error {
	code := noCode
	if len(payload) > 0 {
		if len(payload) == 1 {
			return &protocolError{ws.StatusProtocolError, "a close of one byte"}
		}
		code = int(binary.BigEndian.Uint16(payload))
		switch {
		case 1000 <= code && code <= 1003, 1007 <= code && code <= 1014, 3000 <= code && code <= 4999:
		default:
			return &protocolError{ws.StatusProtocolError, "invalid close code"}
		}
		if !utf8.Valid(payload[2:]) {
			return &protocolError{ws.StatusProtocolError, ws.ErrProtocolInvalidUTF8.Error()}
		}
	}
	t.close(code, nil)
	return errEnded
}

// readMessage reads the message whose first head is h into b. A text that is not UTF-8 is refused
// as soon as that is known.
func (t *Dialogue) readMessage(h ws.Header, b *buffer) error {
	b.bytes = b.bytes[:0]
	text, checked := h.OpCode == ws.OpText, 0
	for {
		if h.Length > int64(t.socket.limit-len(b.bytes)) {
			return errTooLarge
		}
		for begin, end := len(b.bytes), len(b.bytes)+int(h.Length); len(b.bytes) < end; {
			m := b.bytes
			if len(m) == cap(m) {
				m = append(m, 0)[:len(m)]
			}
			n, err := t.in.Read(m[len(m):min(cap(m), end)])
			if err != nil {
				return err
			}
			b.bytes = m[:len(m)+n]
			ws.Cipher(b.bytes[len(m):], h.Mask, len(m)-begin)
			if text {
				if checked = checkText(b.bytes, checked, false); checked < 0 {
					return errNotUTF8
				}
			}
		}
		if h.Fin {
			if text && checkText(b.bytes, checked, true) < 0 {
				return errNotUTF8
			}
			return nil
		}
		var err error
		if h, err = t.nextData(); err != nil {
			return err
		}
	}
}

// checkText continues to check the text in b for UTF-8 from an offset, and returns how far it got:
// to the end, or to an incomplete character. A negative result means that the text is not UTF-8.
func checkText(b []byte, from int, whole bool) int {
	end := len(b)
	for i := 1; i < utf8.UTFMax && i <= end-from && !whole; i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				end = len(b) - i
			}
			break
		}
	}
	if !utf8.Valid(b[from:end]) {
		return -1
	}
	return end
}

// write sends a frame, which is a whole message.
func (t *Dialogue) write(opcode ws.OpCode, payload []byte) {
	w, ok := t.writers.Get().(*bufio.Writer)
	if !ok {
		w = bufio.NewWriterSize(nil, writeBuffer)
	}
	w.Reset(t.conn)
	_ = ws.WriteHeaderBuffer(w, ws.Header{Fin: true, OpCode: opcode, Length: int64(len(payload))}, t.sentHead[:])
	_, _ = w.Write(payload)
	if err := w.Flush(); err != nil { // returns the error of any of the three writes
		t.failed = err
	}
	w.Reset(nil)
	t.writers.Put(w)
}

// writeClose sends a close frame.
func (t *Dialogue) writeClose(code int, reason []byte) {
	var payload []byte
	if code != noCode {
		payload = append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)
	}
	t.write(ws.OpClose, payload)
}
