package stream

import (
	"encoding/binary"
	"math/bits"
	"time"

	"mockserver/dispatcher/outbox"
)

// A log has two kinds of messages. Numbers are little-endian or uvarints; a text is its length
// followed by its bytes.
//
//	records: kind (1 byte) · key (8) · webhooks: count, texts · entries: count, each: due (8) · depth · number of its webhook · parts
//	notes:   kind (1 byte) · for each batch: key (8) · open entries (8)
//
// The ID of an entry is the key of its batch times batchSize, plus its position in the batch.
const (
	kindRecords = 1
	kindNotes   = 2
	batchSize   = 64
	batchBits   = 6
)

// everything returns the bits of all entries of a batch of n entries.
func everything(n int) uint64 { return ^uint64(0) >> (batchSize - n) }

// appendRecords appends the message of a batch. Equal webhooks are written once.
func appendRecords(to []byte, key uint64, entries []*outbox.Entry) []byte {
	numbers := map[string]uint64{}
	var webhooks []byte
	for _, e := range entries {
		if _, ok := numbers[string(e.Webhook)]; !ok {
			numbers[string(e.Webhook)] = uint64(len(numbers))
			webhooks = outbox.AppendText(webhooks, e.Webhook)
		}
	}
	to = append(to, kindRecords)
	to = binary.LittleEndian.AppendUint64(to, key)
	to = binary.AppendUvarint(to, uint64(len(numbers)))
	to = append(to, webhooks...)
	to = binary.AppendUvarint(to, uint64(len(entries)))
	for _, e := range entries {
		to = binary.LittleEndian.AppendUint64(to, uint64(e.Due.UnixNano()))
		to = binary.AppendUvarint(to, uint64(e.Depth))
		to = binary.AppendUvarint(to, numbers[string(e.Webhook)])
		to = outbox.AppendText(to, e.Parts)
	}
	return to
}

// readRecords decodes the message of a batch. The texts are slices of it.
func readRecords(from []byte) (key uint64, entries []outbox.Entry, err error) {
	f := outbox.NewFields(from)
	kind := f.Byte()
	key = f.Uint64()
	n := f.Uvarint()
	if kind != kindRecords || n > batchSize || key > ^uint64(0)>>batchBits {
		return 0, nil, outbox.ErrRecord
	}
	webhooks := make([][]byte, n)
	for i := range webhooks {
		webhooks[i] = f.Text()
	}
	if n = f.Uvarint(); n == 0 || n > batchSize {
		return 0, nil, outbox.ErrRecord
	}
	entries = make([]outbox.Entry, n)
	for i := range entries {
		e := &entries[i]
		e.ID = key<<batchBits | uint64(i)
		e.Due = time.Unix(0, int64(f.Uint64()))
		e.Depth = int(f.Uvarint() & 0xFF)
		w := f.Uvarint()
		if w >= uint64(len(webhooks)) {
			return 0, nil, outbox.ErrRecord
		}
		e.Webhook, e.Parts = webhooks[w], f.Text()
	}
	return key, entries, f.Err()
}

// note says which entries of a batch are open.
type note struct{ key, open uint64 }

// maxNotes is the maximum number of notes in a message, and noteSize the size of each in bytes.
const (
	maxNotes = 1 << 14
	noteSize = 16
)

// appendNotes appends a message of notes.
func appendNotes(to []byte, notes []note) []byte {
	to = append(to, kindNotes)
	for _, n := range notes {
		to = binary.LittleEndian.AppendUint64(to, n.key)
		to = binary.LittleEndian.AppendUint64(to, n.open)
	}
	return to
}

// readNotes adds the notes of a message to open. Entries that are done stay done.
func readNotes(from []byte, open map[uint64]uint64) error {
	f := outbox.NewFields(from)
	if f.Byte() != kindNotes {
		return outbox.ErrRecord
	}
	for f.More() {
		key, mask := f.Uint64(), f.Uint64()
		if before, ok := open[key]; ok {
			mask &= before
		}
		open[key] = mask
	}
	return f.Err()
}

// pick returns the entries whose bit is set.
func pick(entries []outbox.Entry, open uint64) []outbox.Entry {
	out := make([]outbox.Entry, 0, bits.OnesCount64(open))
	for i := range entries {
		if open&(1<<i) != 0 {
			out = append(out, entries[i])
		}
	}
	return out
}
