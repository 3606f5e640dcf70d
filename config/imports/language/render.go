package language

import (
	"fmt"
	"strconv"
	"strings"
)

// Dialect translates the helpers of a tool. Its functions fail for helpers that have no equivalent.
type Dialect interface {
	// Value returns the expression of a call.
	Value(c *Call, s *Scope) (string, error)
	// Condition returns the condition of a block; ok is false for a block that is not a condition.
	Condition(c *Call, s *Scope) (condition string, ok bool, err error)
}

// Repeater is a dialect with blocks that are repeated. Repeat returns how often a block is
// repeated; 0 for any other block.
type Repeater interface{ Repeat(c *Call) int }

// Scope describes the blocks around a tag.
type Scope struct {
	Loops []string // the variables of the loops, from the outermost
	Names []string // the name of each item in the source, declared by as |name|; "" for none
	Turn  string   // the index of the current turn of a repeated block; "" outside such a block
}

// Item returns the operand of a path inside a loop: this, this.a, ./a, @index, or a; "" for other
// paths. In a loop whose item has a name, only that name refers to the item.
func (s *Scope) Item(path string) string {
	if path == "@index" && s.Turn != "" {
		return s.Turn
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

// Handlebars translates a Handlebars template and appends it to t. Tags without an equivalent stay
// unchanged; lost describes the first of them, with the reason. A template that cannot be parsed
// stays unchanged as a whole, and lost is the reason.
func Handlebars(t *Template, text string, d Dialect) (lost string) {
	if !strings.Contains(text, "{{") {
		t.Text(text)
		return ""
	}
	nodes, err := parseHandlebars(text)
	if err != nil {
		t.Text(text)
		return err.Error()
	}
	r := hbRenderer{t: t, dialect: d}
	r.nodes(nodes, &Scope{})
	return r.lost
}

type hbRenderer struct {
	t       *Template
	dialect Dialect
	lost    string
	loops   int
	turns   int
}

func (r *hbRenderer) lose(n *hbNode, err error) {
	if r.lost == "" {
		r.lost = fmt.Sprintf("%s: %v", short(n.source), err)
	}
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
			} else {
				r.t.Value(expression)
			}
		}
	}
}

// constant returns the text of an expression that is a quoted text.
func constant(expression string) (string, bool) {
	if len(expression) < 2 || expression[0] != '"' || strings.ContainsAny(expression[1:len(expression)-1], `"\`) || expression[len(expression)-1] != '"' {
		return "", false
	}
	return expression[1 : len(expression)-1], true
}

func (r *hbRenderer) block(n *hbNode, s *Scope) {
	if repeater, ok := r.dialect.(Repeater); ok {
		if times := repeater.Repeat(n.call); times > 0 {
			r.repeat(n, s, times)
			return
		}
	}
	if n.call.Name == "each" && len(n.call.Args) == 1 {
		list, err := r.dialect.Value(argCall(n.call.Args[0]), s)
		if err == nil && !strings.Contains(list, "|") && !strings.Contains(list, "(") {
			r.loops++
			item := fmt.Sprintf("item%d", r.loops)
			r.t.Tag("{% for " + item + " in " + list + " %}")
			r.nodes(n.body, &Scope{Loops: append(s.Loops[:len(s.Loops):len(s.Loops)], item), Names: append(s.Names[:len(s.Names):len(s.Names)], n.param)})
			r.t.Tag("{% endfor %}")
			if len(n.other) > 0 {
				r.t.Tag("{% if not " + list + " %}")
				r.nodes(n.other, s)
				r.t.Tag("{% endif %}")
			}
			return
		}
	}
	condition, ok, err := r.dialect.Condition(n.call, s)
	if !ok || err != nil {
		if err == nil {
			err = fmt.Errorf("the block %s has no equivalent", n.call.Name)
		}
		r.lose(n, err)
		r.t.Text(n.source)
		return
	}
	r.t.Tag("{% if " + condition + " %}")
	r.nodes(n.body, s)
	if len(n.other) > 0 {
		r.t.Tag("{% else %}")
		r.nodes(n.other, s)
	}
	r.t.Tag("{% endif %}")
}

// maxTurns limits how often the blocks of a template are written out, in total.
const maxTurns = 1000

// repeat writes a block several times, separated by commas.
func (r *hbRenderer) repeat(n *hbNode, s *Scope, times int) {
	for i := range times {
		if r.turns++; r.turns > maxTurns {
			r.lose(n, fmt.Errorf("it is repeated more than %d times", maxTurns))
			return
		}
		if i > 0 {
			r.t.Text(",")
		}
		r.nodes(n.body, &Scope{Loops: s.Loops, Names: s.Names, Turn: strconv.Itoa(i)})
	}
}

// argCall returns an argument as a call.
func argCall(a Arg) *Call {
	if a.Call != nil {
		return a.Call
	}
	return &Call{Name: a.Text, Hash: map[string]Arg{}}
}

// Operand returns the expression of an argument.
func Operand(d Dialect, a Arg, s *Scope) (string, error) {
	if a.Literal {
		if !a.Quoted {
			return a.Text, nil
		}
		return Quote(a.Text), nil
	}
	return d.Value(argCall(a), s)
}

// Comparison returns the condition of a helper that tests, compares or combines values, such as if,
// eq or and; ok is false for other helpers.
func Comparison(d Dialect, c *Call, s *Scope) (condition string, ok bool, err error) {
	operators := map[string]string{"eq": "=", "neq": "!=", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
	operator, compares := operators[c.Name]
	switch {
	case compares && len(c.Args) == 2:
		left, err := Operand(d, c.Args[0], s)
		if err != nil {
			return "", true, err
		}
		right, err := Operand(d, c.Args[1], s)
		return left + " " + operator + " " + right, true, err
	case (c.Name == "if" || c.Name == "unless" || c.Name == "not") && len(c.Args) == 1:
		condition, err = truth(d, c.Args[0], s)
		if c.Name != "if" && err == nil {
			condition = Not(condition)
		}
		return condition, true, err
	case (c.Name == "and" || c.Name == "or") && len(c.Args) > 1:
		var all []string
		for _, a := range c.Args {
			one, err := truth(d, a, s)
			if err != nil {
				return "", true, err
			}
			all = append(all, one)
		}
		if c.Name == "and" {
			return And(all...), true, nil
		}
		return Or(all...), true, nil
	}
	return "", false, nil
}

// truth returns the condition that an argument is true.
func truth(d Dialect, a Arg, s *Scope) (string, error) {
	if a.Call != nil {
		if condition, ok, err := d.Condition(a.Call, s); ok {
			return "(" + condition + ")", err
		}
	}
	return Operand(d, a, s)
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
	nodes, err := parseHandlebars(text)
	if err != nil {
		return "", err
	}
	if len(nodes) != 1 || nodes[0].call == nil || nodes[0].block {
		return "", fmt.Errorf("%q is not one value", short(text))
	}
	return d.Value(nodes[0].call, &Scope{})
}
