package language

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Dialect translates the helpers of a tool. Its functions fail for helpers that have no equivalent.
type Dialect interface {
	// Value returns the expression of a call, or what Choice has made.
	Value(c *Call, s *Scope) (string, error)
	// Kind returns the kind of a value.
	Kind(a Arg, s *Scope) Kind
	// Compare returns the condition of a helper that compares a value with a literal, other than eq; ok
	// is false for other helpers. operator is "" unless the helper orders values.
	Compare(name string, k Kind, operand, operator string, with Arg) (condition string, ok bool, err error)
	// Note notes in which way values differ, unless it is "".
	Note(difference string)
	// Java reports whether the tool uses Handlebars.java instead of Handlebars.js.
	Java() bool
}

// Repeater is a dialect with blocks that are repeated. Repeat returns how often a block is
// repeated, and whether the turns are separated by commas; ok is false for any other block.
type Repeater interface {
	Repeat(c *Call) (times int, commas, ok bool)
}

// Scope describes the blocks around a tag.
type Scope struct {
	Loops []string          // the variables of the loops, from the outermost
	Names []string          // the name of each item in the source, declared by as |name|; "" for none
	Turn  map[string]string // what @index and the like are in a turn of a repeated block
}

// Item returns the operand of a path inside a loop: this, this.a, ./a, @index, or a; "" for other
// paths. In a loop whose item has a name, only that name refers to the item.
func (s *Scope) Item(path string) string {
	if s.Turn[path] != "" {
		return s.Turn[path]
	}
	if len(s.Loops) == 0 {
		return ""
	}
	item := s.Loops[len(s.Loops)-1]
	named := s.Names[len(s.Names)-1] != ""
	if !named && (path == "this" || path == ".") {
		return item
	}
	switch path {
	case "@index":
		return "loop.index|sub:1"
	case "@first":
		return "loop.first"
	case "@last":
		return "loop.last"
	}
	if strings.HasPrefix(path, "@") || strings.HasPrefix(path, "..") {
		return ""
	}
	for i := len(s.Names) - 1; i >= 0; i-- {
		if rest, ok := strings.CutPrefix(path, s.Names[i]); ok && s.Names[i] != "" && (rest == "" || rest[0] == '.') {
			return member(s.Loops[i], strings.TrimPrefix(rest, "."))
		}
	}
	if named {
		return ""
	}
	path = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(path, "this."), "this/"), "./")
	return member(item, path)
}

// Value returns the expression of a call that is a path inside a loop; "" for other calls. Null is an
// empty text.
func (s *Scope) Value(c *Call) string {
	if len(c.Args)+len(c.Hash) > 0 {
		return ""
	}
	item := s.Item(c.Name)
	if strings.HasPrefix(item, "item") {
		item += NullIsEmpty
	}
	return item
}

// member returns the operand of a path inside an item; the item itself for "".
func member(item, path string) string {
	if path == "" {
		return item
	}
	for part := range strings.SplitSeq(path, ".") {
		item = Member(item, strings.Trim(part, "[]"))
	}
	return item
}

// Translate returns a Handlebars template of a tool in the language. Tags without an equivalent stay
// unchanged; each of them is noted, with the reason. A template that cannot be parsed stays
// unchanged as a whole, and the reason is noted.
func Translate(source string, d Dialect) *Template {
	r := hbRenderer{t: &Template{}, dialect: d}
	nodes, err := parseHandlebars(source, d.Java())
	if err != nil {
		r.t.Text(source)
		d.Note(err.Error())
	}
	r.nodes(nodes, &Scope{})
	return r.t
}

type hbRenderer struct {
	t       *Template
	dialect Dialect
	loops   int
	turns   int
}

func (r *hbRenderer) lose(n *hbNode, err error) {
	r.dialect.Note(fmt.Sprintf("%s: %v", short(n.source), err))
}

