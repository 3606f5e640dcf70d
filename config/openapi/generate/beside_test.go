package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones are known wherever the test runs

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"mockserver/config/openapi/jsonvalue"
)

const mostSeeds = 150

// today is the day of these tests.
var today = time.Date(2031, time.March, 5, 0, 0, 0, 0, time.UTC)

// bodies generates bodies from a schema with many seeds, including fresh bodies, checks each with
// the validator of the package and an independent one, and passes their members to a function.
func bodies(t *testing.T, schema string, see func(t *testing.T, o map[string]any)) {
	t.Helper()
	components := `{"S": ` + schema + `}`
	doc, compiled := schemaDocument(t, "3.1.0", components), independent(t, "3.1.0", components)("S")
	ref := &openapi3.SchemaRef{Ref: "#/components/schemas/S", Value: doc.Components.Schemas["S"].Value}
	m := New(doc, 0, nil)
	m.Today = today
	for seed := range uint64(mostSeeds) {
		v, wrong := m.body(ref, ToClient, seed, seed%2 == 1, ref.Ref)
		body := jsonvalue.Append(nil, v)
		check := validator{m: m}
		if mismatch := check.mismatch(ref, v); wrong != "" || mismatch != "" || !holds(t, compiled, body) {
			t.Fatalf("seed %d: %q, %q: %s", seed, wrong, mismatch, body)
		}
		var o map[string]any
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.UseNumber()
		if err := d.Decode(&o); err != nil {
			t.Fatal(err)
		}
		if see(t, o); t.Failed() {
			t.Fatalf("seed %d: %s", seed, body)
		}
	}
}

// object returns a schema with the given properties, all of which are required.
func object(properties string) string {
	var names map[string]any
	if err := json.Unmarshal([]byte("{"+properties+"}"), &names); err != nil {
		panic(err)
	}
	required, _ := json.Marshal(jsonvalue.SortedNames(names))
	return fmt.Sprintf(`{"type": "object", "required": %s, "properties": {%s}}`, required, properties)
}

// freeTexts returns properties whose content only the name describes.
func freeTexts(names ...string) string {
	for i, name := range names {
		names[i] = fmt.Sprintf(`%q: {"type": "string"}`, name)
	}
	return strings.Join(names, ",")
}

// dayOf parses a time in a body: a date, or a date-time.
func dayOf(t *testing.T, o map[string]any, name string) time.Time {
	t.Helper()
	text, _ := o[name].(string)
	layout := time.RFC3339
	if len(text) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	at, err := time.Parse(layout, text)
	if err != nil {
		t.Fatalf("%s is not a time: %v", name, err)
	}
	return at
}

// TestTimesAreNearToday: times are near today and fit the names of their properties, with or
// without a format.
func TestTimesAreNearToday(t *testing.T) {
	year := 365 * 24 * time.Hour
	for format, names := range map[string][]string{
		`"format": "date-time"`: {"createdAt", "last_modified", "startTime", "endTime", "validUntil", "birthDate", "loggedAt"},
		`"format": "date"`:      {"dateCreated", "updated", "startDate", "due-date", "expires", "dateOfBirth", "day"},
		`"maxLength": 99`:       {"createdAt", "updated", "validFrom", "validTo", "expirationDate", "dob", "timestamp"},
		`"title": "free"`:       {"registration_date", "modified", "startTime", "endTime", "deadline", "birthday", "date"},
	} {
		var properties []string
		for _, name := range names {
			properties = append(properties, fmt.Sprintf(`%q: {"type": "string", %s}`, name, format))
		}
		bodies(t, object(strings.Join(properties, ",")), func(t *testing.T, o map[string]any) {
			at := func(i int) time.Time { return dayOf(t, o, names[i]) }
			for i, limits := range [][2]time.Duration{{-year, 0}, {-year, 0}, {-year, 0}, {0, year}, {0, year}, {-70 * year, -20 * year}, {-year, 0}} {
				if low, high := today.Add(limits[0]), today.Add(limits[1]); at(i).Before(low) || at(i).After(high) {
					t.Errorf("%s %v is not between %v and %v", names[i], at(i), low, high)
				}
			}
			if at(0).After(at(1)) || at(2).After(at(3)) {
				t.Errorf("%s after %s, or %s after %s", names[0], names[1], names[2], names[3])
			}
			if years := today.AddDate(-20, 0, 0); at(5).After(years) || at(5).Before(today.AddDate(-70, 0, 0)) {
				t.Errorf("born %v", at(5))
			}
		})
	}
}

