package config

import "testing"

// FuzzEDNSpec reads arbitrary texts as EDN and checks that reading does not panic, that each
// problem has a position inside the file, and that the endpoints that are kept are valid.
func FuzzEDNSpec(f *testing.F) {
	f.Add(`[{:endpoint {:path "/x" :response {:headers {:content-type "a"} :body "{\"a\": {{json-params.a}}}\n"}}}]`)
	f.Add("{:endpoint {:path \"/é\n\\u00e9\" #_ #_ a b :if (1 2) :response nil}} ; c\r\n[]")
	f.Add(`[#{1 2.5M -3N} #inst "2024-01-01" #my/tag {\a \newline, \u0041 [##NaN #"r" 1/2 'x ::y]}]`)
	f.Add("[{{x}} {:a :a :a} [(] {\"\\ud83d\\ude00\" 1e400 \"\\q\"")
	f.Add("\xEF\xBB\xBF#_#_#_{:a}(\\()#a#b#_c d")
	f.Add("\xFE\xFF\x00[\x00]")
	f.Fuzz(func(t *testing.T, text string) {
		spec := Parse("a.edn", []byte(text))
		for _, p := range spec.Problems {
			if p.What == "" || p.Pos.File != "a.edn" || !inside(p.Pos, text) {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}