func (r *hbRenderer) nodes(nodes []hbNode, s *Scope) {
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.call == nil:
			r.t.Text(n.text)
		case n.block:
			r.block(n, s)
		default:
			if expression, err := r.dialect.Value(n.call, s); err != nil {
				r.lose(n, err)
				r.t.Text(n.source)
			} else if text, fixed := constant(expression); fixed {
				r.t.Text(text)
			} else if isChoice(expression) {
				r.t.choice(expression)
			} else {
				r.t.Value(expression)
			}
		}
	}
}

// constant returns the text of an expression that is a quoted text, a whole number or a boolean.
func constant(expression string) (string, bool) {
	if literalArg.MatchString(expression) {
		return expression, true
	}
	if len(expression) < 2 || expression[0] != '"' || strings.ContainsAny(expression[1:len(expression)-1], `"\`) || expression[len(expression)-1] != '"' {
		return "", false
	}
	return expression[1 : len(expression)-1], true
}

func (r *hbRenderer) block(n *hbNode, s *Scope) {
	if repeater, ok := r.dialect.(Repeater); ok {
		if times, commas, ok := repeater.Repeat(n.call); ok {
			r.repeat(n, s, times, commas)
			return
		}
	}
	var condition string
	ok, err := false, error(nil)
	java := r.dialect.Java()
	switch name := n.call.Name; {
	case name == "each" && len(n.call.Args) == 1:
		var list string
		if list, err = listOperand(r.dialect, n.call.Args[0], s); err == nil {
			r.each(n, s, list)
			return
		}
	case java || name == "if" || name == "unless":
		condition, ok, err = Condition(r.dialect, n.call, s)
	}
	if !ok || err != nil {
		if err == nil {
			err = fmt.Errorf("the block %s has no equivalent", n.call.Name)
		}
		r.lose(n, err)
		r.t.Text(n.whole)
		return
	}
	other := n.other
	if java && (n.call.Name == "contains" || n.call.Name == "matches") {
		other = nil // Handlebars.java ignores it
	}
	switch {
	case condition == "true":
		r.nodes(n.body, s)
	case condition == "false":
		r.nodes(other, s)
	default:
		r.t.Tag("{% if " + condition + " %}")
		r.nodes(n.body, s)
		if len(other) > 0 {
			r.t.Tag("{% else %}")
			r.nodes(other, s)
		}
		r.t.Tag("{% endif %}")
	}
}

// each writes a block once for each item of a list.
func (r *hbRenderer) each(n *hbNode, s *Scope, list string) {
	r.loops++
	item := fmt.Sprintf("item%d", r.loops)
	r.t.Tag("{% for " + item + " in " + list + " %}")
	r.nodes(n.body, &Scope{Loops: append(s.Loops[:len(s.Loops):len(s.Loops)], item), Names: append(s.Names[:len(s.Names):len(s.Names)], n.param)})
	r.t.Tag("{% endfor %}")
	if len(n.other) > 0 {
		r.t.Tag("{% if not " + list + `|json matches "^\[\s*[^\]\s]" %}`)
		r.nodes(n.other, s)
		r.t.Tag("{% endif %}")
	}
}

// maxTurns limits how often the blocks of a template are written out, in total.
const maxTurns = 1000

// repeat writes a block several times: each turn on lines of its own, separated by commas, if commas
// is set.
func (r *hbRenderer) repeat(n *hbNode, s *Scope, times int, commas bool) {
	for i := range times {
		if r.turns++; r.turns > maxTurns {
			r.lose(n, fmt.Errorf("it is repeated more than %d times", maxTurns))
			return
		}
		turn := map[string]string{"@index": strconv.Itoa(i), "@total": strconv.Itoa(times), "@first": strconv.FormatBool(i == 0), "@last": strconv.FormatBool(i == times-1)}
		r.nodes(n.body, &Scope{Loops: s.Loops, Names: s.Names, Turn: turn})
		if !commas {
			continue
		}
		if r.t.endsInTag() {
			r.lose(n, errors.New("white space and a comma at the end of a value are kept"))
		}
		if r.t.trimEnd(); i < times-1 {
			r.t.Text(",")
		}
		r.t.Text("\n")
	}
}

// Operand returns the expression of an argument.
func Operand(d Dialect, a Arg, s *Scope) (string, error) {
	if a.Literal {
		if !a.Quoted {
			return a.Text, nil
		}
		return Quote(a.Text), nil
	}
	if a.Call == nil && !d.Java() && s.Item(a.Text) == "" {
		return "", ErrNone // without parentheses it is not the helper of this name
	}
	call := a.Call
	if call == nil {
		call = &Call{Name: a.Text}
	}
	expression, err := d.Value(call, s)
	if err == nil && isChoice(expression) {
		err = errors.New("a default within another helper has no equivalent")
	}
	return expression, err
}

// Condition returns the condition of a helper that tests, compares or combines values, such as if,
// eq or and; ok is false for other helpers.
func Condition(d Dialect, c *Call, s *Scope) (condition string, ok bool, err error) {
	switch name := c.Name; {
	case len(c.Hash) > 0:
	case (name == "if" || name == "unless" || name == "not" && d.Java()) && len(c.Args) == 1:
		condition, err = truth(d, c.Args[0], s)
		if name != "if" && err == nil {
			condition = Negation(condition)
		}
		return condition, true, err
	case (name == "and" || name == "or") && d.Java() && len(c.Args) > 1:
		decisive := strconv.FormatBool(name == "or")
		var all []string
		for _, a := range c.Args {
			one, err := truth(d, a, s)
			if err != nil || one == decisive {
				return one, true, err
			}
			if one != Negation(decisive) {
				all = append(all, one)
			}
		}
		switch {
		case len(all) == 0:
			return Negation(decisive), true, nil
		case name == "and":
			return And(all...), true, nil
		}
		return Or(all...), true, nil
	}
	return comparison(d, c, s)
}

// Negation is Not for a condition that may be "true" or "false".
func Negation(condition string) string {
	switch condition {
	case "true":
		return "false"
	case "false":
		return "true"
	}
	return Not(condition)
}

// truth returns the condition that an argument is true.
func truth(d Dialect, a Arg, s *Scope) (string, error) {
	if a.Call == nil {
		return holds(d, a, s)
	}
	condition, ok, err := Condition(d, a.Call, s)
	switch {
	case !ok:
		return holds(d, a, s)
	case err == nil && condition != "true" && condition != "false":
		condition = "(" + condition + ")"
	}
	return condition, err
}

// Choice returns what is written instead of a value whose presence decides: the value of an
// expression if a condition holds, otherwise a text. Only a placeholder can be replaced by it, not
// the argument of a helper.
func Choice(condition, expression, otherwise string) (string, error) {
	if strings.ContainsAny(otherwise, "\"\\\x00") {
		return "", fmt.Errorf("the default %q has no equivalent", otherwise)
	}
	return "\x00" + condition + "\x00" + expression + "\x00" + otherwise, nil
}

func isChoice(expression string) bool { return strings.HasPrefix(expression, "\x00") }

// choice writes a Choice.
func (t *Template) choice(choice string) {
	parts := strings.SplitN(choice, "\x00", 4)
	t.Tag("{% if " + parts[1] + " %}")
	t.Value(parts[2])
	t.Tag("{% else %}")
	t.Text(parts[3])
	t.Tag("{% endif %}")
}

// short returns a tag as reports show it.
func short(tag string) string {
	if len(tag) > 60 {
		return strings.ToValidUTF8(tag[:57], "") + "…"
	}
	return tag
}

// SingleValue returns the expression of a template that consists of one tag.
func SingleValue(text string, d Dialect) (string, error) {
	nodes, err := parseHandlebars(text, d.Java())
	if err != nil {
		return "", err
	}
	if len(nodes) != 1 || nodes[0].call == nil || nodes[0].block {
		return "", fmt.Errorf("%q is not one value", short(text))
	}
	return Operand(d, Arg{Call: nodes[0].call}, &Scope{})
}
