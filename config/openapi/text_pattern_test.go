package openapi_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"mockserver/config/openapi/text"
)

func TestPatternTexts(t *testing.T) {
	for _, c := range []struct {
		source    string
		low, high int
		as        string // a Go expression that the strings must match; "" for the source itself
	}{
		{`^[A-Z]{3}-\d{4}$`, 0, 100, ""}, {`^(a|bb|ccc)+$`, 7, 7, ""}, {`^[a-z]*$`, 20, 20, ""}, {`^.*$`, 1, 3, ""}, {`x`, 10, 12, ""},
		{`^(ab)*$`, 9, 10, ""}, {`^\/api\/v\d$`, 0, 100, `^/api/v\d$`}, {`^[[]x$`, 0, 9, `^\[x$`}, {`^\u0041$`, 0, 9, `^A$`},
		{`^[\s\S]{1,4096}$`, 2000, 2000, `^[\s\S]*$`}, {`^a{,3}$`, 0, 99, `^a\{,3\}$`}, {`^(?<year>\d{4})$`, 0, 9, `^\d{4}$`},
		{`^(?=.*[A-Z])(?=.*\d)(?!.*x).{8,16}$`, 0, 100, `^[^x]{8,16}$`}, {`(?i)^abc$`, 0, 9, ""}, {`^[^\x00-\x60]$`, 0, 9, ""},
	} {
		p, err := text.CompilePattern(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		if c.as == "" {
			c.as = c.source
		}
		takes := regexp.MustCompile(c.as)
		for seed := range uint64(20) {
			s, ok := p.Text(rand.New(rand.NewPCG(seed, 0)), c.low, c.high)
			if n := utf8.RuneCountInString(s); !ok || !takes.MatchString(s) || n < c.low || n > c.high {
				t.Errorf("%s of %d to %d: %q %v", c.source, c.low, c.high, s, ok)
			}
		}
	}
}

// Patterns mean what they mean in ECMAScript with the flag u.
func TestPatternsMatch(t *testing.T) {
	for _, c := range []struct{ source, fits, unfit string }{ // the strings are separated by blanks
		{`^\p{L}$`, "é я Ω a", "1 _ €"}, {`^\P{Cc}$`, "a €", "\x01"}, {`^\p{Letter}\P{Lu}$`, "aa éé", "aA 1a"}, {`^\pL[\PL]$`, "a1 é_", "aa 11"},
		{`^\p{Script=Greek}+$`, "αΩ", "aΩ"}, {`^[\p{Lu}\P{L}]$`, "A 1", "a"},
		{`^a\sb$`, "a\u00a0b a\ufeffb a\u2028b", "a\u200bb ab"}, {`^\S$`, "a \u200b", "\u00a0 \ufeff"}, {`^.$`, "a 😀", "\u2028 \u2029"},
		{`^\d\w$`, "1a 1_", "١a 1é"}, {`\bé`, "aé", "é"}, {`^[^]$`, "a", "ab"}, {`^(?:[]|b)$`, "b", "a"}, {`^[^\d\s]$`, "é", "1 \u00a0"},
		{`^\u{1F600}$`, "😀", "u"}, {`^[\ud83d\ude00-\u{1F64F}]$`, "😀 🙏", "\ufffd"}, {`^\cA\x41\u0042\0?$`, "\x01AB", "cAAB"},
		{`^(?<year>\d{4})-(?<y>\d\d)$`, "2024-01", "2024"}, {`^(?i:\x4b|ſ)$`, "k K K s S", "a"}, {`^a{0,2000}$`, "a aaa", "b"}, {`^a{,2}$`, "a{,2}", "a"},
		{`^[a\-z]$`, "- a", "b"}, {`^[\b]$`, "\b", "b"}, {`^[[&&a]+$`, "[&a", "b"}, {`a$`, "ba", "a\n"}, {`^(?=.*\d)(?!.*x)\w+$`, "a1", "ab a1x"},
	} {
		p, err := text.CompilePattern(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		for _, s := range strings.Split(c.fits, " ") {
			if !p.Matches(s) {
				t.Errorf("%s does not match %q", c.source, s)
			}
		}
		for _, s := range strings.Split(c.unfit, " ") {
			if s != "" && p.Matches(s) {
				t.Errorf("%s matches %q", c.source, s)
			}
		}
	}
}

func TestPatternsThatHaveNoText(t *testing.T) {
	for _, source := range []string{`^a{2}$`, `a\bb`, `^[]$`, `$a`} {
		p, err := text.CompilePattern(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if s, ok := p.Text(rand.New(rand.NewPCG(0, 0)), 3, 3); ok {
			t.Errorf("%s: %q", source, s)
		}
	}
	for _, source := range []string{`(`, `a(?=b)`, `(?<!a)b`, `^(?=`, `^(a)\1$`, `(?<x>a)\k<x>`, `^(?=a)b|c`, `^(?=a)*b`, `[z-a]`, `a{2000}`, `a{2,1}`, `\i`, `\p{Foo}`, `\p{Emoji}`, `\p{sc=Grek}`, `\P{Alphabetic}`, `[`, `\`, strings.Repeat("a", 30_001), `(` + strings.Repeat("a", 100) + `){1000}`} {
		if _, err := text.CompilePattern(source); err == nil {
			t.Errorf("%s is accepted", source)
		}
	}
}

func TestPatternsCompileLoosely(t *testing.T) {
	for source, as := range map[string]string{
		`^(?!x)([a-c](?<!b)){2}\(?=$`: `^([a-c]){2}\(?=$`, `^((?!-)[a-z]{3}\.)+(?=c)com$`: `^([a-z]{3}\.)+com$`, `^[(?=]{2}$`: `^[(?=]{2}$`,
		`^(a|b)\1\d$`: `^[ab]\d$`, `^(?<x>a)\k<x>$`: `^a$`, `^[\p{Alnum}]{2}x$`: `^.{2}x$`,
	} {
		p, err := text.CompileLoosely(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		for seed := range uint64(20) {
			if s, ok := p.Text(rand.New(rand.NewPCG(seed, 0)), 0, 20); !ok || !regexp.MustCompile(as).MatchString(s) {
				t.Errorf("%s: %q %v", source, s, ok)
			}
		}
	}
	if _, err := text.CompileLoosely(`^(?=`); err == nil {
		t.Error("a look-around without an end is accepted")
	}
}

func FuzzPattern(f *testing.F) {
	for _, source := range []string{`^[A-Z]{2,}\d+$`, `(a|b)*c?`, `^(?=.*x)[^]{3}`, `\u{1F600}\cA\p{L}`, `((a{9}){9}){9}`, `[^\W_]+|`, `{`, `\`, `[\S-a]\P{Alpha}\k<x>\1(?<x>.)`, `\uD83D\uDE00[\uD800]`} {
		f.Add(source, uint8(0), uint8(20))
	}
	f.Fuzz(func(t *testing.T, source string, low, high uint8) {
		p, err := text.CompilePattern(source)
		if err != nil {
			p, err = text.CompileLoosely(source)
		}
		if err != nil {
			return
		}
		s, ok := p.Text(rand.New(rand.NewPCG(1, 2)), int(low), int(high))
		if !ok {
			return
		}
		if n := utf8.RuneCountInString(s); !p.Matches(s) || n < int(low) || n > int(high) {
			t.Errorf("%q of %d to %d: %q", source, low, high, s)
		}
	})
}
