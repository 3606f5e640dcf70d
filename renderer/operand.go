package renderer

import (
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/matcher"
	"mockserver/renderer/scalar"
	"mockserver/renderer/value"
)

// Operand is a single compiled operand, like those of conditions. It is immutable and safe for
// concurrent use.
type Operand struct {
	expr expr
	text *Template // of a text with placeholders; nil for any other operand
	json bool      // the text is JSON itself; see CompileMade
}

// CompileOperand parses an operand as in a condition: a variable with or without filters, a number,
// a text in quotes, true, false, null, or a bare word, which is a text; or a text with placeholders,
// with or without quotes around it. The result is nil for an empty text, and if any of the problems
// is an error.
func CompileOperand(text syntax.Text, scope *Scope) (*Operand, syntax.Problems) {
	if inner, ok := withPlaceholders(text); ok {
		t, problems := Compile(inner, Plain, scope)
		if t == nil {
			return nil, problems
		}
		return &Operand{text: t}, problems
	}
	s := newSource(text, scope)
	sc := newScanner(s, 0, len(text.Value))
	if sc.tok.kind == endToken {
		return nil, nil
	}
	sc.bare = true
	e, ok := sc.conditionOperand()
	if ok && sc.tok.kind != endToken && sc.tok.kind != badToken {
		sc.fail(sc.tok.offset, "unexpected %s; expected one operand, as in a condition; a text with blanks is written in quotes", sc.tok.describe())
	}
	if s.problems.Err() != nil {
		return nil, s.problems
	}
	return &Operand{expr: e}, s.problems
}

// withPlaceholders returns an operand that is a text with placeholders, without the quotes around
// it.
func withPlaceholders(text syntax.Text) (inner syntax.Text, ok bool) {
	v := text.Value
	before, _, ok := strings.Cut(v, "{{")
	if !ok || IsPlaceholder(v) {
		return text, false
	}
	if n := len(v) - 1; n > 0 && (v[0] == '"' || v[0] == '\'') && v[n] == v[0] {
		text.Value, text.Pos = v[1:n], text.At(1)
		return text, true
	}
	return text, !strings.ContainsAny(before, "|\"' ") // the braces are not inside the argument of a filter
}

// Word returns the text of an operand that is a bare word.
func (o *Operand) Word() (word string, ok bool) {
	if o == nil || o.text != nil || o.expr.op != opLiteral || !o.expr.bare {
		return "", false
	}
	return string(o.expr.literal.Raw), true
}

func (o *Operand) value(r *matcher.Request) value.Value {
	if o.text == nil {
		return o.expr.eval(r, nil)
	}
	r.Line = o.text.Append(r.Line[:0], r) // not in the arena, to which the parts of the text are appended
	return value.Appended(r, append(r.Arena, r.Line...))
}

// Text returns the operand as a text, which is valid until the request is released. ok is false if
// the value is missing or null.
func (o *Operand) Text(r *matcher.Request) (text []byte, ok bool) {
	v := o.value(r)
	if v.Kind == value.Missing || v.Kind == value.Null {
		return nil, false
	}
	return v.Text(r), true
}

// AppendJSON appends the operand as a JSON text; null for a missing value.
func (o *Operand) AppendJSON(dst []byte, r *matcher.Request) []byte {
	switch {
	case o.text == nil:
		return o.expr.eval(r, nil).AppendJSON(dst)
	case o.json:
		return o.text.Append(dst, r)
	}
	r.Line = o.text.Append(r.Line[:0], r) // as in value
	return json.AppendString(dst, r.Line)
}

// Number returns the operand if it is a number, or a text that is one.
func (o *Operand) Number(r *matcher.Request) (digits []byte, ok bool) {
	v := o.value(r)
	return v.Raw, v.IsNumeric()
}

// CompileMade compiles a value that is computed for each request, as JSON: a text with placeholders
// or, if isJSON is set, a JSON text. A text, or a string in a JSON text, that is one placeholder
// becomes the value of the placeholder, whatever its kind.
func CompileMade(text syntax.Text, isJSON bool, scope *Scope) (*Operand, syntax.Problems) {
	form := Plain
	switch {
	case isJSON:
		form = JSON
	case IsPlaceholder(text.Value):
		return CompileOperand(text, scope)
	}
	t, problems := compile(text, form, scope, writeJSONKind)
	if t == nil {
		return nil, problems
	}
	return &Operand{text: t, json: isJSON}, problems
}

// IsPlaceholder reports whether a text is one placeholder, apart from blanks around it.
func IsPlaceholder(text string) bool {
	inner, opens := strings.CutPrefix(strings.TrimSpace(text), "{{")
	body, closes := strings.CutSuffix(inner, "}}")
	return opens && closes && !strings.Contains(body, "}}") && !strings.HasPrefix(body, "#") && !strings.HasPrefix(body, "{")
}

// Object returns the value if it is the value of a placeholder, and an object. It is valid until
// the request is released.
func (o *Operand) Object(r *matcher.Request) (object json.Value, ok bool) {
	if o.text != nil {
		return object, false
	}
	v := o.expr.eval(r, nil)
	return json.Value{Kind: v.Kind, Raw: v.Raw}, v.Kind == json.Object
}

// AppendOrdered appends the operand as the function AppendOrdered does.
func (o *Operand) AppendOrdered(dst []byte, r *matcher.Request) []byte {
	v := o.value(r)
	if v.Kind == value.Missing || v.Kind == value.Null {
		return append(dst, orderedNull)
	}
	return appendOrderedText(dst, v.Text(r))
}

// The first bytes of values in their ordered form.
const (
	orderedNull = iota + 1
	orderedFalse
	orderedTrue
	orderedNumber
	orderedText
)

// AppendOrdered appends a JSON value in a form without zero bytes that sorts, byte by byte, as the
// values do: missing values and null, false, true, numbers, and texts; an array or an object is its
// JSON text. Values that a condition treats as equal have equal forms: a text that is a number has
// the form of that number.
func AppendOrdered(dst []byte, v json.Value) []byte {
	switch v.Kind {
	case json.Missing, json.Null:
		return append(dst, orderedNull)
	case json.Number:
		return scalar.AppendOrdered(append(dst, orderedNumber), v.Raw)
	case json.String:
		var room [128]byte
		return appendOrderedText(dst, v.AppendText(room[:0]))
	}
	return appendOrderedText(dst, v.Raw)
}

func appendOrderedText(dst, b []byte) []byte {
	switch {
	case string(b) == "true":
		return append(dst, orderedTrue)
	case string(b) == "false":
		return append(dst, orderedFalse)
	case scalar.IsNumeric(b):
		return scalar.AppendOrdered(append(dst, orderedNumber), b)
	}
	return appendWithoutZeros(append(dst, orderedText), b)
}

// appendWithoutZeros appends b with each byte 0 or 1 written as two bytes, which keeps the order.
func appendWithoutZeros(dst, b []byte) []byte {
	for _, c := range b {
		if c <= 1 {
			dst = append(dst, 1)
			c++
		}
		dst = append(dst, c)
	}
	return dst
}
