//go:build !race

package stream_test

import (
	"testing"

	"mockserver/renderer/stream"
)

// Once its memory has grown, an item costs no allocation.
func TestAllocations_Item(t *testing.T) {
	for _, items := range []string{
		"- {event: e, id: '{{loop.index}}', data: {a: '{{json-params.text}}', n: '{{stream.index}}'}, times: forever}",
		"- times: forever\n  items:\n    - {for: w in json-params.text|words, data: '{{w}}\n\n      {{w}}', if: w != x}\n    - {comment: '{{now}}', times: json-params.n, after: 1s}",
		"- {line: '{% for x in json-params.list %}{{x}}{{loop.index}}{% endfor %}', times: forever}",
	} {
		r := request(t, `{"text":"a \"b\" c\nd","n":2,"list":[1,"two"]}`)
		var c stream.Cursor
		compiled := compile(t, items)
		compiled.Begin(&c)
		buffer := make([]byte, 0, 4096)
		r.Arena, r.Line = make([]byte, 0, 4096), make([]byte, 0, 4096)
		if got := testing.AllocsPerRun(1000, func() {
			if _, ok := c.Next(r); !ok {
				t.Fatal("no item")
			}
			buffer = c.Append(buffer[:0], r)
			_, _ = c.ID(r)
		}); got != 0 {
			t.Errorf("%s: %v allocations, want none", items, got)
		}
		if got := testing.AllocsPerRun(100, func() { compiled.Begin(&c) }); got != 0 {
			t.Errorf("%s: %v allocations to begin, want none", items, got)
		}
	}
}
