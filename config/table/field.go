package table

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/flags"
	"mockserver/internal/json"
)

// Of returns the field of a key whose value is stored in a Go field; see KeyOf.
func Of[T any](r Row) Field[T] {
	value := goField[T](cmp.Or(r.Of, r.Key))
	given := func(*T) reflect.Value { return reflect.ValueOf(new(bool)).Elem() }
	if r.Given != "" {
		given = goField[T](r.Given)
	}
	return With(r, func(d *Decoder, v Value, into *T) {
		if d.store(v, value(into).Addr().Interface()) {
			given(into).SetBool(true)
		} else {
			d.Refuse(v)
		}
	})
}

// Map returns the field of a key whose value is a map with a table of its own. The Go field is a
// *U, whose fields Pos and Key, if it has them, are set to the position and key path of the map.
func Map[T, U any](r Row, fields []Field[U]) Field[T] {
	return Made[T](r, fields, func(d *Decoder, v Value) *U {
		u := new(U)
		if at := reflect.ValueOf(u).Elem().FieldByName("Pos"); at.IsValid() {
			at.Set(reflect.ValueOf(v.Pos()))
		}
		if key := reflect.ValueOf(u).Elem().FieldByName("Key"); key.IsValid() {
			key.SetString(v.Key)
		}
		Fill(d, v.Node, v.Key, fields, u)
		return u
	})
}

// Made returns the field of a key whose value is a map with a table of its own that decode decodes.
// The Go field is a *U. V, the type of the table, may be another form of U that only decoding uses.
func Made[T, U, V any](r Row, fields []Field[V], decode func(d *Decoder, v Value) *U) Field[T] {
	r.Kinds, r.Table = Maps, Rows(fields)
	return By[T](r, decode)
}

// By returns the field of a key whose value decode returns. It is stored in the Go field, a U; see KeyOf.
func By[T, U any](r Row, decode func(d *Decoder, v Value) U) Field[T] {
	value := goField[T](cmp.Or(r.Of, r.Key))
	return With(r, func(d *Decoder, v Value, into *T) { value(into).Set(reflect.ValueOf(decode(d, v))) })
}

// goField returns a function that returns the Go field of a key.
func goField[T any](key string) func(of *T) reflect.Value {
	path := locate(reflect.TypeFor[T](), key)
	if path == nil {
		panic("table: no Go field for the key " + key) // only while the program starts
	}
	return func(of *T) reflect.Value { return reflect.ValueOf(of).Elem().FieldByIndex(path) }
}

// store puts a value into a Go field if its row accepts it.
func (d *Decoder) store(v Value, into any) (ok bool) {
	switch into := into.(type) {
	case *syntax.Text:
		if v.Kind != syntax.NullNode {
			*into = v.AsText()
		}
		return !v.Row.Filled || into.Value != ""
	case *string:
		text := v.Text.Value
		if v.Row.AnyCase {
			text = ChangeCase(text, 'a', 'z')
		}
		return set(into, text, v.Row.allows(text))
	case *[]string:
		*into = d.Strings(v)
		return true
	case *[]syntax.Text:
		*into = d.Texts(v)
		return true
	case *bool:
		return set(into, v.Truth(), true)
	case *int:
		n, err := strconv.Atoi(v.Number)
		return set(into, n, err == nil && n >= v.Row.Min && n <= v.Row.Max)
	case *float64:
		f, ok := v.Float()
		return set(into, f, ok)
	case *time.Duration:
		t, ok := v.Duration()
		if v.Row.AtOnce && t == 0 {
			t = AtOnce
		}
		return set(into, t, ok)
	}
	return false
}

// allows reports whether a row accepts a text.
func (r *Row) allows(text string) bool {
	return (len(r.Enum) == 0 || slices.Contains(r.Enum, text)) && !(r.Filled && text == "") && (r.Is == nil || r.Is(text))
}

