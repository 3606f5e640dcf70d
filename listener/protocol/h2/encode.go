package h2

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"mockserver/internal/ascii"
)

// The encoding of what is sent. Header blocks do not use the dynamic table, so if a response is the
// same for every request, its block is also the same on every connection: see AppendStatus.

func appendFrame(b []byte, length int, kind http2.FrameType, flags http2.Flags, stream uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(b, stream)
}

func appendReset(b []byte, stream uint32, code http2.ErrCode) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, http2.FrameRSTStream, 0, stream), uint32(code))
}

func appendWindowUpdate(b []byte, stream uint32, n int) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, http2.FrameWindowUpdate, 0, stream), uint32(n))
}

func appendPing(b []byte, flags http2.Flags, data [8]byte) []byte {
	return append(appendFrame(b, len(data), http2.FramePing, flags, 0), data[:]...)
}

func appendGoAway(b []byte, last uint32, code http2.ErrCode) []byte {
	b = binary.BigEndian.AppendUint32(appendFrame(b, 8, http2.FrameGoAway, 0, 0), last)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

func appendSettings(b []byte, settings ...http2.Setting) []byte {
	b = appendFrame(b, 6*len(settings), http2.FrameSettings, 0, 0)
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, uint16(s.ID))
		b = binary.BigEndian.AppendUint32(b, s.Val)
	}
	return b
}

// appendHeaders appends a header block, in as many frames as it needs.
func appendHeaders(b []byte, stream uint32, block []byte, end bool) []byte {
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if end {
		flags = http2.FlagHeadersEndStream
	}
	for {
		part := block[:min(len(block), maxFrame)]
		if block = block[len(part):]; len(block) == 0 {
			flags |= http2.FlagHeadersEndHeaders
		}
		b = append(appendFrame(b, len(part), kind, flags, stream), part...)
		if len(block) == 0 {
			return b
		}
		kind, flags = http2.FrameContinuation, 0
	}
}

// statuses are those of the static table, RFC 7541 appendix A, beginning with entry 8.
var statuses = [...]int{200, 204, 206, 304, 400, 404, 500}

// AppendStatus begins the header block of a response.
func AppendStatus(b []byte, status int) []byte {
	if i := slices.Index(statuses[:], status); i >= 0 {
		return append(b, 0x80|byte(8+i))
	}
	var room [20]byte
	return appendBytes(append(b, 8), strconv.AppendInt(room[:0], int64(status), 10)) // :status, not indexed
}

// AppendField adds a field to a header block. It leaves out connection-specific fields, which
// HTTP/2 does not have.
func AppendField(b []byte, name, value string) []byte {
	var room [64]byte
	lower := ascii.AppendLower(room[:0], []byte(name))
	if isOfConnection(string(lower)) {
		return b
	}
	if i := indexes[string(lower)]; i > 0 {
		b = appendInteger(b, 0, 4, i)
	} else {
		b = appendBytes(append(b, 0), lower)
	}
	return appendString(b, strings.Trim(value, " \t")) // HTTP/2 does not allow white space there
}

// AppendLength adds the Content-Length.
func AppendLength(b []byte, n int) []byte {
	var room [20]byte
	return appendBytes(append(b, 0x0f, 28-15), strconv.AppendInt(room[:0], int64(n), 10))
}

// AppendDate adds the Date.
func AppendDate(b, date []byte) []byte {
	return appendBytes(append(b, 0x0f, 33-15), date)
}

// isOfConnection reports whether a field name, in lower case, is specific to an HTTP/1.1
// connection, RFC 9113 section 8.2.2.
func isOfConnection(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

func appendString(b []byte, s string) []byte { return append(appendInteger(b, 0, 7, len(s)), s...) }
func appendBytes(b, s []byte) []byte         { return append(appendInteger(b, 0, 7, len(s)), s...) }

// appendInteger appends an integer with a prefix of the given number of bits, RFC 7541 section 5.1.
func appendInteger(b []byte, first byte, bits, n int) []byte {
	most := 1<<bits - 1
	if n < most {
		return append(b, first|byte(n))
	}
	b = append(b, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		b = append(b, 0x80|byte(n))
	}
	return append(b, byte(n))
}

// indexes maps the names of fields to their index in the static table.
var indexes = staticNames()

func staticNames() map[string]int {
	names := map[string]int{}
	table := hpack.NewDecoder(0, nil)
	for i := 1; i <= staticSize; i++ {
		fields, err := table.DecodeFull(appendInteger(nil, 0x80, 7, i))
		if err == nil && len(fields) == 1 && names[fields[0].Name] == 0 {
			names[fields[0].Name] = i
		}
	}
	return names
}

// staticSize is the number of entries of the static table, RFC 7541 appendix A.
const staticSize = 61
