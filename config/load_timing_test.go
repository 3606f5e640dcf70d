package config

import (
	"fmt"
	"strings"
	"testing"
)

// largeConfig returns a configuration of n endpoints as people write them.
func largeConfig(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `- endpoint:
    method: POST
    path: /api/v1/resource-%d/:id|int
    if: query-params.page = 2
    response:
      status: 201
      headers:
        Content-Type: application/json
        Set-Cookie: [a=1, b=2]
      body: |
        {
          "id": {{path-params.id}},
          "name": "resource %d"
        }
`, i, i)
	}
	return b.String()
}

func BenchmarkParse10000Endpoints(b *testing.B) {
	data := []byte(largeConfig(10000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if spec := Parse("a.yml", data); len(spec.Endpoints) != 10000 {
			b.Fatal(spec.Problems)
		}
	}
}

func BenchmarkParse10000EndpointsJSON(b *testing.B) {
	var list []string
	for i := range 10000 {
		list = append(list, fmt.Sprintf(`{"endpoint": {"method": "POST", "path": "/api/v1/resource-%d/:id|int",
  "response": {"status": 201, "headers": {"Set-Cookie": ["a=1", "b=2"]}, "body": {"id": "{{path-params.id}}", "name": "resource %d"}}}}`, i, i))
	}
	data := []byte("[" + strings.Join(list, ",\n") + "]")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if spec := Parse("a.json", data); len(spec.Endpoints) != 10000 {
			b.Fatal(spec.Problems)
		}
	}
}

// manyKeys returns n keys of a map, each with its number.
func manyKeys(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// BenchmarkParseHostile parses the slowest known inputs. Each takes linear time, or is refused
// early.
func BenchmarkParseHostile(b *testing.B) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	for name, text := range map[string]string{
		"alias bomb":       bomb.String(),
		"deep flow":        strings.Repeat("[", 100_000),
		"deep block":       strings.Repeat("- ", 9_000) + "x",
		"one long line":    "[" + strings.Repeat("é, ", 100_000) + "x]",
		"maps on a line":   "[" + strings.Repeat("{é: é, ü: ü}, ", 20_000) + "x]",
		"anchors":          "[" + strings.Repeat("&a,", 100_000) + "x]",
		"texts with ?":     "[" + strings.Repeat("{a: 'é',\n", 20_000) + "b?c]",
		"comments":         strings.Repeat("# c\n", 100_000),
		"comments in list": strings.Repeat("# c\n- 1\n", 50_000),
		"error at the end": largeConfig(2000) + "  x: 1\n",
		"open bracket":     "[" + strings.Repeat("1,\n", 50_000),
		"unknown tags":     strings.Repeat("- !a 1\n", 100_000),
		"unknown keys":     "- endpoint: {" + manyKeys(100_000, "x%d: 1, ") + "path: /x}\n",
		"headers":          "- endpoint: {path: /x, response: {headers: {" + manyKeys(100_000, "x %d: 1, ") + "}}}\n",
		"wrong items":      strings.Repeat("- 1\n", 100_000),
		"merges":           "- &a {" + strings.Repeat("k: 1", 1) + "}\n" + strings.Repeat("- {<<: [*a, *a, *a]}\n", 20_000),
		"keys":             "{" + manyKeys(50_000, "k%d: 1, ") + "}",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Parse("a.yml", []byte(text))
			}
		})
	}
}