// TestOneDayHasOneBody: a body depends only on the seed and the day.
func TestOneDayHasOneBody(t *testing.T) {
	doc := schemaDocument(t, "3.1.0", `{"S": `+object(freeTexts("createdAt", "email", "dob"))+`}`)
	ref := &openapi3.SchemaRef{Ref: "#/components/schemas/S", Value: doc.Components.Schemas["S"].Value}
	body := func(day time.Time) string {
		m := New(doc, 7, nil)
		m.Today = day
		v, _ := m.body(ref, ToClient, 7, false, ref.Ref)
		return string(jsonvalue.Append(nil, v))
	}
	if a, b := body(today), body(today); a != b {
		t.Errorf("%s and %s on one day", a, b)
	}
	if a, b := body(today), body(today.AddDate(0, 0, 1)); a == b {
		t.Errorf("%s on two days", a)
	}
	m := New(doc, 7, nil)
	if age := time.Since(m.Today); !m.Today.Equal(m.Today.Truncate(24*time.Hour)) || age < 0 || age > 48*time.Hour || m.Today != New(doc, 7, nil).Today {
		t.Errorf("today is %v", m.Today)
	}
}

// TestCodes compares codes with the lists of libraries that know them.
func TestCodes(t *testing.T) {
	check := map[string]func(string) error{
		"currency":        func(s string) error { _, err := currency.ParseISO(s); return err },
		"currencyCode":    func(s string) error { _, err := currency.ParseISO(s); return err },
		"paid_in":         func(s string) error { _, err := currency.ParseISO(s); return err },
		"countryCode":     func(s string) error { _, err := language.ParseRegion(s); return err },
		"country_code":    func(s string) error { _, err := language.ParseRegion(s); return err },
		"language":        func(s string) error { _, err := language.Parse(s); return err },
		"locale":          func(s string) error { _, err := language.Parse(s); return err },
		"timezone":        func(s string) error { _, err := time.LoadLocation(s); return err },
		"user_time_zone":  func(s string) error { _, err := time.LoadLocation(s); return err },
		"price":           matching(`^\d+\.\d\d$`),
		"lat":             matching(`^-?\d\d?\.\d{6}$`),
		"currency_symbol": matching(`^\D{1,2}$`),
	}
	properties := freeTexts("currency", "countryCode", "language", "locale", "timezone", "user_time_zone", "price", "lat", "currency_symbol") +
		`, "paid_in": {"type": "string", "format": "iso-4217"}, "currencyCode": {"type": "string", "pattern": "^[A-Z]{3}$"}, "country_code": {"type": "string", "minLength": 2, "maxLength": 2}`
	bodies(t, object(properties), func(t *testing.T, o map[string]any) {
		for name, valid := range check {
			if err := valid(o[name].(string)); err != nil || o[name] == "" {
				t.Errorf("%s %q: %v", name, o[name], err)
			}
		}
	})
}

func matching(pattern string) func(string) error {
	return func(s string) error {
		if !regexp.MustCompile(pattern).MatchString(s) {
			return fmt.Errorf("does not match %s", pattern)
		}
		return nil
	}
}

// TestNumbersOfNames: numbers have the usual sizes and decimals for their names, with or without
// bounds in the schema.
func TestNumbersOfNames(t *testing.T) {
	check := map[string]struct {
		pattern   string
		low, high float64
	}{
		"latitude": {`^-?\d+\.\d{6}$`, -90, 90}, "longitude": {`^-?\d+\.\d{6}$`, -180, 180},
		"price": {`^\d+\.\d\d$`, 0, 1e4}, "totalAmount": {`^\d+\.\d\d$`, 0, 1e4},
		"discountPercentage": {`^\d+(\.\d\d)?$`, 0, 100}, "age": {`^\d\d$`, 18, 90},
	}
	for _, keywords := range []string{`"type": "number"`, `"type": "number", "minimum": -90, "maximum": 100000`, `"type": ["number", "null"], "format": "double"`} {
		var properties []string
		for name := range check {
			properties = append(properties, fmt.Sprintf(`%q: {%s}`, name, keywords))
		}
		slices.Sort(properties)
		bodies(t, object(strings.Join(properties, ",")), func(t *testing.T, o map[string]any) {
			for name, want := range check {
				n, _ := o[name].(json.Number)
				if x, err := n.Float64(); err != nil || matching(want.pattern)(string(n)) != nil || x < want.low || x > want.high {
					t.Errorf("%s, %s: %v", keywords, name, o[name])
				}
			}
		})
	}
}

// TestPeople: name, e-mail and user name belong to one person, whether generated or from the
// document.
func TestPeople(t *testing.T) {
	free := freeTexts("email", "username", "name", "lastName", "firstName")
	bodies(t, object(free), func(t *testing.T, o map[string]any) {
		given, family := o["firstName"].(string), o["lastName"].(string)
		if o["name"] != given+" "+family || o["email"] != strings.ToLower(given+"."+family)+"@example.com" || !strings.HasSuffix(o["username"].(string), strings.ToLower(family)) {
			t.Error("they do not belong to one person")
		}
	})
	const email = `"email": {"type": "string", "format": "email"}, "login": {"type": "string"}`
	for properties, want := range map[string][2]string{
		`"firstName": {"const": "Ada"}, "lastName": {"enum": ["Lovelace"]}`: {"ada.lovelace", "alovelace"},
		`"first_name": {"const": "ADA"}, "surname": {"const": "Lovelace"}`:  {"ada.lovelace", "alovelace"},
	} {
		bodies(t, object(email+","+properties), func(t *testing.T, o map[string]any) {
			if o["email"] != want[0]+"@example.com" || o["login"] != want[1] {
				t.Errorf("%s: %s, %s", properties, o["email"], o["login"])
			}
		})
	}
}

