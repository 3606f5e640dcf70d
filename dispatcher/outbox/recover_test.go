package outbox

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness/volume"
)

// logOf writes a store with the given texts and returns its only file.
func logOf(t *testing.T, names ...string) (f *logFile, log []byte) {
	t.Helper()
	o, _, _ := openedStore(t, t.TempDir())
	for i, name := range names {
		put(t, o, name, int64(i))
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := o.list()
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	if log, err = os.ReadFile(o.path(files[0])); err != nil {
		t.Fatal(err)
	}
	return files[0], log
}

// storeOf returns a store directory with one file.
func storeOf(t *testing.T, f *logFile, log []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, f.name()), log, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// reopened opens a store and closes it again.
func reopened(t *testing.T, dir string) (pending []Entry, lost int64, said string) {
	t.Helper()
	o, pending, said := openedStore(t, dir)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	return pending, o.Lost, said
}

// endsOf returns the ends of the records of a log.
func endsOf(t testing.TB, m marker, log []byte) (ends []int) {
	t.Helper()
	for at := 0; at < len(log); {
		_, rest, ok := m.cutRecord(log[at:])
		if !ok {
			t.Fatalf("no record is at %d", at)
		}
		at = len(log) - len(rest)
		ends = append(ends, at)
	}
	return ends
}

// After a crash the file contains a prefix of the written data, of any length, perhaps followed by
// zeros. Complete records are found, and an incomplete one is not damage.
func TestOutbox_CutAnywhere(t *testing.T) {
	f, whole := logOf(t, "a", "b", "c")
	ends := endsOf(t, f.marker, whole)
	for cut := range len(whole) + 1 {
		want := 0
		for _, end := range ends {
			if end <= cut {
				want++
			}
		}
		dir := storeOf(t, f, whole[:cut])
		pending, lost, said := reopened(t, dir)
		if len(pending) != want || lost != 0 {
			t.Errorf("cut at %d: %d pending, want %d; %d lost", cut, len(pending), want, lost)
		}
		if strings.Contains(said, "damaged") {
			t.Errorf("cut at %d is reported as damage: %s", cut, said)
		}
		if again, _, said := reopened(t, dir); len(again) != want || said != "" {
			t.Errorf("cut at %d, opened again: %d pending, want %d; log %s", cut, len(again), want, said)
		}
	}
	zeros := append(bytes.Clone(whole), make([]byte, 4096)...)
	if pending, lost, said := reopened(t, storeOf(t, f, zeros)); len(pending) != 3 || lost != 0 || !strings.Contains(said, "incomplete record") {
		t.Errorf("with zeros at the end: %d pending, %d lost; log %s", len(pending), lost, said)
	}
}

// A flipped bit loses only the record that contains it. The loss is reported, and nothing is
// deleted.
func TestOutbox_DamageIsSetAside(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	f, whole := logOf(t, names...)
	ends := endsOf(t, f.marker, whole)
	for at := range whole {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x10
		hit, _ := slices.BinarySearch(ends, at+1)
		dir := storeOf(t, f, broken)
		pending, lost, said := reopened(t, dir)
		if want := slices.Delete(slices.Clone(names), hit, hit+1); !slices.Equal(texts(pending), want) || lost != 1 {
			t.Errorf("flip at %d: %v pending, want %v; %d lost", at, texts(pending), want, lost)
		}
		size := ends[0] // size of each record
		if !strings.Contains(said, fmt.Sprintf("offset=%d bytes=%d records=1 places=1", hit*size, size)) || !strings.Contains(said, "set aside") {
			t.Errorf("flip at %d: not reported: %s", at, said)
		}
		kept, err := os.ReadFile(filepath.Join(dir, f.name()+".damaged"))
		if err != nil || !bytes.Equal(kept, broken) {
			t.Errorf("flip at %d: the damaged file is not kept: %v", at, err)
		}
		if again, lost, said := reopened(t, dir); !slices.Equal(texts(again), texts(pending)) || lost != 0 || said != "" {
			t.Errorf("flip at %d: opened again %v, before %v; log %s", at, texts(again), texts(pending), said)
		}
	}
}

// forgeries returns a webhook body that is full of data that looks like records of another file.
func forgeries() string {
	other := marker("\x01another")
	var b []byte
	for i := range 4 {
		forged := Entry{ID: uint64(1000 + i), Due: time.Unix(1, 0), Webhook: []byte("forged"), Parts: []byte("forged")}
		b = append(append(b, other...), "\x00\x00"[:i%3%2+1]...)
		b = appendDone(appendEntry(b, other, &forged), other, 3)
	}
	return string(b)
}

// mixedLog returns a log of 50 records, some of which belong to deliveries whose texts look like
// records.
func mixedLog(m marker) (log []byte) {
	for id := uint64(1); id <= 50; id++ {
		switch s := storedAs(fmt.Sprint("delivery ", id), int64(id)); {
		case id%5 == 0:
			log = appendDone(log, m, id-1)
			continue
		case id%7 == 0:
			s.Parts = []byte(forgeries())
			fallthrough
		default:
			s.ID = id
			log = appendEntry(log, m, &s)
		}
	}
	return log
}

// seen is a record that was read.
type seen struct {
	kind           byte
	id             uint64
	due            int64
	depth          int
	webhook, parts string
}

// scanned returns the records of a log, and the parts of it that cannot be read, including its end.
func scanned(m marker, log []byte) (records []seen, lost loss) {
	end, lost := m.scan(log, func(kind byte, s Entry) {
		records = append(records, seen{kind, s.ID, s.Due.UnixNano(), s.Depth, string(s.Webhook), string(s.Parts)})
	})
	if end < len(log) {
		lost.add(m, end, log[end:])
	}
	return records, lost
}

func TestScan_EveryByteDamaged(t *testing.T) {
	m := marker("\x00marker\xff")
	log := mixedLog(m)
	ends := endsOf(t, m, log)
	all, lost := scanned(m, log)
	if len(all) != 50 || lost != (loss{}) {
		t.Fatalf("%d records of 50, lost %+v", len(all), lost)
	}
	broken := bytes.Clone(log)
	for at, was := range log {
		hit, _ := slices.BinarySearch(ends, at+1)
		begin := append([]int{0}, ends...)[hit]
		for _, is := range []byte{was ^ 1, was ^ 0x80, ^was, 0, 0xFF} {
			if is == was {
				continue
			}
			broken[at] = is
			got, lost := scanned(m, broken)
			if !slices.Equal(got[:min(hit, len(got))], all[:hit]) || !slices.Equal(got[min(hit, len(got)):], all[hit+1:]) {
				t.Fatalf("byte %d set to %#x: %d records, want all but the %dth", at, is, len(got), hit)
			}
			if want := (loss{offset: begin, bytes: ends[hit] - begin, records: 1, places: 1}); lost != want {
				t.Fatalf("byte %d set to %#x: lost %+v, want %+v", at, is, lost, want)
			}
			if m.isTorn(broken[begin:]) {
				t.Fatalf("byte %d set to %#x: damage is reported as a torn end", at, is)
			}
		}
		broken[at] = was
	}
}

// Records are read if they are unaffected by data that is overwritten, removed or inserted.
func TestScan_PartsDamaged(t *testing.T) {
	m := marker("\x00marker\xff")
	log := mixedLog(m)
	ends := append([]int{0}, endsOf(t, m, log)...)
	all, _ := scanned(m, log)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		from := random.IntN(len(log))
		to := from + 1 + random.IntN(min(len(log)-from, 2000))
		var with []byte
		switch random.IntN(4) {
		case 0:
			with = bytes.Repeat([]byte{byte(random.Uint32())}, to-from)
		case 1:
			with = []byte(forgeries())
		case 2:
			with = log[random.IntN(from+1) : from+1] // a part of the log itself
		}
		got, _ := scanned(m, slices.Concat(log[:from], with, log[to:]))
		at := 0
		for i, record := range all {
			if found := slices.Index(got[at:], record); found >= 0 {
				at += found + 1
			} else if ends[i+1] <= from || ends[i] >= to {
				t.Fatalf("%d to %d replaced by %d bytes: the %dth record, at %d to %d, is lost", from, to, len(with), i, ends[i], ends[i+1])
			}
		}
		for _, record := range got {
			if !slices.Contains(all, record) {
				t.Fatalf("%d to %d replaced by %d bytes: %+v was never stored", from, to, len(with), record)
			}
		}
	}
}

