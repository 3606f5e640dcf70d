package matcher

import (
	"fmt"
	"runtime"
	"testing"
)

// layouts are ways to declare n endpoints, and the path of the i-th.
var layouts = []struct {
	name     string
	declared func(i int) string
	asked    func(i int) string
}{
	{"static", func(i int) string { return fmt.Sprintf("/api/v1/things/id%d/sub", i) }, nil},
	{"param", func(i int) string { return fmt.Sprintf("/r%d/:id", i) }, func(i int) string { return fmt.Sprintf("/r%d/42", i) }},
	{"deep-param", func(i int) string { return fmt.Sprintf("/api/v1/res%d/:id", i) }, func(i int) string { return fmt.Sprintf("/api/v1/res%d/42", i) }},
	{"cross", func(i int) string { return fmt.Sprintf("/svc%d/res%d/:id|int", i/100, i%100) }, func(i int) string { return fmt.Sprintf("/svc%d/res%d/42", i/100, i%100) }},
	{"catch-all", func(i int) string { return fmt.Sprintf("/files%d/*rest", i) }, func(i int) string { return fmt.Sprintf("/files%d/a/b", i) }},
}

func layoutTable(declared func(int) string, n int) reference {
	rs := make(reference, n)
	for i := range rs {
		rs[i] = refRoute{method: "GET", path: declared(i)}
	}
	return rs
}

// BenchmarkMatch asks for one endpoint in the middle, as a load test of one
// endpoint does.
func BenchmarkMatch(b *testing.B) {
	for _, l := range layouts {
		for _, n := range []int{4, 10, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", l.name, n), func(b *testing.B) {
				table := mustCompile(b, layoutTable(l.declared, n))
				asked := l.asked
				if asked == nil {
					asked = l.declared
				}
				r := newRequest("GET", "h", asked(n/2))
				b.ReportAllocs()
				for b.Loop() {
					r.target.known = false
					if table.Match(r, "GET") != n/2 {
						b.Fatal("not matched")
					}
				}
			})
		}
	}
}

// BenchmarkMatchTree is BenchmarkMatch by the tree alone: what a path with
// percent-encoding costs beside the decoding.
func BenchmarkMatchTree(b *testing.B) {
	for _, l := range layouts[:3] {
		for _, n := range []int{10, 10000} {
			b.Run(fmt.Sprintf("%s/%d", l.name, n), func(b *testing.B) {
				table := mustCompile(b, layoutTable(l.declared, n))
				table.anyHost.buckets = nil
				asked := l.asked
				if asked == nil {
					asked = l.declared
				}
				r := newRequest("GET", "h", asked(n/2))
				b.ReportAllocs()
				for b.Loop() {
					r.target.known = false
					if table.Match(r, "GET") != n/2 {
						b.Fatal("not matched")
					}
				}
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

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := mustCompile(b, layoutTable(layouts[2].declared, n))
			r := newRequest("GET", "h", "/api/v1/rse5/42")
			for b.Loop() {
				table.Nearest(r, 3)
			}
		})
	}
}