// Texts returns the accepted texts of a list, or a single text, and reports the others.
func (d *Decoder) Texts(v Value) []syntax.Text {
	all := []Value{v}
	switch v.Kind {
	case syntax.NullNode:
		return nil
	case syntax.ListNode:
		all = v.Parts()
	}
	var texts []syntax.Text
	for _, one := range all {
		switch {
		case !d.Take(one):
		case !one.Row.allows(one.Text.Value):
			d.Refuse(one)
		default:
			texts = append(texts, one.AsText())
		}
	}
	return texts
}

// Strings is like Texts, without the positions.
func (d *Decoder) Strings(v Value) []string {
	var all []string // nil for a key that holds nothing
	for _, t := range d.Texts(v) {
		all = append(all, t.Value)
	}
	return all
}

// set sets a field to v if v is accepted, and reports whether it is.
func set[T any](into *T, v T, accepted bool) bool {
	if accepted {
		*into = v
	}
	return accepted
}

// Float returns a number from 0 to the maximum of its row. A text is a percentage.
func (v Value) Float() (f float64, ok bool) {
	text, part := v.Number, 1.0
	if v.Kind == syntax.TextNode {
		text, part = percentage(v.Text.Value), 100
	}
	f, err := strconv.ParseFloat(text, 64)
	f /= part
	return f, err == nil && !strings.HasPrefix(text, "-") && f <= float64(v.Row.UpTo)
}

// Duration returns a duration given as a text, or as a number of seconds or milliseconds. A value
// with a minus sign is refused, even if it rounds to 0.
func (v Value) Duration() (t time.Duration, ok bool) {
	r := v.Row
	var err error
	switch {
	case v.Kind == syntax.TextNode:
		t, err = time.ParseDuration(v.Text.Value)
	case r.Length.millis:
		t, err = flags.Times(v.Number, time.Millisecond)
	default:
		t, err = flags.Times(v.Number, time.Second)
	}
	if err != nil || strings.HasPrefix(v.Text.Value, "-") || r.Length.above && t == 0 || r.Most > 0 && t > r.Most {
		return 0, false
	}
	if r.Length.unit && v.Kind == syntax.NumberNode { // only 0 needs no unit
		f, err := strconv.ParseFloat(v.Number, 64)
		return t, err == nil && f == 0
	}
	return t, true
}

// PercentPattern is a regular expression that matches the accepted percentages, in the syntax that
// ECMAScript and RE2 have in common.
const PercentPattern = `^(0|[1-9][0-9]*)(\.[0-9]+)?%$`

// percentage returns the number before the % of a text; "" if it is not a percentage.
func percentage(text string) string {
	number, ok := strings.CutSuffix(text, "%")
	if !ok || !json.IsNumber(number) || strings.ContainsAny(number, "eE-") {
		return ""
	}
	return number
}

// OrOne returns a number or, if it is 0 and was not given, 1.
func OrOne(number float64, given bool) float64 {
	if number == 0 && !given {
		return 1
	}
	return number
}

// ChangeCase swaps the case of the ASCII letters from first to last. Other letters are not changed,
// although some have an ASCII letter as their lower or upper case.
func ChangeCase(text string, first, last byte) string {
	out := []byte(text)
	for i, b := range out {
		if first <= b && b <= last {
			out[i] = b ^ 0x20
		}
	}
	return string(out)
}

// KeyOf returns the key of a Go field in files: its tag key, or else its name in lower case with
// dashes. It is "" for a field whose own keys are in the surrounding map.
func KeyOf(f reflect.StructField) string {
	if key, tagged := f.Tag.Lookup("key"); tagged || f.Anonymous {
		return key
	}
	var b strings.Builder
	for i, r := range f.Name {
		if 'A' <= r && r <= 'Z' {
			if i > 0 && strings.ToUpper(f.Name) != f.Name {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func locate(t reflect.Type, key string) []int {
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := KeyOf(f); {
		case name == key:
			return f.Index
		case name == "" && f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[syntax.Text]():
			if path := locate(f.Type, key); path != nil {
				return append(slices.Clone(f.Index), path...)
			}
		}
	}
	return nil
}