// A large incomplete record, full of data that looks like records of half its size each, is skipped
// in one step: computing the checksum of each of them would take days.
func TestScan_TornAndFullOfHeads(t *testing.T) {
	const size = 8 << 20
	heads := bytes.Repeat([]byte{1, 0, 64, 0}, size/4) // the length of 4 MiB, and a kind
	m := marker("\x00marker\xff")
	torn := appendEntry(nil, m, &Entry{ID: 1, Due: time.Unix(1, 0), Parts: heads})
	torn = torn[:len(torn)-1]
	log := append(appendDone(nil, m, 7), torn...)
	if got, lost := scanned(m, log); len(got) != 1 || lost.bytes != len(torn) || !m.isTorn(torn) {
		t.Errorf("%d records, lost %+v, torn %v", len(got), lost, m.isTorn(torn))
	}
	torn[0]++ // damaged in addition
	log = appendDone(append(appendDone(nil, m, 7), torn...), m, 8)
	if got, lost := scanned(m, log); len(got) != 2 || lost.bytes != len(torn) || lost.records != 1 {
		t.Errorf("%d records, lost %+v", len(got), lost)
	}
}

// A file in another format is refused rather than ignored, because its deliveries would be lost.
func TestOutbox_OfAnUnknownVersion(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0000002a.log"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the directory is unlocked in between
		_, _, err := Open(dir, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "0000002a.log was written by an unknown version") {
			t.Errorf("got %v", err)
		}
	}
}

