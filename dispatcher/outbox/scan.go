package outbox

import "bytes"

// loss describes the parts of a file that cannot be read.
type loss struct {
	offset  int // offset of the first unreadable byte
	bytes   int
	records int // minimum number of records
	places  int
}

// add adds a part of a file in which no record can be read. It counts one record at the beginning
// of the part, and one for each further marker.
func (l *loss) add(m marker, offset int, part []byte) {
	if l.bytes == 0 {
		l.offset = offset
	}
	l.bytes += len(part)
	l.places++
	l.records += 1 + bytes.Count(part[1:], m)
}

// scan calls take for each record of a file. After damage it searches for the next marker at which
// a record can be read. It returns how much of the file was read, up to the end of the last record,
// and what was skipped.
//
// The checksum of each byte is computed at most twice: a record with a marker and a valid head is
// as long as the head states.
func (m marker) scan(log []byte, take func(kind byte, e Entry)) (end int, skipped loss) {
	for at := 0; ; {
		body, rest, ok := m.cutRecord(log[at:])
		if kind, e, err := readRecord(body); ok && err == nil {
			if at > end {
				skipped.add(m, end, log[end:at])
			}
			take(kind, e)
			at = len(log) - len(rest)
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

// isTorn reports whether the end of a log, in which no record can be read, looks like the remains
// of a record after a crash: its beginning, or zeros, if the length of the file was written before
// its content. Anything else is treated as damage, so nothing is lost.
func (m marker) isTorn(end []byte) bool {
	if len(end) < headSize {
		return bytes.HasPrefix(end, m) || bytes.HasPrefix(m, end) || isZero(end)
	}
	n, ok := m.bodySize(end)
	return ok && n > len(end)-headSize || isZero(end)
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
