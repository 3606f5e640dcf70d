package upstream

import (
	"bytes"
	"slices"

	"mockserver/internal/events"
	"mockserver/internal/http1"
)

// maxInterim limits the number of 1xx answers before the final one.
const maxInterim = 16

// readHead reads the head of the final answer.
func (x *Exchange) readHead(method []byte) error {
	for range maxInterim {
		size, err := x.findHead()
		if err != nil {
			return err
		}
		if err := x.parseHead(x.in[x.r : x.r+size]); err != nil {
			return err
		}
		x.r += size
		switch {
		case x.Status == 101:
			return errSwitch
		case x.Status >= 200:
			x.body.Begin(&x.head, string(method) == "HEAD")
			x.closes = x.head.Closes
			if x.Length = x.head.Length; x.Status == 204 {
				x.Length = -1
			}
			x.Streamed = !x.body.Over() && (x.Framing != events.None || x.Length < 0)
			return nil
		}
	}
	return errInterim
}

// findHead reads until a head is complete and returns its size.
func (x *Exchange) findHead() (size int, err error) {
	for searched := 0; ; {
		if size, err = http1.HeadSize(x.in[x.r:], searched); size > 0 || err != nil {
			return size, err
		}
		searched = len(x.in) - x.r
		n, err := x.readConn(x.room())
		if x.in = x.in[:len(x.in)+n]; n == 0 {
			return 0, unexpected(err)
		}
	}
}

// room returns the space after what was received. If it is too small, it becomes larger; the old
// buffer keeps its content for slices that refer to it.
func (x *Exchange) room() []byte {
	x.in = slices.Grow(x.in, 1)
	return x.in[len(x.in):cap(x.in)]
}

// parseHead parses a head.
func (x *Exchange) parseHead(head []byte) error {
	x.Fields, x.named, x.Framing, x.coded = x.Fields[:0], x.named[:0], events.None, false
	err := x.head.Read(head, func(name, value []byte) {
		switch {
		case http1.IsName(name, "connection"):
			x.named = http1.AppendNames(x.named, value)
		case isConnection(name) && !http1.IsName(name, "host") && !http1.IsName(name, "expect"):
		default:
			if http1.IsName(name, "content-type") {
				x.Framing = events.FramingOf(value)
			}
			x.coded = x.coded || http1.IsName(name, "content-encoding")
			x.Fields = append(x.Fields, Field{name, value})
		}
	})
	if x.Status, x.Reason = x.head.Status, x.head.Reason; len(x.named) > 0 {
		x.Fields = slices.DeleteFunc(x.Fields, func(f Field) bool { return isNamed(f.Name, x.named) })
	}
	return err
}

// Field is a header of an answer. It is valid until the exchange is closed.
type Field struct{ Name, Value []byte }

// isConnection reports whether a header concerns only one connection, or is written by the proxy.
func isConnection(name []byte) bool {
	switch len(name) {
	case 2:
		return http1.IsName(name, "te")
	case 4:
		return http1.IsName(name, "host")
	case 6:
		return http1.IsName(name, "expect")
	case 7:
		return http1.IsName(name, "trailer") || http1.IsName(name, "upgrade")
	case 10:
		return http1.IsName(name, "connection") || http1.IsName(name, "keep-alive")
	case 14:
		return http1.IsName(name, "content-length") || http1.IsName(name, "http2-settings")
	case 16:
		return http1.IsName(name, "proxy-connection")
	case 17:
		return http1.IsName(name, "transfer-encoding")
	}
	return false
}

// IsHopByHop reports whether a header concerns only one connection, or is written again for each
// connection. named contains the names in the Connection headers.
func IsHopByHop(name []byte, named [][]byte) bool {
	return isConnection(name) || isNamed(name, named)
}

func isNamed(name []byte, all [][]byte) bool {
	return slices.ContainsFunc(all, func(one []byte) bool { return bytes.EqualFold(name, one) })
}
