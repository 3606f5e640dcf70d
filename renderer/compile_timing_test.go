package renderer_test

import (
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/renderer"
)

// The slowest texts known: compiling each of them takes linear time, or stops early.
func BenchmarkCompileHostile(b *testing.B) {
	const many = 20_000
	mistakes := strings.Repeat("{{nope}}", many)
	edn := config.Parse("a.edn", []byte(`[{:endpoint {:path "/x" :response {:body "`+strings.Repeat(`\"\u00e9`, many)+mistakes+`"}}}]`))
	yaml := config.Parse("a.yml", []byte("- endpoint:\n    path: /x\n    response:\n      body: |\n"+strings.Repeat("        {{nope}}\n", many)))
	for name, text := range map[string]syntax.Text{
		"mistakes":                 syntax.Text{Value: mistakes},
		"mistakes behind escapes":  edn.Endpoints[0].Response.Body,
		"mistakes on many lines":   yaml.Endpoints[0].Response.Body,
		"warnings":                 syntax.Text{Value: strings.Repeat("{{path-params.nope}}", many)},
		"blocks inside each other": syntax.Text{Value: strings.Repeat("{% if 1 %}", many)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text.Value)))
			for b.Loop() {
				renderer.Compile(text, renderer.Plain, scope())
			}
		})
	}
}
