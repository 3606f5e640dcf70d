package policy

import (
	"fmt"
	"testing"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// FuzzPercentile checks that the rank of a percentile is in range, that suggested names are valid,
// and that decoding gives the rank of the name.
func FuzzPercentile(f *testing.F) {
	for _, name := range []string{"p50", "p99.9", "p100", "p0.1", "p0", "p100.1", "p1e1", "p-1", "P50", "p5O", "p0.0000001", "p", "p٣", "p99.\n", "95th", "p+5"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		rank, ok := rankOf(name)
		if ok && (!(rank > 0 && rank <= 100) || !beginsPercentile(name)) {
			t.Errorf("%q is the percentile %v", name, rank)
		}
		if near := nearPercentile(name); near != "" {
			if _, ok := rankOf(near); !ok {
				t.Errorf("%q seems to mean %q", name, near)
			}
		}
		text := fmt.Sprintf(`{%q: "1ms"}`, name)
		docs, _ := syntax.Read("f.json", []byte(text))
		if !ok || len(docs) != 1 {
			return
		}
		d := &table.Decoder{Hint: func(_, _ string, _ []string) (hint, key string) { return "", "" }}
		if l := decodeLatency(d, table.Value{Node: docs[0]}); len(l.Curve) != 1 || l.Curve[0].Rank != rank {
			t.Errorf("%s: %+v", text, l)
		}
	})
}
