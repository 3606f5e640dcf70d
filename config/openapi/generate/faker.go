package generate

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/invent"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/wording"
)

// fakerTries is how many values are tried for a hint.
const fakerTries = 8

// fakerNumbers are the names for numbers, with their decimals.
var fakerNumbers = map[string]int{"number": 0, "int": 0, "integer": 0, "float": 2, "amount": 2, "price": 2}

// unknownFaker marks a schema that was warned about because its hint is unknown.
type unknownFaker struct{ schema *openapi3.Schema }

// faked returns a value for the hint of the schemas, if they accept it.
func (d *draft) faked(g *merged, a ask) (any, bool) {
	if g.faker == nil {
		return nil, false
	}
	name, args := fakerHint(g.faker)
	key := plainName(name[strings.LastIndexByte(name, '.')+1:])
	f, why := d.factsOf(a), d.why
	defer func() { d.why = why }() // a value can be made without the hint
	for try := range fakerTries {
		if try > 0 {
			f = f.Alone()
		}
		made, ok := d.fake(g, f, key, args)
		if !ok {
			d.warnFaker(a, name)
			return nil, false
		}
		if v, ok := shaped(g, made); ok && d.fits(a, v) {
			return v, true
		}
	}
	return nil, false
}

// fakerHint returns the name and the arguments of a hint; "" when it has another form.
func fakerHint(hint any) (name string, args *jsonvalue.Object) {
	args = &jsonvalue.Object{}
	switch hint := hint.(type) {
	case string:
		return strings.TrimSpace(hint), args
	case *jsonvalue.Object:
		if len(hint.Members) == 0 {
			return "", args
		}
		value := hint.Members[0].Value
		if list, ok := value.([]any); ok && len(list) == 1 {
			value = list[0]
		}
		if given, ok := value.(*jsonvalue.Object); ok {
			args = given
		}
		return hint.Members[0].Name, args
	}
	return "", args
}

// fake makes a value for a hint; false when the hint is unknown. A number is within the bounds of the
// arguments and of the schemas.
func (d *draft) fake(g *merged, f *invent.Facts, key string, args *jsonvalue.Object) (any, bool) {
	decimals, isNumber := fakerNumbers[key]
	if !isNumber {
		return f.Fake(key, slices.Contains(g.formats(), "date"), args)
	}
	b := g.bounds(d.m.Numbers)
	b.raise(numberIn(args, "min"))
	b.lower(numberIn(args, "max"))
	v, _ := d.number(b, ask{name: f.Name}, decimals == 0 || g.kinds&(kindFraction|kindString) == 0)
	return v, true
}

// numberIn returns a number among the arguments; nil when there is none.
func numberIn(args *jsonvalue.Object, name string) *big.Rat {
	v, _ := args.Get(name)
	if n, ok := v.(json.Number); ok {
		return jsonvalue.Rational(n)
	}
	return nil
}

// shaped turns a number into a text, or a text into a number, if the schemas accept only that.
func shaped(g *merged, made any) (any, bool) {
	switch v := made.(type) {
	case json.Number:
		if g.kinds&kindNumber == 0 && g.kinds&kindString != 0 {
			return string(v), true
		}
	case string:
		if g.kinds&kindString == 0 && g.kinds&kindNumber != 0 {
			_, err := strconv.ParseFloat(v, 64)
			return json.Number(v), err == nil && json.Valid([]byte(v))
		}
	}
	return made, true
}

// warnFaker warns once about a schema whose hint is unknown.
func (d *draft) warnFaker(a ask, name string) {
	at, of := d.placeOf(a)
	what := "unknown hint " + wording.Clip(name)
	if name == "" {
		what = "expected the name of a hint"
	}
	if d.warnsOnce(unknownFaker{a.schemas[0].Value}) {
		d.m.Warning(manyFakers, at, "x-faker"+of+": "+what+"; the value is generated without it")
	}
}
