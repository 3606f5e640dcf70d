package outbox

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"time"
)

// The log is a sequence of records:
//
//	marker (8 bytes) · length of the body (4) · CRC-32C of the body (4) · CRC-32C of these 16 bytes (4) · body
//
// in little-endian order. The body begins with its kind, 1 byte. A record of kind accepted contains
// an entry; a record of kind done contains the ID of an entry that is no longer pending. An ID or a
// time has 8 bytes; the depth is a uvarint, and a zero follows it. The webhook is its length as a
// uvarint, followed by its bytes. The parts are the rest of the body.
const (
	markerSize = 8
	headSize   = markerSize + 12
	accepted   = 1
	done       = 2
)

// Entry is a delivery as stored in the outbox.
type Entry struct {
	ID      uint64 // set by Store
	Due     time.Time
	Depth   int
	Webhook []byte // data that the deliveries of one webhook have in common
	Parts   []byte // data of this delivery only
}

// marker is the beginning of each record of a file. It is also part of the file's name, which is
// never sent to anyone. It is random, so that data from a client or a target cannot be mistaken for
// a record when records are searched for after damage.
type marker []byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendEntry appends a record of kind accepted.
func appendEntry(to []byte, m marker, e *Entry) []byte {
	start := len(to)
	to = append(to, make([]byte, headSize)...)
	to = append(to, accepted)
	to = binary.LittleEndian.AppendUint64(to, e.ID)
	to = binary.LittleEndian.AppendUint64(to, uint64(e.Due.UnixNano()))
	to = binary.AppendUvarint(to, uint64(e.Depth))
	to = append(to, 0)
	to = AppendText(to, e.Webhook)
	to = append(to, e.Parts...)
	return m.seal(to, start)
}

// appendDone appends a record of kind done.
func appendDone(to []byte, m marker, id uint64) []byte {
	start := len(to)
	to = append(to, make([]byte, headSize)...)
	to = append(to, done)
	to = binary.LittleEndian.AppendUint64(to, id)
	return m.seal(to, start)
}

// seal writes the head of the record that begins at start.
func (m marker) seal(to []byte, start int) []byte {
	head, body := to[start:start+headSize], to[start+headSize:]
	copy(head, m)
	binary.LittleEndian.PutUint32(head[markerSize:], uint32(len(body)))
	binary.LittleEndian.PutUint32(head[markerSize+4:], crc32.Checksum(body, castagnoli))
	binary.LittleEndian.PutUint32(head[markerSize+8:], crc32.Checksum(head[:markerSize+8], castagnoli))
	return to
}

// cutRecord returns the body of the first record of a log, and the bytes after the record; ok is
// false if the log does not begin with a complete and valid record.
func (m marker) cutRecord(log []byte) (body, rest []byte, ok bool) {
	n, ok := m.bodySize(log)
	if !ok || n > len(log)-headSize {
		return nil, log, false
	}
	body, rest = log[headSize:headSize+n], log[headSize+n:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(log[markerSize+4:]) {
		return nil, log, false
	}
	return body, rest, true
}

// bodySize returns the length of the body of the first record of a log according to its head, which
// may be more than the log contains; ok is false if the log does not begin with a valid head.
func (m marker) bodySize(log []byte) (n int, ok bool) {
	if len(log) < headSize || !bytes.HasPrefix(log, m) ||
		crc32.Checksum(log[:markerSize+8], castagnoli) != binary.LittleEndian.Uint32(log[markerSize+8:]) {
		return 0, false
	}
	length := binary.LittleEndian.Uint32(log[markerSize:])
	return int(length), 0 < length && length <= maxRecord
}

// readRecord decodes the body of a record. For a record of kind done it returns only the ID. The
// texts are slices of the body.
func readRecord(body []byte) (kind byte, e Entry, err error) {
	f := Fields{rest: body}
	kind = f.Byte()
	e.ID = f.Uint64()
	if kind == accepted {
		e.Due = time.Unix(0, int64(f.Uint64()))
		e.Depth = int(f.Uvarint() & 0xFF)
		f.Uvarint()
		e.Webhook = f.Text()
		e.Parts, f.rest = f.rest, nil
	}
	if f.Err() != nil || kind != accepted && kind != done {
		return 0, Entry{}, ErrRecord
	}
	return kind, e, nil
}
