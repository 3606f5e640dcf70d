package syntax

import (
	"errors"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"olympos.io/encoding/edn"
)

// FuzzEDN reads arbitrary texts as EDN and checks that reading does not panic, that the number of
// problems is limited, that each text has a position inside the file, and that the library accepts
// the same texts with the same meaning.
func FuzzEDN(f *testing.F) {
	f.Add(`[{:endpoint {:path "/x" :response {:headers {:content-type "a"} :body "{\"a\": {{json-params.a}}}\n"}}}]`)
	f.Add("{:endpoint {:path \"/é\n\\u00e9\" #_ #_ a b :if (1 2) :response nil}} ; c\r\n[]")
	f.Add(`[#{1 2.5M -3N} #inst "2024-01-01" #my/tag {\a \newline, \u0041 [##NaN #"r" 1/2 'x ::y]}]`)
	f.Add("[{{x}} {:a :a :a} [(] {\"\\ud83d\\ude00\" 1e400 \"\\q\"")
	f.Add("\xEF\xBB\xBF#_#_#_{:a}(\\()#a#b#_c d")
	f.Add("\xFE\xFF\x00[\x00]")
	f.Fuzz(func(t *testing.T, text string) {
		src := newSource("a.edn", []byte(text))
		docs, problems := readEDN(src)
		if len(problems) > 2*(MaxErrors+1) {
			t.Errorf("%d problems", len(problems))
		}
		for _, doc := range docs {
			checkPlaces(t, src, doc)
			checkMade(t, src, doc)
		}
		if comparesWithLibrary(src, problems) {
			compareWithLibrary(t, src.text, docs, problems)
		}
	})
}

