package rows

import (
	"bytes"
	stdcsv "encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"mockserver/internal/harness/volume"
)

// alphabet contains the characters with a special meaning in CSV and JSON.
var alphabet = []string{"a", "b", "0", "1", ".", "-", " ", ",", "\t", "\"", "\\", "\n", "\r", "\r\n", "é", "€", "😀", "\x00", "\x7f", "{", "]", ":", "true", "\\u0041"}

func word(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(8) {
		b.WriteString(alphabet[random.IntN(len(alphabet))])
	}
	return b.String()
}

// TestRead_AsWritten writes tables with encoding/csv, and reads the rows with encoding/json.
func TestRead_AsWritten(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		names := []string{"id"}
		for i := range random.IntN(5) + 1 { // encoding/csv writes a row of one empty cell as an empty line
			names = append(names, fmt.Sprint(i, word(random)))
		}
		table := [][]string{names}
		for i := range random.IntN(50) {
			row := []string{fmt.Sprint(i, word(random))}
			for range names[1:] {
				row = append(row, word(random))
			}
			table = append(table, row)
		}
		var file bytes.Buffer
		w := stdcsv.NewWriter(&file)
		o := options("f.csv")
		if seed%2 == 1 {
			w.Comma, o.Name = '\t', "f.tsv"
		}
		if err := w.WriteAll(table); err != nil {
			t.Fatal(err)
		}
		at := 0
		err := Read(&file, o, func(row []byte, _ Place) error {
			at++
			want := map[string]string{}
			for i, name := range names {
				want[name] = table[at][i]
			}
			var got map[string]string
			if err := json.Unmarshal(row, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d, row %d: %s, %v, want %q", seed, at, row, err, table[at])
			}
			return nil
		})
		if err != nil || at != len(table)-1 {
			t.Errorf("seed %d: %d rows of %d, %v", seed, at, len(table)-1, err)
		}
	}
}

// value returns a value as it may be in a row.
func value(random *rand.Rand, depth int) any {
	switch n := random.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return random.IntN(2) == 0
	case n == 2:
		return json.Number(fmt.Sprintf("%d.%d0e%d", random.IntN(10), random.IntN(10), random.IntN(10)))
	case n == 3 && depth > 0:
		return []any{value(random, depth-1), value(random, depth-1)}
	case n == 4 && depth > 0:
		return map[string]any{word(random): value(random, depth-1)}
	default:
		return word(random)
	}
}

// TestRead_AnyBlanks writes objects with blanks between their tokens, in each JSON format, and
// expects the rows to be the same as encoding/json's compact form.
func TestRead_AnyBlanks(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		var list, object, lines, want []string
		for i := range random.IntN(20) {
			raw, err := json.Marshal(map[string]any{"id": i, "x": value(random, 3), "a" + word(random): value(random, 3)})
			if err != nil {
				t.Fatal(err)
			}
			var spread bytes.Buffer
			if err := json.Indent(&spread, raw, "\r", " \t"); err != nil {
				t.Fatal(err)
			}
			list = append(list, spread.String())
			object = append(object, fmt.Sprintf("\"%d\"\n: %s", i, &spread))
			lines = append(lines, string(bytes.ReplaceAll(spread.Bytes(), []byte("\n"), []byte(" "))))
			want = append(want, string(raw))
		}
		for name, content := range map[string]string{
			"f.json":   "\n[ " + strings.Join(list, " ,\t") + " ] ",
			"g.json":   "{\n" + strings.Join(object, ",\r\n") + "}\n",
			"f.ndjson": strings.Join(lines, "\n\r\n") + "\n",
		} {
			if content == "\n" { // a file must have at least one line
				continue
			}
			var got []string
			err := Read(strings.NewReader(content), options(name), func(row []byte, _ Place) error {
				got = append(got, string(row))
				return nil
			})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %s: %q, %v, want %q", seed, name, got, err, want)
			}
		}
	}
}

// endless is a reader that returns the same row again and again, up to a number of bytes.
type endless struct {
	head, row []byte
	left      int // bytes
	rest      []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.head) > 0 {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	if len(e.rest) == 0 {
		if e.left <= 0 {
			return 0, io.EOF
		}
		e.rest = e.row
		e.left -= len(e.row)
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestRead_Memory reads files of 64 MiB: only the buffer is allocated, and nothing for each row.
func TestRead_Memory(t *testing.T) {
	volume.Only(t)
	for _, tt := range []struct{ name, head, row string }{
		{"f.csv", "id,n,t\n", "1,2,\"a \"\"b\"\"\"\n"},
		{"f.json", "[{\"id\":0}", ",\n{\"id\": \"1\\u0041\", \"n\": {\"a\": 2}}"},
		{"g.json", "{\"a\":{}", ",\"b\": {\"a\": [1, 2]}"},
		{"f.ndjson", "", "{\"id\": 1, \"a\": 2}\n"},
	} {
		rows := 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file := &endless{head: []byte(tt.head), row: bytes.Repeat([]byte(tt.row), 1000), left: 64 << 20}
		err := Read(file, options(tt.name), func([]byte, Place) error { rows++; return nil })
		runtime.ReadMemStats(&after)
		if p, ok := err.(*Problem); err != nil && (!ok || !strings.HasPrefix(p.What, "unexpected end of the file")) || rows < 1e6 {
			t.Errorf("%s: %d rows, %v", tt.name, rows, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("%s: %d bytes allocated for %d rows", tt.name, n, rows)
		}
	}
}
