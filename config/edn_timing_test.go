package config

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkParse10000EndpointsEDN(b *testing.B) {
	var list []string
	for i := range 10000 {
		list = append(list, fmt.Sprintf(`{:endpoint {:method :post :path "/api/v1/resource-%d/:id|int"
  :response {:status 201 :headers {:set-cookie ["a=1" "b=2"]} :body {:id "{{path-params.id}}" :name "resource %d"}}}}`, i, i))
	}
	data := []byte("[" + strings.Join(list, "\n") + "]")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if spec := Parse("a.edn", data); len(spec.Endpoints) != 10000 {
			b.Fatal(spec.Problems)
		}
	}
}

// BenchmarkParseHostileEDN parses the slowest known inputs. Each takes linear time, or is refused
// early.
func BenchmarkParseHostileEDN(b *testing.B) {
	var keys strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&keys, ":k%d 1 ", i)
	}
	for name, text := range map[string]string{
		"deep":          strings.Repeat("[", 100_000),
		"deep discards": strings.Repeat("#_", 100_000),
		"words":         "[[" + strings.Repeat(":ab 1 ", 50_000) + "]]",
		"a long word":   ":" + strings.Repeat("a", 300_000),
		"escapes":       "[\"" + strings.Repeat(`\u00e9`, 50_000) + "\"]",
		"lines":         "[\"" + strings.Repeat("\n", 300_000) + "\"]",
		"bad escapes":   "[\"" + strings.Repeat(`\q`, 200_000) + "\"]",
		"bad words":     "[" + strings.Repeat("1/2 ", 100_000) + "]",
		"discards":      "[" + strings.Repeat("#_a ", 100_000) + "]",
		"comments":      strings.Repeat(";\n", 100_000),
		"keys":          "[[{" + keys.String() + "}]]",
		"headers":       ednResponse(":headers {" + keys.String() + "}"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Parse("a.edn", []byte(text))
			}
		})
	}
}
