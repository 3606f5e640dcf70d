package language

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"mockserver/config/syntax"
)

// Helper translates a helper of a tool.
type Helper func(d Dialect, c *Call, s *Scope) (string, error)

// Filtered returns a helper with one argument that a filter of the language implements.
func Filtered(name string) Helper {
	return func(d Dialect, c *Call, s *Scope) (string, error) {
		if len(c.Args) != 1 || len(c.Hash) > 0 {
			return "", ErrNone
		}
		operand, err := Operand(d, c.Args[0], s)
		return operand + "|" + name, err
	}
}

// Join is the helper that joins the items of an array. To Handlebars.java, the separator may come
// first.
func Join(d Dialect, c *Call, s *Scope) (string, error) {
	if len(c.Args) != 2 || len(c.Hash) > 0 {
		return "", ErrNone
	}
	values, separator := c.Args[0], c.Args[1]
	if values.Literal && d.Java() {
		values, separator = separator, values
	}
	operand, err := Operand(d, values, s)
	if k := d.Kind(values, s); err == nil && k != KindFound && k != KindJSON || !separator.Literal {
		err = errors.New("only arrays of JSON can be joined")
	}
	d.Note("join writes null for null")
	return Bare(operand) + "|join:" + Quote(separator.Text), err
}

// Pick returns the expression that picks one of several literals.
func Pick(args []Arg) (string, error) {
	all := make([]string, len(args))
	for i, a := range args {
		if all[i] = a.Text; a.Quoted {
			all[i] = Quote(a.Text)
		}
		if !a.Literal {
			return "", ErrNone
		}
	}
	if len(all) == 0 {
		return "", ErrNone
	}
	return "pick(" + strings.Join(all, ", ") + ")", nil
}

// RandomInt returns the expression of a whole number between two bounds, which are arguments or "".
func RandomInt(low, high string, least, most int) (string, error) {
	for i, text := range []string{low, high} {
		if n, err := strconv.Atoi(text); err == nil {
			*[]*int{&least, &most}[i] = n
		} else if text != "" {
			return "", ErrNone
		}
	}
	if least > most || least < math.MinInt32 || most > math.MaxInt32 {
		return "", ErrNone
	}
	return fmt.Sprintf("random-int(%d, %d)", least, most), nil
}

//go:embed expressions.yml
var expressionsText []byte

// expressions are the expressions for values of other tools, by tool.
var expressions = sync.OnceValues(func() (*syntax.Node, error) { return syntax.ReadOne("expressions.yml", expressionsText) })

// ExpressionFor returns the expression for a value that a tool makes under a name; "" if there is none.
func ExpressionFor(tool, name string) string {
	all, _ := expressions() // a test reads it
	return all.Get(tool, name).AsText()
}
