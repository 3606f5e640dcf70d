package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config/openapi/jsonvalue"
)

// TestFakers: hints, as texts and with arguments, determine the values, as far as the schema
// accepts them.
func TestFakers(t *testing.T) {
	for schema, pattern := range map[string]string{
		`{"type": "string", "x-faker": "name.firstName"}`:                                                            `^[A-Z][a-z]+$`,
		`{"type": "string", "x-faker": "Internet.E-Mail"}`:                                                           `^[^@ ]+@example\.com$`,
		`{"type": "string", "x-faker": "phone.phone_number"}`:                                                        `^\+\d{8,15}$`,
		`{"type": "string", "x-faker": "internet.ip"}`:                                                               `^\d+\.\d+\.\d+\.\d+$`,
		`{"type": "string", "x-faker": "random.uuid"}`:                                                               `^[0-9a-f-]{36}$`,
		`{"type": "string", "x-faker": "color.hexColor"}`:                                                            `^#[0-9a-f]{6}$`,
		`{"type": "string", "x-faker": "finance.currencyCode"}`:                                                      `^[A-Z]{3}$`,
		`{"type": "string", "x-faker": "company.companyName"}`:                                                       `^[A-Z]`,
		`{"type": "string", "x-faker": "finance.creditCardNumber"}`:                                                  `^\d{12,19}$`,
		`{"type": "string", "x-faker": "lorem.sentence"}`:                                                            `^\w+ .*\w+`,
		`{"x-faker": "datatype.boolean"}`:                                                                            `^(true|false)$`,
		`{"type": "integer", "x-faker": {"datatype.number": {"min": 1, "max": 9}}}`:                                  `^[1-9]$`,
		`{"type": "integer", "x-faker": {"random.number": [{"min": 1000, "max": 1009}]}}`:                            `^100\d$`,
		`{"type": "string", "x-faker": {"datatype.number": {"min": 40, "max": 49}}}`:                                 `^4\d$`,
		`{"type": "number", "x-faker": {"finance.amount": {"min": 5, "max": 6}}}`:                                    `^(5\.\d\d?|5|6)$`,
		`{"type": "number", "x-faker": "commerce.price"}`:                                                            `^\d+\.\d\d$`,
		`{"type": "string", "x-faker": "commerce.price"}`:                                                            `^\d+\.\d\d$`,
		`{"type": "string", "pattern": "^[A-Z]{2}$", "x-faker": "address.countryCode"}`:                              `^[A-Z]{2}$`,
		`{"anyOf": [{"type": "integer", "maximum": 3, "minimum": 2, "x-faker": {"number.int": {"min": 3}}}, false]}`: `^3$`,
	} {
		check := matching(pattern)
		bodies(t, object(`"x": `+schema), func(t *testing.T, o map[string]any) {
			if err := check(fmt.Sprint(o["x"])); err != nil {
				t.Errorf("%s: %v: %v", schema, o["x"], err)
			}
		})
	}
}

// TestFakerTimes: times are relative to the day, and birth dates are those of adults.
func TestFakerTimes(t *testing.T) {
	year := 366 * 24 * time.Hour
	for hint, limits := range map[string][2]time.Duration{"date.past": {-year, 0}, "date.future": {0, year}, "date.recent": {-year / 12, 0}, "date.birthdate": {-70 * year, -20 * year * 365 / 366}} {
		for _, format := range []string{"date", "date-time"} {
			bodies(t, object(fmt.Sprintf(`"x": {"type": "string", "format": %q, "x-faker": %q}`, format, hint)), func(t *testing.T, o map[string]any) {
				if at := dayOf(t, o, "x"); at.Before(today.Add(limits[0])) || at.After(today.Add(limits[1])) {
					t.Errorf("%s is %v", hint, at)
				}
			})
		}
	}
}

// TestFakersFitTheirSiblings: the values for hints belong to the person that the object describes.
func TestFakersFitTheirSiblings(t *testing.T) {
	bodies(t, object(`"a": {"x-faker": "name.firstName"}, "b": {"x-faker": "name.lastName"}, "c": {"x-faker": "internet.email"}`), func(t *testing.T, o map[string]any) {
		if want := strings.ToLower(fmt.Sprint(o["a"], ".", o["b"], "@example.com")); o["c"] != want {
			t.Errorf("%s, want %s", o["c"], want)
		}
	})
}

// TestUnusedFakers: an unknown hint causes one warning, and the value is the same as without the
// hint. A hint whose values the schema does not accept causes no warning.
func TestUnusedFakers(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type": "string", "x-faker": "helpers.nonsense"}`:                    "#/components/schemas/S: x-faker of the property x: unknown hint helpers.nonsense; the value is generated without it",
		`{"type": "string", "x-faker": {"custom.statement": ["a", "b"]}}`:      "#/components/schemas/S: x-faker of the property x: unknown hint custom.statement; the value is generated without it",
		`{"type": "string", "x-faker": 5}`:                                     "#/components/schemas/S: x-faker of the property x: expected the name of a hint; the value is generated without it",
		`{"type": "integer", "maximum": 4, "x-faker": "internet.email"}`:       "",
		`{"type": "string", "pattern": "^x+$", "x-faker": "internet.email"}`:   "",
		`{"enum": ["a"], "x-faker": "internet.email"}`:                         "",
		`{"type": "integer", "maximum": 4, "x-faker": {"number": {"min": 5}}}`: "",
	} {
		doc := schemaDocument(t, "3.1.0", `{"S": `+object(`"x": `+schema)+`}`)
		plain := schemaDocument(t, "3.1.0", `{"S": `+object(`"x": `+withoutFaker(t, schema))+`}`)
		var warnings, kinds []string
		m := New(doc, 0, func(kind, pointer, what string) {
			warnings, kinds = append(warnings, pointer+": "+what), append(kinds, kind)
		})
		ref := doc.Components.Schemas["S"]
		ref.Ref = "#/components/schemas/S"
		for seed := range uint64(5) {
			v, wrong := m.body(ref, ToClient, seed, false, ref.Ref)
			without, _ := New(plain, 0, nil).body(plain.Components.Schemas["S"], ToClient, seed, false, "#")
			body := string(jsonvalue.Append(nil, v))
			if wrong != "" || want != "" && body != string(jsonvalue.Append(nil, without)) {
				t.Errorf("%s: %q: %s", schema, wrong, body)
			}
		}
		if want == "" && len(warnings) > 0 || want != "" && (!slices.Equal(warnings, []string{want}) || kinds[0] != manyFakers) {
			t.Errorf("%s: %q", schema, warnings)
		}
	}
}

func withoutFaker(t *testing.T, schema string) string {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	delete(s, fakerKey)
	text, _ := json.Marshal(s)
	return string(text)
}
