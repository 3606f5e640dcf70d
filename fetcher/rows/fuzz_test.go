package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// FuzzRead reads any bytes in each format. Reading one byte at a time must give the same result.
func FuzzRead(f *testing.F) {
	for _, content := range []string{
		"", "\ufeffid,a\r\n1,\"x \"\"y\"\"\n\"\r\n\n2,\n", "id\ta\n1\tx", "id;a.b\n\"\";\"1",
		`[{"id":1, "a" : [1.0,"\u00e9\\"]},{"id":"x"}]`, `{"a":{}, "b":{"id":"b"},"c":{"a":{}}}`, `[{"id":[1}`,
		"{\"id\":1}\n\n {\"id\": true} \r\n", "[\"", "{\"\\ud800\":{}}", "\xff", "[{\"a\":{\"b\":-0}}]",
	} {
		for format := range uint8(7) {
			f.Add(format, "id", byte(0), uint8(JSON), false, []byte(content))
		}
	}
	f.Add(uint8(0), "a.b", byte(';'), uint8(Integer), true, []byte("id;a\n1;\"{\"\"b\"\":1}\""))
	f.Add(uint8(5), "id", byte(0), uint8(0), false, packed(f, ".gz", "id\n1\n"))
	f.Add(uint8(6), "id", byte(0), uint8(0), false, packed(f, ".zst", "{\"id\":1}"))
	names := []string{"f.csv", "f.tsv", "f.json", "f.ndjson", "f.jsonl", "f.csv.gz", "f.ndjson.zst"}
	f.Fuzz(func(t *testing.T, format uint8, key string, separator byte, kind uint8, infer bool, content []byte) {
		o := Options{Name: names[int(format)%len(names)], Key: key, Separator: separator, Infer: infer}
		if kind > 0 {
			o.Types = map[string]Type{"a": Type(kind) % (JSON + 1)}
		}
		err := Read(bytes.NewReader(content), o, func(row []byte, at Place) error {
			if len(row) == 0 || row[0] != '{' || !json.Valid(row) || !utf8.Valid(row) {
				t.Errorf("row is not an object: %q", row)
			}
			if at.Line < 1 || at.Column < 1 || at.Line > bytes.Count(content, []byte("\n"))+1 && format%7 < 5 {
				t.Errorf("row at %+v: %s", at, row)
			}
			var tight bytes.Buffer
			if format%7 > 1 && format%7 < 5 {
				if err := json.Compact(&tight, row); err != nil || !bytes.Equal(tight.Bytes(), row) {
					t.Errorf("row is not compact: %s", row)
				}
			}
			return nil
		})
		if p := (*Problem)(nil); errors.As(err, &p) && (p.What == "" || p.Line < 0 || p.Column < 0 || (p.Line == 0) != (p.Column == 0)) {
			t.Errorf("problem %+v", p)
		}
		if len(content) > 1<<12 {
			return
		}
		whole, errWhole := collect(bytes.NewReader(content), o)
		slow, errSlow := collect(iotest.OneByteReader(bytes.NewReader(content)), o)
		if whole != slow || (errWhole == nil) != (errSlow == nil) || errWhole != nil && errWhole.Error() != errSlow.Error() {
			t.Errorf("a byte at a time: %s, %v, otherwise %s, %v", slow, errSlow, whole, errWhole)
		}
	})
}
