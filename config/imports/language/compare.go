package language

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrNone is the error for what has no equivalent.
var ErrNone = errors.New("it has no equivalent")

// Kind is what a tool makes of a value. It decides about truth and equality.
type Kind uint8

// The kinds of values.
const (
	KindUnknown  Kind = iota
	KindText          // a text
	KindOptional      // a text, or nothing
	KindList          // the values of a parameter, or nothing; it equals no text
	KindObject        // it is true and equals no text
	KindSafe          // a SafeString of Handlebars.js: it is true and equals the text that it writes
	KindFound         // a JSON value; null and nothing are an empty text
	KindJSON          // a JSON value
	KindNumber
)

// Notes collects why an item is not exact.
type Notes struct {
	Differ []string // in which ways it differs
	Gone   string   // why it cannot be served; "" if it can
}

// Note adds a difference, unless it is "".
func (n *Notes) Note(what string) {
	if what != "" && !slices.Contains(n.Differ, what) {
		n.Differ = append(n.Differ, what)
	}
}

// Lose says why the item cannot be served; the first reason counts.
func (n *Notes) Lose(why string, args ...any) {
	if len(args) > 0 {
		why = fmt.Sprintf(why, args...)
	}
	n.Gone = cmp.Or(n.Gone, why)
}

// Add adds what another Notes has collected.
func (n *Notes) Add(inner Notes) {
	for _, what := range inner.Differ {
		n.Note(what)
	}
	n.Gone = cmp.Or(n.Gone, inner.Gone)
}

// Try returns a condition, unless it cannot be made: then the item is lost.
func (n *Notes) Try(condition string, err error) string {
	if err != nil {
		n.Lose(err.Error())
	}
	return condition
}

// Narrow is like Try for a condition that may hold for fewer requests, which it notes.
func (n *Notes) Narrow(condition, narrower string, err error) string {
	n.Note(narrower)
	return n.Try(condition, err)
}

// Bare returns an operand without the default that makes null an empty text.
func Bare(operand string) string { return strings.TrimSuffix(operand, NullIsEmpty) }

// holds returns the condition that an argument is true; "true" or "false" if it does not depend on
// the request.
func holds(d Dialect, a Arg, s *Scope) (string, error) {
	if a.Literal {
		return strconv.FormatBool(a.Text != "" && (a.Quoted || a.Text != "0" && a.Text != "false")), nil
	}
	if item := s.Item(a.Text); item != "" && (a.Text == "@first" || a.Text == "@last") {
		return item, nil
	}
	operand, err := Operand(d, a, s)
	switch d.Kind(a, s) {
	case KindUnknown:
		return "", ErrNone
	case KindList:
		return Present(operand), err
	case KindObject, KindSafe:
		return "true", err
	case KindFound, KindJSON:
		return JSONHolds(Bare(operand)), err
	case KindNumber:
		if literalArg.MatchString(operand) {
			return strconv.FormatBool(operand != "0"), err
		}
		return operand, err
	}
	return operand + ` != ""`, err
}

// JSONHolds returns the condition that Handlebars regards a JSON value as true.
func JSONHolds(operand string) string {
	return And(Present(operand), "not "+operand+"|json matches "+Quote(`^(?:false|""|\[\s*\]|-?0(?:\.0*)?(?:[eE].*)?)$`))
}

// listOperand returns the operand of an array that is repeated.
func listOperand(d Dialect, a Arg, s *Scope) (string, error) {
	operand, err := Operand(d, a, s)
	if _, ofJSON, ok := strings.Cut(operand, "|default:json-params"); ok { // a field of a form is no array
		operand = "json-params" + ofJSON
	}
	operand = Bare(operand)
	if k := d.Kind(a, s); err == nil && (k != KindFound && k != KindJSON || strings.Contains(operand, "|")) {
		err = errors.New("only arrays of JSON can be repeated")
	}
	return operand, err
}

// comparison returns the condition of a helper that compares two values.
func comparison(d Dialect, c *Call, s *Scope) (condition string, ok bool, err error) {
	operators := map[string]string{"eq": " = ", "neq": " = ", "gt": " > ", "gte": " >= ", "lt": " < ", "lte": " <= "}
	operator, ok := operators[c.Name]
	if len(c.Args) != 2 || len(c.Hash) > 0 || c.Name == "neq" && !d.Java() {
		return "", false, nil
	}
	left, right := c.Args[0], c.Args[1]
	if left.Literal && ok {
		left, right = right, left
		operator = strings.NewReplacer("<", ">", ">", "<").Replace(operator)
	}
	operand, err := Operand(d, left, s)
	switch k := d.Kind(left, s); {
	case err != nil:
	case operator == " = ":
		condition, err = equal(d, left, right, operand, s)
		if c.Name == "neq" {
			condition = Negation(condition)
		}
	case k == KindUnknown || k == KindList || k == KindObject || !right.Literal || left.Literal:
		err = ErrNone
	default:
		return d.Compare(c.Name, k, operand, operator, right)
	}
	return condition, true, err
}

// equal returns the condition that two values are equal and of the same kind; right is a literal if
// one of them is.
func equal(d Dialect, left, right Arg, operand string, s *Scope) (string, error) {
	k, k2 := d.Kind(left, s), d.Kind(right, s)
	switch single := k == KindList || k == KindObject; {
	case left.Literal && right.Literal:
		return strconv.FormatBool(left == right), nil
	case k == KindUnknown || k2 == KindUnknown || single && k == k2:
		return "", ErrNone
	case single || k2 == KindList || k2 == KindObject:
		return "false", nil
	case !right.Literal:
		return equalValues(d, k, k2, operand, right, s)
	case right.Quoted:
		return equalQuoted(d, k, operand, right.Text), nil
	case k == KindNumber && literalArg.MatchString(operand):
		return strconv.FormatBool(operand == right.Text), nil
	case k == KindNumber:
		return operand + " = " + right.Text, nil
	case k == KindFound || k == KindJSON:
		return Bare(operand) + "|json = " + right.Text, nil
	}
	return "false", nil
}

func equalValues(d Dialect, k, k2 Kind, operand string, right Arg, s *Scope) (string, error) {
	other, err := Operand(d, right, s)
	empty := ""
	if !d.Java() { // a missing value equals an empty text
		empty = NullIsEmpty
		if k != KindText || k2 != KindText {
			err = ErrNone
		}
	}
	return operand + empty + "|json = " + other + empty + "|json", err
}

// equalQuoted returns the condition that a value is a text.
func equalQuoted(d Dialect, k Kind, operand, text string) string {
	switch {
	case k == KindNumber:
		return "false"
	case text == "" && !d.Java():
		return Bare(operand) + ` = ""`
	case k == KindFound:
		return EqualString(operand, text)
	case k == KindJSON:
		return EqualString(Bare(operand), text)
	case k == KindSafe:
		return EqualText(operand, text)
	}
	return Equal(operand, text)
}

// EqualText returns the condition that a value is written as a text, whether it is a text or a
// number of JSON.
func EqualText(operand, text string) string {
	if v, err := strconv.ParseFloat(text, 64); err != nil || strconv.FormatFloat(v, 'f', -1, 64) != text || !strings.Contains(operand, "json-params") {
		return Equal(operand, text)
	}
	return Or(operand+"|json = "+text, operand+"|json = "+Quote(Quote(text)))
}
