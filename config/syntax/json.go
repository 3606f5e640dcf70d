package syntax

import (
	"errors"
	"strings"

	"mockserver/internal/json"
)

// readJSON reads a .json file, which may have comments and trailing commas. Text that is not JSON is
// tried as YAML. If that fails too, the error of JSON is reported, because its position is more
// accurate.
func readJSON(src *source) ([]*Node, Problems) {
	if at, what := src.encodingFault(false); what != "" {
		return nil, Problems{{Pos: src.pos(at), What: what}}
	}
	r := &jsonReader{scanner: newScanner(src)}
	r.blanks()
	if r.at == len(r.s) {
		return nil, nil
	}
	root, err := r.value(1)
	if err == nil {
		if r.blanks(); r.at < len(r.s) {
			err = r.expected("the end of the file")
		}
	}
	if err == nil {
		return []*Node{root}, r.Problems
	}
	var fault *syntaxError
	docs, problems := readYAML(src)
	if errors.As(err, &fault) && (fault.final || len(docs) == 0 || problems.Err() != nil) {
		return nil, Problems{fault.Problem}
	}
	return docs, problems
}

// jsonReader reads JSON by recursive descent.
type jsonReader struct {
	scanner
	begin int // where the last text begins, with its quote
}

func (r *jsonReader) expected(what string) error {
	if r.at >= len(r.s) {
		return r.fail(len(r.s), "the JSON ends here; expected %s", what)
	}
	return r.fail(r.at, "this is not JSON; expected %s here", what)
}

// blanks skips white space, and comments: // to the end of the line, and /* … */.
func (r *jsonReader) blanks() {
	for r.at < len(r.s) {
		rest := r.s[r.at:]
		end := -1
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			end = 1
		case strings.HasPrefix(rest, "//"):
			if end = strings.IndexAny(rest, "\r\n"); end < 0 {
				end = len(rest)
			}
		case strings.HasPrefix(rest, "/*"):
			if end = strings.Index(rest[2:], "*/"); end >= 0 {
				end += 4
			}
		}
		if end < 0 {
			return
		}
		r.at += end
	}
}

// quoted reads a text, and stores where it begins.
func (r *jsonReader) quoted() (Text, error) {
	r.begin = r.at
	return r.text(true)
}

// separator is the error of a missing comma or bracket. A word right after a quote means that the quote does not
// end the text.
func (r *jsonReader) separator(closing byte) error {
	if r.at < len(r.s) && r.s[r.at-1] == '"' && strings.IndexByte("\":[]{}", r.s[r.at]) < 0 {
		return r.fail(r.begin, "the text that begins here ends at column %d: its quote is missing, or one inside it is not written \\\"", r.src.pos(r.at-1).Column)
	}
	return r.expected("a , or a " + string(rune(closing)))
}

// peek returns the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.at < len(r.s) {
		return r.s[r.at]
	}
	return 0
}

func (r *jsonReader) value(depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, r.tooDeep(r.at)
	}
	n := r.newNode(NullNode, Text{Pos: r.src.pos(r.at), Folded: true})
	switch c := r.peek(); {
	case c == '{':
		n.Kind = MapNode
		return n, r.object(n, depth)
	case c == '[':
		n.Kind = ListNode
		return n, r.array(n, depth)
	case c == '"':
		text, err := r.quoted()
		n.Kind, n.Text = TextNode, text
		return n, err
	default:
		return n, r.word(n)
	}
}

// word reads a number, true, false or null.
func (r *jsonReader) word(n *Node) error {
	rest := r.s[r.at:]
	end := strings.IndexAny(rest, " \t\r\n,:]}[{\"/")
	if end < 0 {
		end = len(rest)
	}
	word := rest[:end]
	switch {
	case word == "null":
		n.Kind = NullNode
	case word == "true" || word == "false":
		n.Kind = BoolNode
	case json.IsNumber(word):
		n.Kind, n.Number = NumberNode, word
	default:
		return r.expected("a value")
	}
	if n.Kind != NullNode {
		n.Text.Value, n.Text.Folded = word, false
	}
	r.at += end
	return nil
}

func (r *jsonReader) array(n *Node, depth int) error {
	n.Items = []*Node{}
	return r.each(']', func(i int) error {
		r.push(step{index: i})
		defer r.pop()
		item, err := r.value(depth + 1)
		n.Items = append(n.Items, item)
		return err
	})
}

func (r *jsonReader) object(n *Node, depth int) error {
	var list entries
	err := r.each('}', func(int) error {
		if r.peek() != '"' {
			return r.expected("a key in double quotes")
		}
		key, err := r.quoted()
		if err != nil {
			return err
		}
		if r.blanks(); r.peek() != ':' {
			return r.expected("a : after the key")
		}
		r.at++
		r.blanks()
		r.push(step{key: key.Value, named: true})
		defer r.pop()
		value, err := r.value(depth + 1)
		r.put(&list, r.newNode(TextNode, key), value)
		return err
	})
	n.Entries = list.list
	return err
}

// each reads the values between two brackets, separated by commas. The last may have one as well.
func (r *jsonReader) each(closing byte, element func(i int) error) error {
	r.at++
	if r.blanks(); r.peek() == closing {
		r.at++
		return nil
	}
	for i := 0; ; i++ {
		if r.blanks(); i > 0 && r.peek() == closing {
			r.at++
			return nil
		}
		if err := element(i); err != nil {
			return err
		}
		r.blanks()
		switch r.peek() {
		case ',':
			r.at++
		case closing:
			r.at++
			return nil
		default:
			return r.separator(closing)
		}
	}
}