// Complete records of any size are read, wherever the log is cut, and a damaged one does not affect
// other records.
func TestOutbox_LargeRecords(t *testing.T) {
	volume.Only(t)
	sizes := []int{70 << 10, 300 << 10, 3 << 20}
	var names []string
	for i, size := range sizes {
		names = append(names, strings.Repeat(string(rune('a'+i)), size))
	}
	f, whole := logOf(t, names...)
	begins := append([]int{0}, endsOf(t, f.marker, whole)...)
	head := headSize
	for i, size := range sizes {
		for _, in := range []int{0, 3, markerSize, head, head + 20, size / 2, size, begins[i+1] - begins[i] - 1} {
			at := begins[i] + in
			pending, lost, said := reopened(t, storeOf(t, f, whole[:at]))
			if !slices.Equal(texts(pending), names[:i]) || lost != 0 || strings.Contains(said, "damaged") {
				t.Errorf("cut at %d: %d pending, want %d; log %s", at, len(pending), i, said)
			}
			broken := bytes.Clone(whole)
			broken[at] ^= 0x10
			dir := storeOf(t, f, broken)
			pending, lost, said = reopened(t, dir)
			if !slices.Equal(texts(pending), slices.Delete(slices.Clone(names), i, i+1)) || lost != 1 {
				t.Errorf("flip at %d: %d pending, %d lost; log %s", at, len(pending), lost, said)
			}
			if kept, err := os.ReadFile(filepath.Join(dir, f.name()+".damaged")); err != nil || !bytes.Equal(kept, broken) {
				t.Errorf("flip at %d: the damaged file is not kept: %v", at, err)
			}
		}
	}
}

