package outbox

import "bytes"

// loss is what cannot be read of a file.
type loss struct {
	offset  int // of the first unreadable byte
	bytes   int
	records int // at least
	places  int
}

// add adds a part of a file in which no record can be read. A record begins there, and
// others where their markers stand.
func (l *loss) add(m marker, offset int, part []byte) {
	if l.bytes == 0 {
		l.offset = offset
	}
	l.bytes += len(part)
	l.places++
	l.records += 1 + bytes.Count(part[1:], m)
}

// scan takes the records of a file one after another. After damage it goes on with the next
// record that can be read, where a marker stands. It returns how much of
// the file was read, up to the end of the last record, and what was skipped.
//
// Each byte is summed at most twice: what begins with a marker and a sound head is as long
// as the head says.
func (m marker) scan(log []byte, take func(kind byte, e Entry)) (end int, skipped loss) {
	for at := 0; ; {
		kind, e, size := m.readAt(log[at:])
		if size > 0 {
			if at > end {
				skipped.add(m, end, log[end:at])
			}
			take(kind, e)
			at += size
			end = at
			continue
		}
		if at == len(log) {
			return end, skipped
		}
		next := bytes.Index(log[at+1:], m)
		if next < 0 {
			return end, skipped
		}
		at += 1 + next
	}
}

// readAt reads the first record of a log, and returns its size, head included; 0 if the log
// does not begin with a sound one.
func (m marker) readAt(log []byte) (kind byte, e Entry, size int) {
	body, rest, ok := m.cutRecord(log)
	if !ok {
		return 0, Entry{}, 0
	}
	kind, e, err := readRecord(body)
	if err != nil {
		return 0, Entry{}, 0
	}
	return kind, e, len(log) - len(rest)
}

// isTorn reports whether the end of a log, in which no record can be read, looks like what a
// crash leaves of one: its beginning, or the zeros of a file whose length was written before
// its content. Anything else is treated as damage, which loses nothing.
func (m marker) isTorn(end []byte) bool {
	if len(end) < headSize {
		return bytes.HasPrefix(end, m) || bytes.HasPrefix(m, end) || isZero(end)
	}
	n, ok := m.bodySize(end)
	return ok && n > len(end)-headSize || isZero(end)
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
