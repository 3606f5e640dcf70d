package bench

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// A condition of an endpoint is read here a second time, to find requests that meet
// it: package renderer compiles conditions to be asked, not to be solved. What is
// found is tried on the server itself, so reading may be coarse.

// wish is one comparison that a request is to make true.
type wish struct {
	variable string   // "query-params.page"; "" when the left side is no variable
	filters  []string // behind it, names only
	by       string   // the variable that a filter calculates with
	operator string   // = != > < >= <= contains matches; "" for a lone operand
	operand  string   // on the right side
	quoted   bool     // it is a text, whatever it looks like
	holds    bool     // false: it is to be made untrue
}

// condition is a condition as it is read: a comparison, or several joined.
type condition struct {
	join  string // "and", "or", "not"; "" for a comparison
	parts []condition
	wish  wish
}

// lexeme is a word, an operator or a text in quotes.
type lexeme struct {
	text   string
	quoted bool
}

func (l lexeme) is(text string) bool { return l.text == text && !l.quoted }

// readCondition reads a condition; ok is false for what it does not understand.
func readCondition(text string) (c condition, ok bool) {
	r := &conditionReader{}
	for len(text) > 0 {
		var l lexeme
		if l, text = nextLexeme(text); l.text != "" || l.quoted {
			r.rest = append(r.rest, l)
		}
	}
	c = r.either()
	return c, !r.lost && len(r.rest) == 0
}

// nextLexeme cuts the first lexeme off; an empty one is none.
func nextLexeme(text string) (lexeme, string) {
	text = strings.TrimLeft(text, " \t\r\n")
	if text == "" {
		return lexeme{}, ""
	}
	switch c := text[0]; {
	case c == '"' || c == '\'':
		return quotedLexeme(text)
	case strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "}}"):
		return lexeme{}, text[2:] // {{ variable }} is the variable
	case strings.HasPrefix(text, "!="), strings.HasPrefix(text, ">="), strings.HasPrefix(text, "<="):
		return lexeme{text: text[:2]}, text[2:]
	case strings.IndexByte("()|:,=<>!{}", c) >= 0:
		return lexeme{text: text[:1]}, text[1:]
	}
	n := strings.IndexAny(text, " \t\r\n|():,\"'=<>!{}")
	if n < 0 {
		n = len(text)
	}
	return lexeme{text: text[:n]}, text[n:]
}

// quotedLexeme reads a text in quotes, with the escapes of the template language.
func quotedLexeme(text string) (lexeme, string) {
	var b strings.Builder
	quote := text[0]
	for i := 1; i < len(text); i++ {
		c := text[i]
		if c == quote {
			return lexeme{b.String(), true}, text[i+1:]
		}
		if c == '\\' && i+1 < len(text) {
			i++
			if n := strings.IndexByte("nrt", text[i]); n >= 0 {
				b.WriteByte("\n\r\t"[n])
				continue
			}
			if text[i] != quote && text[i] != '\\' {
				b.WriteByte('\\')
			}
			c = text[i]
		}
		b.WriteByte(c)
	}
	return lexeme{b.String(), true}, ""
}

type conditionReader struct {
	rest  []lexeme
	depth int
	lost  bool // something was not understood
}

func (r *conditionReader) next() lexeme {
	if len(r.rest) == 0 {
		return lexeme{}
	}
	l := r.rest[0]
	r.rest = r.rest[1:]
	return l
}