// Files with other names are not part of the log. If two files have the same number, neither is
// lost.
func TestOutbox_NamesOfFiles(t *testing.T) {
	dir := t.TempDir()
	s := storedAs("one", 1)
	s.ID = 1
	for _, name := range []string{"1.log", "00000001.LOG", "00000001-.log", "00000001-0102.log", "0000000g.log", "00000001-0102030405060708.log.damaged", "00000001-010203040506070G.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), appendEntry(nil, marker("12345678"), &s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pending, _, said := reopened(t, dir); len(pending) != 0 || said != "" {
		t.Errorf("pending %v; log %s", texts(pending), said)
	}
	dir = t.TempDir()
	for i, f := range []*logFile{{number: 5, marker: marker("12345677")}, {number: 5, marker: marker("12345678")}, {number: 5, marker: marker("abcdefgh")}} {
		s := storedAs(fmt.Sprint(i), int64(i))
		s.ID = uint64(i)
		if err := os.WriteFile(filepath.Join(dir, f.name()), appendEntry(nil, f.marker, &s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if pending, _, _ := reopened(t, dir); !slices.Equal(texts(pending), []string{"0", "1", "2"}) {
			t.Errorf("pending %v", texts(pending))
		}
	}
}

func FuzzRecord(f *testing.F) {
	s := storedAs("text", 7)
	m := marker("12345678")
	f.Add(appendDone(appendEntry(nil, m, &s), m, 9))
	f.Add(append(appendEntry(nil, m, &s), m...))
	f.Fuzz(func(t *testing.T, log []byte) {
		end, _ := m.scan(log, func(kind byte, s Entry) {
			if kind != accepted {
				return
			}
			body, _, ok := m.cutRecord(appendEntry(nil, m, &s))
			kind, s2, err := readRecord(body)
			if !ok || err != nil || kind != accepted || s2.ID != s.ID || !bytes.Equal(s2.Parts, s.Parts) || !s2.Due.Equal(s.Due) {
				t.Fatalf("a rewritten record has other content: %+v, %+v", s, s2)
			}
		})
		_ = m.isTorn(log[end:]) // must not panic
	})
}

// FuzzScan damages a log that partly consists of data from a client: every record that is read was
// written, in the same order, and every record unaffected by the damage is read.
func FuzzScan(f *testing.F) {
	f.Add([]byte(forgeries()), uint16(100), uint16(20), []byte("x"))
	f.Add([]byte("12345678"), uint16(0), uint16(1), []byte{})
	f.Fuzz(func(t *testing.T, body []byte, at, size uint16, with []byte) {
		m := marker("\x00marker\xff")
		if bytes.Contains(body, m[:4]) || bytes.Contains(with, m[:4]) || bytes.Contains(body, m[4:]) || bytes.Contains(with, m[4:]) {
			t.Skip("a client does not know the marker")
		}
		var log []byte
		var begins []int
		for id := range uint64(6) {
			begins = append(begins, len(log))
			if id == 4 {
				log = appendDone(log, m, 1)
				continue
			}
			s := storedAs("text", 7)
			s.ID, s.Parts = id, body
			log = appendEntry(log, m, &s)
		}
		all, _ := scanned(m, log)
		from := int(at) % (len(log) + 1)
		to := min(from+int(size), len(log))
		damaged := slices.Concat(log[:from], with, log[to:])
		got, _ := scanned(m, damaged)
		// The damaged range may be smaller than the overwritten one, since bytes may be the same as
		// before.
		for from = 0; from < min(len(log), len(damaged)) && log[from] == damaged[from]; {
			from++
		}
		same := 0
		for same < min(len(log), len(damaged))-from && log[len(log)-1-same] == damaged[len(damaged)-1-same] {
			same++
		}
		to = len(log) - same
		next := 0
		for i, record := range all {
			end := append(begins[1:], len(log))[i]
			switch {
			case next < len(got) && got[next] == record:
				next++
			case end <= from || begins[i] >= to:
				t.Errorf("record %d was not touched and is lost", i)
			}
		}
		if next < len(got) {
			t.Errorf("%+v was never stored, or not there", got[next])
		}
	})
}