// TestExamplesAreOfOnePerson: values fit the examples and defaults of other properties.
func TestExamplesAreOfOnePerson(t *testing.T) {
	doc := schemaDocument(t, "3.0.3", `{"S": {"type": "object", "properties": {"email": {"type": "string"}, "fullName": {"type": "string"},
		"firstName": {"type": "string", "example": "Ada"}, "lastName": {"type": "string", "default": "Lovelace"}, "createdAt": {"type": "string", "example": "Grace"}}}}`)
	body := string(made(t, doc, "S", 3, false))
	if !strings.Contains(body, `"ada.lovelace@example.com"`) || !strings.Contains(body, `"fullName":"Ada Lovelace"`) {
		t.Error(body)
	}
}

// TestAddresses: city, country, country code and currency belong to one place.
func TestAddresses(t *testing.T) {
	countries := map[any]any{}
	free := freeTexts("postalCode", "city", "state", "currency", "timezone")
	bodies(t, object(free+`, "country": {"type": "string"}, "countryCode": {"type": "string", "pattern": "^[A-Z]{2}$"}`), func(t *testing.T, o map[string]any) {
		region, err := language.ParseRegion(o["countryCode"].(string))
		unit, _ := currency.FromRegion(region)
		if err != nil || display.English.Regions().Name(region) != o["country"] || unit.String() != o["currency"] {
			t.Errorf("they do not belong to one country: %v", err)
		}
		for _, name := range []string{"city", "state", "postalCode", "timezone"} {
			if country, ok := countries[o[name]]; ok && country != o["country"] {
				t.Errorf("%s is in %s too", o[name], country)
			}
			countries[o[name]] = o["country"]
		}
	})
	for _, country := range []string{`{"const": "JP"}`, `{"enum": ["JPN"]}`, `{"const": "Japan"}`} {
		bodies(t, object(free+`, "country": `+country), func(t *testing.T, o map[string]any) {
			if o["city"] != "Tokyo" || o["currency"] != "JPY" || o["timezone"] != "Asia/Tokyo" {
				t.Errorf("%s in %s", o["city"], country)
			}
		})
	}
	bodies(t, object(free+`, "country": {"enum": ["JP", "DK"]}`), func(t *testing.T, o map[string]any) {
		if want := map[any]string{"JP": "Tokyo", "DK": "Copenhagen"}[o["country"]]; o["city"] != want {
			t.Errorf("%s in %s, want %s", o["city"], o["country"], want)
		}
	})
	bodies(t, object(freeTexts("state", "id")), func(t *testing.T, o map[string]any) {
		if err := matching(`^[a-z]+$`)(o["state"].(string)); err != nil {
			t.Errorf("a state without a city: %v", err)
		}
	})
}

// TestNamesKeepToSchemas: whatever a name asks for, the schema of the property decides.
func TestNamesKeepToSchemas(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of CPU time")
	}
	r := rand.New(rand.NewPCG(3, 3))
	random := randomSchemas{Rand: r, modern: true}
	names := []string{"email", "phone", "name", "firstName", "last_name", "username", "url", "host", "street", "description", "company", "amount",
		"city", "state", "region", "country", "country_code", "zip", "currency", "currencySymbol", "timeZone", "locale", "language", "id", "title"}
	names = append(names, "createdAt", "updatedAt", "startDate", "endDate", "birthDate", "price", "latitude", "year", "timestamp")
	for range 8 {
		var properties []string
		for _, name := range names {
			schema := random.text()
			if r.IntN(4) == 0 {
				schema = random.number()
			}
			text, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			properties = append(properties, fmt.Sprintf("%q: %s", name, text))
		}
		bodies(t, object(strings.Join(properties, ",")), func(*testing.T, map[string]any) {})
	}
}

// TestItemsDiffer: facts are chosen once for an object, and again for each item of an array.
func TestItemsDiffer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of CPU time")
	}
	bodies(t, object(`"emails": {"type": "array", "minItems": 40, "uniqueItems": true, "items": {"type": "string", "format": "email"}},
		"dates": {"type": "array", "minItems": 300, "uniqueItems": true, "items": {"type": "string", "format": "date"}},
		"countries": {"type": "array", "minItems": 8, "uniqueItems": true, "items": {"type": "string"}}`), func(*testing.T, map[string]any) {})
}
