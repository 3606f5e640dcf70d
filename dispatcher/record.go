package dispatcher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"time"
)

// The outbox is a log of records:
//
//	marker (8 bytes) · length of the body (4) · CRC-32C of the body (4) · CRC-32C of these 16 bytes (4) · body
//
// in little-endian order. The body begins with its kind, 1 byte. A record of kind
// accepted holds a delivery, one of kind done the number of a delivery that needs no
// further attempt. Numbers are 8 bytes, texts a uvarint length and their bytes.
//
// A file without a marker is of an older version: a head is the length and the
// checksum of the body.
const (
	markerSize = 8
	accepted   = 1
	done       = 2
	maxRecord  = 1 << 30
)

// marker begins each record of a file, and is known from the name of the file, which
// nobody is sent. It is random, so that nothing that a client or a target says can be
// taken for a record when records are looked for behind damage. It is empty in files
// of older versions.
type marker []byte

// head is the length of the head of a record.
func (m marker) head() int {
	if len(m) == 0 {
		return 8
	}
	return markerSize + 12
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stored is a delivery as the outbox holds it.
type stored struct {
	id      uint64
	due     time.Time
	depth   int
	attempt int
	webhook []byte // see appendWebhook
	parts   []byte // of Delivery
}

// appendStored appends a record of kind accepted.
func appendStored(to []byte, m marker, s *stored) []byte {
	start := len(to)
	to = append(to, make([]byte, m.head())...)
	to = append(to, accepted)
	to = binary.LittleEndian.AppendUint64(to, s.id)
	to = binary.LittleEndian.AppendUint64(to, uint64(s.due.UnixNano()))
	to = binary.AppendUvarint(to, uint64(s.depth))
	to = binary.AppendUvarint(to, uint64(s.attempt))
	to = appendText(to, s.webhook)
	to = append(to, s.parts...)
	return m.seal(to, start)
}

// appendDone appends a record of kind done.
func appendDone(to []byte, m marker, id uint64) []byte {
	start := len(to)
	to = append(to, make([]byte, m.head())...)
	to = append(to, done)
	to = binary.LittleEndian.AppendUint64(to, id)
	return m.seal(to, start)
}

// seal writes the head of the record that begins at start.
func (m marker) seal(to []byte, start int) []byte {
	head, body := to[start:start+m.head()], to[start+m.head():]
	size := copy(head, m)
	binary.LittleEndian.PutUint32(head[size:], uint32(len(body)))
	binary.LittleEndian.PutUint32(head[size+4:], crc32.Checksum(body, castagnoli))
	if size > 0 {
		binary.LittleEndian.PutUint32(head[size+8:], crc32.Checksum(head[:size+8], castagnoli))
	}
	return to
}

// cutRecord returns the body of the first record of a log, and what follows it; not
// ok when no whole and sound record stands there.
func (m marker) cutRecord(log []byte) (body, rest []byte, ok bool) {
	n, ok := m.bodySize(log)
	if !ok {
		return nil, log, false
	}
	body, rest = log[m.head():m.head()+n], log[m.head()+n:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(log[len(m)+4:]) {
		return nil, log, false
	}
	return body, rest, true
}

// bodySize returns the length of the body of the first record of a log; not ok when
// no whole record can stand there.
func (m marker) bodySize(log []byte) (n int, ok bool) {
	n, ok = m.saidSize(log)
	return n, ok && n <= len(log)-m.head()
}

// saidSize is the length of the body of the first record of a log as its head says,
// which may be more than there is; not ok when no sound head stands there.
func (m marker) saidSize(log []byte) (n int, ok bool) {
	size := len(m)
	if len(log) < m.head() || !bytes.HasPrefix(log, m) {
		return 0, false
	}
	if size > 0 && crc32.Checksum(log[:size+8], castagnoli) != binary.LittleEndian.Uint32(log[size+8:]) {
		return 0, false
	}
	said := binary.LittleEndian.Uint32(log[size:])
	return int(said), 0 < said && said <= maxRecord
}

var errRecord = errors.New("a record of the webhook store does not hold what it should")

// readRecord reads the body of a record. Of a done one only the id is given; the
// texts are parts of the body.
func readRecord(body []byte) (kind byte, s stored, err error) {
	r := recordReader{rest: body}
	kind = r.byte()
	s.id = r.uint64()
	if kind == accepted {
		s.due = time.Unix(0, int64(r.uint64()))
		s.depth = int(r.uvarint() & 0xFF)
		s.attempt = int(r.uvarint() & 0xFFFF)
		s.webhook = r.text()
		s.parts, r.rest = r.rest, nil
	}
	if r.bad || len(r.rest) > 0 || kind != accepted && kind != done {
		return 0, stored{}, errRecord
	}
	return kind, s, nil
}

// recordReader reads the fields of a record. A field that is not there is zero, and
// makes it bad.
type recordReader struct {
	rest []byte
	bad  bool
}

func (r *recordReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

func (r *recordReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *recordReader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *recordReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *recordReader) text() []byte {
	n := r.uvarint()
	if n > maxRecord {
		r.bad = true
		return nil
	}
	return r.take(int(n))
}

func appendText[T string | []byte](to []byte, text T) []byte {
	to = binary.AppendUvarint(to, uint64(len(text)))
	return append(to, text...)
}

// webhookNumbers is the room that the numbers of a webhook take at most.
const webhookNumbers = 9 * binary.MaxVarintLen64

// appendWebhook appends all there is to know of a webhook, so that its deliveries
// can be sent when the configuration no longer has it.
func appendWebhook(to []byte, w *Webhook) []byte {
	to = slices.Grow(to, webhookNumbers+len(w.Name)+len(w.Method)+len(w.URL)+len(w.Header)+len(w.Body))
	for _, text := range []string{w.Name, w.Method, w.URL} {
		to = appendText(to, text)
	}
	to = appendText(to, w.Header)
	to = appendText(to, w.Body)
	for _, n := range []int64{int64(w.Timeout), int64(w.Retry.Attempts), int64(w.Retry.Backoff), int64(w.Retry.MaxBackoff)} {
		to = binary.AppendUvarint(to, uint64(max(n, 0)))
	}
	if w.Sign != nil {
		for _, text := range []string{w.Sign.Secret, w.Sign.Header, w.Sign.Scheme} {
			to = appendText(to, text)
		}
	}
	return to
}

// readWebhook reads what appendWebhook wrote. It keeps nothing of from.
func readWebhook(from []byte) (*Webhook, error) {
	r := recordReader{rest: append([]byte{}, from...)}
	w := &Webhook{Name: string(r.text()), Method: string(r.text()), URL: string(r.text())}
	w.Header, w.Body = r.text(), r.text()
	w.Timeout = time.Duration(r.uvarint())
	w.Retry = Retry{Attempts: int(r.uvarint() & 0xFFFF), Backoff: time.Duration(r.uvarint()), MaxBackoff: time.Duration(r.uvarint())}
	if len(r.rest) > 0 {
		w.Sign = &Signature{Secret: string(r.text()), Header: string(r.text()), Scheme: string(r.text())}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errRecord
	}
	return w, nil
}