func (r *conditionReader) have(text string) bool {
	if len(r.rest) == 0 || !r.rest[0].is(text) {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *conditionReader) either() condition { return r.joined("or", r.both) }
func (r *conditionReader) both() condition   { return r.joined("and", r.one) }

func (r *conditionReader) joined(word string, part func() condition) condition {
	parts := []condition{part()}
	for r.have(word) {
		parts = append(parts, part())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return condition{join: word, parts: parts}
}

func (r *conditionReader) one() condition {
	const deepest = 100 // conditions that people write are no deeper
	if r.depth++; r.depth > deepest {
		r.lost = true
	}
	defer func() { r.depth-- }()
	switch {
	case r.lost:
		return condition{}
	case r.have("not"):
		return condition{join: "not", parts: []condition{r.one()}}
	case r.have("("):
		c := r.either()
		r.lost = r.lost || !r.have(")")
		return c
	}
	return r.comparison()
}

var operators = []string{"=", "!=", ">", "<", ">=", "<=", "contains", "matches"}

func (r *conditionReader) comparison() condition {
	left, filters, by := r.operand()
	c := condition{wish: wish{filters: filters, by: by, holds: true}}
	if !left.quoted && isVariable(left.text) {
		c.wish.variable = left.text
	}
	for _, op := range operators {
		if r.have(op) {
			right, _, _ := r.operand()
			c.wish.operator, c.wish.operand, c.wish.quoted = op, right.text, right.quoted
			break
		}
	}
	return c
}

// isVariable tells whether a word is something of a request that can be chosen.
func isVariable(word string) bool { return strings.Contains(word+".", "-params.") || word == "body" }

// operand reads a variable or literal, the names of its filters, and the variable
// that one of these takes.
func (r *conditionReader) operand() (l lexeme, filters []string, by string) {
	l = r.next()
	if l.text == "" && !l.quoted {
		r.lost = true
	}
	if r.have("(") { // a function
		for len(r.rest) > 0 && !r.have(")") {
			r.next()
		}
	}
	for r.have("|") {
		filters = append(filters, r.next().text)
		if !r.have(":") {
			continue
		}
		if argument := r.next(); !argument.quoted && isVariable(argument.text) && filters[len(filters)-1] != "default" {
			by = argument.text
		}
	}
	return l, filters, by
}

const mostWays = 24 // in which a condition is tried to be met

// ways are the ways to make a condition hold, or not to: each is a list of wishes
// that are to come true together.
func (c *condition) ways(holds bool) [][]wish {
	switch {
	case c.join == "":
		w := c.wish
		w.holds = holds
		return [][]wish{{w}}
	case c.join == "not":
		return c.parts[0].ways(!holds)
	case (c.join == "or") == holds: // one part is enough
		var all [][]wish
		for i := range c.parts {
			all = append(all, c.parts[i].ways(holds)...)
		}
		return all[:min(len(all), mostWays)]
	}
	all := [][]wish{nil}
	for i := range c.parts {
		var longer [][]wish
		for _, way := range all {
			for _, more := range c.parts[i].ways(holds) {
				longer = append(longer, append(way[:len(way):len(way)], more...))
			}
		}
		all = longer[:min(len(longer), mostWays)]
	}
	return all
}

// filtered tells whether the variable goes through one of the filters.
func (w *wish) filtered(names ...string) bool {
	return slices.ContainsFunc(w.filters, func(f string) bool { return slices.Contains(names, f) })
}

// calculated tells whether a number is made of the variable, so that what it is to be
// can only be guessed.
func (w *wish) calculated() bool { return w.filtered("add", "sub", "mul") }

// met tells whether a value, as value gives it, fulfils the wish. Where that cannot be
// told it says yes: the server has the last word.
func (w *wish) met(value string, missing bool) bool {
	if w.calculated() || missing && w.filtered("default") {
		return true
	}
	text := value
	if strings.HasPrefix(w.variable, "json-params") && !w.filtered("json") {
		if unquoted, err := strconv.Unquote(value); err == nil {
			text = unquoted
		}
	}
	if w.filtered("length") {
		text = strconv.Itoa(len(text))
	}
	return w.true(text, missing) == w.holds
}

// true tells whether the comparison holds for a text.
func (w *wish) true(text string, missing bool) bool {
	if w.filtered("lower", "upper", "trim") {
		text = strings.ToLower(strings.TrimSpace(text))
	}
	switch w.operator {
	case "":
		return !missing && text != "" && text != "false" && text != "0"
	case "=":
		return w.equal(text, missing)
	case "!=":
		return !w.equal(text, missing)
	case "contains":
		return !missing && strings.Contains(text, w.operand)
	case "matches":
		re, err := regexp.Compile(w.operand)
		return err == nil && !missing && re.MatchString(text)
	}
	if missing {
		return false
	}
	order := w.compare(text)
	return order == 0 && strings.HasSuffix(w.operator, "=") || order > 0 && w.operator[0] == '>' || order < 0 && w.operator[0] == '<'
}

func (w *wish) equal(text string, missing bool) bool {
	if missing {
		return w.operand == "" || w.operand == "null" && !w.quoted
	}
	return w.compare(text) == 0
}

// compare compares a text with the operand: two numbers as such.
func (w *wish) compare(text string) int {
	a, errA := strconv.ParseFloat(text, 64)
	b, errB := strconv.ParseFloat(w.operand, 64)
	if errA == nil && errB == nil {
		return cmp.Compare(a, b)
	}
	return strings.Compare(text, w.operand)
}

// value is a value that fulfils the wish, as far as that can be told: a JSON literal for
// json-params, else a text. missing is true when there is to be none. variant asks
// for another one.
func (w *wish) value(variant int) (value string, missing bool) {
	number, err := strconv.ParseFloat(w.operand, 64)
	operator, holds := w.operator, w.holds
	if opposite, ok := map[string]string{"=": "!=", "!=": "=", ">": "<=", "<": ">=", ">=": "<", "<=": ">"}[operator]; ok && !holds {
		operator = opposite
	}
	nothing := w.operand == "" || w.operand == "null" && !w.quoted
	switch operator {
	case "":
		return w.plain("1"), !holds
	case "=":
		return w.plain(w.operand), nothing
	case "!=":
		switch {
		case nothing:
			return w.plain("1"), false
		case w.filtered("default") || variant%2 == 1:
			return "", true
		case err == nil:
			return w.plain(amount(number + 1)), false
		case w.operand == "true":
			return w.plain("false"), false
		}
		return w.plain(w.operand + "x"), false
	case ">", ">=", "<", "<=":
		if err != nil {
			number = 0
		}
		// Where the other side or a filter changes the number, far away is as good.
		step := []float64{1, 1000, 1e13}[variant%3]
		if operator[0] == '<' {
			step = -step
		}
		return w.plain(amount(number + step)), false
	case "contains":
		if !holds {
			return w.plain("x"), true
		}
		return w.plain(w.operand), false
	case "matches":
		return w.matching(holds, variant)
	}
	return "", true
}

// far is a number that is far on the side where the wish is fulfilled.
func (w *wish) far() string {
	if strings.HasPrefix(w.operator, "<") == w.holds {
		return "1"
	}
	return "100"
}

func amount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// plain is a text as the variable takes it: in a JSON body numbers, true and false
// stand for themselves, unless the condition says text.
func (w *wish) plain(text string) string {
	if w.filtered("length") {
		if n, err := strconv.Atoi(text); err == nil {
			text = strings.Repeat("x", min(max(n, 0), 1000))
		}
	}
	if !strings.HasPrefix(w.variable, "json-params") {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); !w.quoted && (err == nil || text == "true" || text == "false") {
		return text
	}
	return strconv.Quote(text)
}

// literals are JSON values of every kind, among which one is looked for.
var literals = []string{`"text"`, `1`, `7`, `true`, `[]`, `["a"]`, `{}`, `"a-b"`, `"2"`, `0`, `100`, `null`}

// strange are texts of which an expression is not likely to take all.
var strange = []string{"x", "0", "-", "~ ~", "7", "x_1"}

// matching is a value that matches the operand, or one that does not.
func (w *wish) matching(holds bool, variant int) (value string, missing bool) {
	re, err := regexp.Compile(w.operand)
	if err != nil {
		return "", true
	}
	if w.filtered("json") {
		for n := range literals {
			if text := literals[(n+variant)%len(literals)]; re.MatchString(text) == holds {
				return text, false
			}
		}
	}
	if !holds {
		for n := range strange {
			if text := strange[(n+variant)%len(strange)]; !re.MatchString(text) {
				return w.plain(text), false
			}
		}
		return "", true
	}
	tree, err := syntax.Parse(w.operand, syntax.Perl)
	if err != nil {
		return "", true
	}
	s := sampler{variant: variant, room: 1000}
	s.write(tree)
	w.quoted = w.quoted && !re.MatchString("1") // a text of digits may be a number
	return w.plain(s.b.String()), !re.MatchString(s.b.String())
}
