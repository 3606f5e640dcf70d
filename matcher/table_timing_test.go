package matcher

import (
	"fmt"
	"runtime"
	"testing"
)

// layouts contains ways to declare n endpoints, and the path of the i-th one.
var layouts = []struct {
	name     string
	declared func(i int) string
	asked    func(i int) string
}{
	{"static", func(i int) string { return fmt.Sprintf("/api/v1/things/id%d/sub", i) }, nil},
	{"param", func(i int) string { return fmt.Sprintf("/r%d/:id", i) }, func(i int) string { return fmt.Sprintf("/r%d/42", i) }},
	{"deep-param", func(i int) string { return fmt.Sprintf("/api/v1/res%d/:id", i) }, func(i int) string { return fmt.Sprintf("/api/v1/res%d/42", i) }},
	{"cross", func(i int) string { return fmt.Sprintf("/svc%d/res%d/:id|int", i/100, i%100) }, func(i int) string { return fmt.Sprintf("/svc%d/res%d/42", i/100, i%100) }},
	{"wide-static", func(i int) string { return wide(i) + "/end" }, nil},
	{"wide-param", func(i int) string { return wide(i) + "/:id" }, func(i int) string { return wide(i) + "/42" }},
	{"catch-all", func(i int) string { return fmt.Sprintf("/files%d/*rest", i) }, func(i int) string { return fmt.Sprintf("/files%d/a/b", i) }},
}

// wide returns a path of four segments, each of which has ten alternatives.
func wide(i int) string {
	return fmt.Sprintf("/area%d/team%d/service%d/resource%d", i%10, i/10%10, i/100%10, i/1000)
}

func layoutTable(declared func(int) string, n int) reference {
	rs := make(reference, n)
	for i := range rs {
		rs[i] = refRoute{method: "GET", path: declared(i)}
	}
	return rs
}

// firstNumber is the first number in the benchmarks of Match, so that the length of the requested
// path does not depend on n: a longer path costs more to read.
const firstNumber = 10000

// matchOne looks up the endpoint in the middle of a table of n endpoints, as in a load test of one
// endpoint.
func matchOne(b *testing.B, l int, n int, change func(*Table)) {
	declared, asked := layouts[l].declared, layouts[l].asked
	if asked == nil {
		asked = declared
	}
	table := mustCompile(b, layoutTable(func(i int) string { return declared(firstNumber + i) }, n))
	change(table)
	r := newRequest("GET", "h", asked(firstNumber+n/2))
	b.ReportAllocs()
	for b.Loop() {
		r.target.known = false
		if table.Match(r, "GET") != n/2 {
			b.Fatal("not matched")
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for l := range layouts {
		for _, n := range []int{4, 10, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", layouts[l].name, n), func(b *testing.B) {
				matchOne(b, l, n, func(*Table) {})
			})
		}
	}
}

// BenchmarkMatchTree is like BenchmarkMatch, using only the tree: the cost of a path with
// percent-encoding, without the decoding.
func BenchmarkMatchTree(b *testing.B) {
	for l := range layouts {
		for _, n := range []int{10, 10000} {
			b.Run(fmt.Sprintf("%s/%d", layouts[l].name, n), func(b *testing.B) {
				matchOne(b, l, n, func(t *Table) { t.anyHost.shards = shards{} })
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, l := range layouts {
		b.Run(l.name+"/10000", func(b *testing.B) {
			routes, _ := layoutTable(l.declared, 10000).routes()
			b.ReportAllocs()
			var before, after runtime.MemStats
			var t *Table
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				t, _ = Compile(routes)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
			runtime.KeepAlive(t)
		})
	}
}
