package rows

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkRead reads 100,000 rows of about 236 bytes.
func BenchmarkRead(b *testing.B) {
	const rows = 100_000
	var csv, spread, ndjson bytes.Buffer
	csv.WriteString("id,email,name,country,created,vip,balance,address,note\n")
	spread.WriteString("[\n")
	for i := range rows {
		fmt.Fprintf(&csv, "%d,user.%d@mail.example.com,\"Example, User %d\",DE,2026-03-04T05:06:07Z,true,%d.50,"+
			"\"Some Street 12, 12345 Some Town, Some Country\",\"%0*d\"\n", i, i, i, i, 236-144, i)
		row := fmt.Sprintf(`{"id":%d,"email":"user.%d@mail.example.com","name":"Example, User %d","country":"DE",`+
			`"created":"2026-03-04T05:06:07Z","vip":true,"balance":%d.50,"note":"%0*d"}`, i, i, i, i, 236-166, i)
		fmt.Fprintf(&ndjson, "%s\n", row)
		fmt.Fprintf(&spread, "  %s,\n", bytes.ReplaceAll([]byte(row), []byte(`,"`), []byte(",\n    \"")))
	}
	spread.WriteString(`{"id":""}`)
	for _, bb := range []struct {
		name    string
		content []byte
		o       Options
	}{
		{"CSV", csv.Bytes(), options("f.csv")},
		{"CSV with types", csv.Bytes(), Options{Name: "f.csv", Key: "id", Types: map[string]Type{"id": Integer, "vip": Boolean, "balance": Number}}},
		{"CSV, inferred", csv.Bytes(), inferred("f.csv")},
		{"NDJSON", ndjson.Bytes(), options("f.ndjson")},
		{"JSON", append(bytes.TrimSuffix(spread.Bytes(), []byte(",\n"+`{"id":""}`)), ']'), options("f.json")},
		{"CSV, gzip", packed(b, ".gz", csv.String()), options("f.csv.gz")},
		{"CSV, zstd", packed(b, ".zst", csv.String()), options("f.csv.zst")},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.content)))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				err := Read(bytes.NewReader(bb.content), bb.o, func([]byte, Place) error { n++; return nil })
				if err != nil || n != rows {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