// checkPlaces looks up each letter of the texts below n: the letter, or an escape, must be at its
// position.
func checkPlaces(t *testing.T, src *source, n *Node) {
	letter := func(pos Pos) string {
		offset := src.starts[pos.Line-1] + pos.Column - 1
		if pos.Column < 1 || offset > len(src.text) {
			t.Fatalf("%q: a text at %v", src.text, pos)
		}
		return src.text[offset:]
	}
	text, origin := n.Text, n.Text
	if len(text.origins().marks) > 0 {
		origin = *text.origins().marks[0].text
	}
	for i, c := range text.Value {
		at := letter(text.At(i))
		switch {
		case origin.Folded: // its position is its beginning
		case !strings.HasPrefix(at, string(c)) && !strings.HasPrefix(at, `\`) || c == '\\' && !strings.HasPrefix(at, `\`):
			t.Fatalf("%q: %q of %q is at %v", src.text, c, text.Value, text.At(i))
		}
	}
	if len(text.origins().marks) > 0 && !origin.Folded && !strings.HasPrefix(letter(text.At(len(text.Value))), `"`) {
		t.Fatalf("%q: %q ends at %v", src.text, text.Value, text.At(len(text.Value)))
	}
	letter(n.Pos())
	for _, item := range n.Items {
		checkPlaces(t, src, item)
	}
	for _, e := range n.Entries {
		checkPlaces(t, src, e.Key)
		checkPlaces(t, src, e.Value)
	}
}

// checkMade looks up each byte of the JSON text made from n: if the byte has a position of its own,
// the byte, or an escape, must be there.
func checkMade(t *testing.T, src *source, n *Node) {
	if n.Kind != ListNode && n.Kind != MapNode || len(src.text) > 1000 {
		return // each is looked up from the beginning of its text
	}
	made := n.JSON(false, func(*Node, string) {})
	for i, m := range made.origins().marks {
		end := len(made.Value)
		if i+1 < len(made.origins().marks) {
			end = made.origins().marks[i+1].at
		}
		for offset := m.at; m.text != nil && offset < end; offset++ {
			at := made.At(offset)
			start := src.starts[at.Line-1] + at.Column - 1
			if at.Column < 1 || start >= len(src.text) {
				t.Fatalf("%q: offset %d of %s is at %v", src.text, offset, made.Value, at)
			}
			if made.Value[offset] == '\\' {
				break // a JSON escape extends to the end of the mark, or the tag continues
			}
			if origin := m.text.origins().marks; m.text.Folded && (len(origin) == 0 || origin[0].text.Folded) || m.from+offset-m.at >= len(m.text.Value) {
				continue // its position is its beginning, or the quote after it
			}
			if got := src.text[start]; got != made.Value[offset] && got != '\\' {
				t.Fatalf("%q: %q of %s is at %v, where %q is", src.text, made.Value[offset], made.Value, at, got)
			}
		}
	}
}

// librarysOwn matches what this package deliberately treats differently from the library: characters
// and tags, which are refused whatever they are, escapes (a backslash may begin either; FuzzJSONBody
// compares them), and comments that a lone \r ends, as in Clojure.
var librarysOwn = regexp.MustCompile(`\\|#\pL|\r`)

// comparesWithLibrary reports whether the library reads the same text, and all of it.
func comparesWithLibrary(src *source, problems Problems) bool {
	if _, what := src.encodingFault(false); what != "" || librarysOwn.MatchString(src.text) || len(problems) > MaxErrors {
		return false
	}
	if strings.Contains(problems.Error(), "nested more than") {
		return false
	}
	r := newEDNReader(src)
	_, err := r.file()
	return err != nil || r.at == len(r.s) // or a form at the top level ended reading
}

// refusals are the messages for valid EDN that is not a configuration.
var refusals = regexp.MustCompile(`a set has no order|means nothing here|already given|^a key is (null|a list|a map);|has no value: a map`)

// compareWithLibrary reads the text with the library, inside brackets, because its decoder loses
// the beginning of a comment between two forms. Both must accept the same texts and, if nothing is
// refused, give them the same meaning.
func compareWithLibrary(t *testing.T, text string, docs []*Node, problems Problems) {
	sound := true
	for _, p := range problems {
		sound = sound && refusals.MatchString(p.What)
	}
	whole := "[" + text + "\n]"
	decoder := edn.NewDecoder(strings.NewReader(whole))
	var form, rest edn.RawMessage
	err := decoder.Decode(&form)
	if err == nil {
		if err = decoder.Decode(&rest); errors.Is(err, io.EOF) {
			err = nil
		} else {
			err = errors.New("a bracket too many")
		}
	}
	if sound != (err == nil) {
		t.Fatalf("%q: the library says %v; problems %v", text, err, problems)
	}
	var forms []any
	if len(problems) > 0 || edn.UnmarshalString(whole, &forms) != nil {
		return // such as numbers that do not fit Go's types
	}
	var nodes []*Node
	for _, doc := range docs {
		switch doc.Kind {
		case ListNode:
			nodes = append(nodes, doc.Items...)
		case NullNode:
		default:
			nodes = append(nodes, doc)
		}
	}
	var values []any
	for _, form := range forms {
		switch form := form.(type) {
		case nil:
		case []any:
			values = append(values, form...)
		default:
			values = append(values, form)
		}
	}
	compareForms(t, text, nodes, values)
}

func compareForms(t *testing.T, text string, nodes []*Node, values []any) {
	if len(nodes) != len(values) {
		t.Fatalf("%q: %d forms, the library has %d", text, len(nodes), len(values))
	}
	for i, n := range nodes {
		if got := ednKind(values[i]); got != n.Kind {
			t.Fatalf("%q: %v is %v", text, values[i], n.Shown())
		}
		switch v := values[i].(type) {
		case []any:
			compareForms(t, text, n.Items, v)
		case map[any]any:
			compareMaps(t, text, n, v)
		case int64:
			if got, ok := new(big.Rat).SetString(n.Number); !ok || got.Cmp(new(big.Rat).SetInt64(v)) != 0 {
				t.Fatalf("%q: %v is %v", text, v, n.Shown())
			}
		case float64:
			if got, err := strconv.ParseFloat(n.Number, 64); err != nil || got != v {
				t.Fatalf("%q: %v is %v", text, v, n.Shown())
			}
		default:
			if want, ok := ednScalar(v); ok && want != n.Text.Value {
				t.Fatalf("%q: %v is %v, want %q", text, v, n.Shown(), want)
			}
		}
	}
}

// compareMaps compares the entries whose keys have only one spelling.
func compareMaps(t *testing.T, text string, n *Node, m map[any]any) {
	if len(n.Entries) != len(m) {
		t.Fatalf("%q: %d entries, the library has %d", text, len(n.Entries), len(m))
	}
	for key, value := range m {
		name, ok := ednScalar(key)
		if !ok {
			continue
		}
		if e := n.Entry(name); e != nil {
			compareForms(t, text, []*Node{e.Value}, []any{value})
		} else {
			t.Fatalf("%q: no key %q", text, name)
		}
	}
}

func ednKind(v any) Kind {
	switch v := v.(type) {
	case nil:
		return NullNode
	case bool:
		return BoolNode
	case int64, float64, big.Int, *big.Int, *big.Float:
		return NumberNode
	case []any:
		return ListNode
	case map[any]any:
		return MapNode
	case edn.Tag:
		return ednKind(v.Value)
	}
	return TextNode
}

// ednScalar returns the text of a scalar, if the library keeps it.
func ednScalar(v any) (string, bool) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case string:
		return v, true
	case edn.Keyword:
		return string(v), true
	case rune:
		return string(v), true
	case edn.Tag:
		return ednScalar(v.Value)
	}
	return "", v == nil
}
