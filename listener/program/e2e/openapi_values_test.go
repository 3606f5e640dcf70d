package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

const peopleDocument = openAPI + `paths:
  /person: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Person'}}}}}}}
components:
  schemas:
    Person:
      type: object
      required: [firstName, lastName, email, dateOfBirth, createdAt, updatedAt, expires, country, currency, level, code]
      properties:
        firstName: {type: string}
        lastName: {type: string}
        email: {type: string, format: email}
        dateOfBirth: {type: string, format: date}
        createdAt: {type: string, format: date-time}
        updatedAt: {type: string, format: date-time}
        expires: {type: string, format: date}
        country: {type: string, enum: [JP]}
        currency: {type: string, pattern: '^[A-Z]{3}$'}
        level: {type: integer, x-faker: {datatype.number: {min: 7, max: 9}}}
        code: {type: string, x-faker: helpers.nonsense}
`

// TestGeneratedValues_MakeSense checks that the generated values are plausible, in the bodies made
// at each start and in those made for a request.
func TestGeneratedValues_MakeSense(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "api.yml", peopleDocument)
	const warning = `#/components/schemas/Person: x-faker of the property code: unknown hint helpers.nonsense; the value is generated without it`
	if code, stdout, stderr := Refused(t, nil, "validate", "-m", file); code != 0 || !strings.Contains(stdout, warning) {
		t.Errorf("validate: got exit code %d, %s%s\nwant 0 and the warning %s", code, stdout, stderr, warning)
	}
	p := Start(t, "--seed", "5", "-m", file)
	for _, path := range []string{"/person", "/person?__dynamic=true", "/person?__dynamic=true"} {
		a := p.Do("GET", path, "")
		var person struct {
			FirstName, LastName, Email, DateOfBirth, Expires, Country, Currency string
			CreatedAt, UpdatedAt                                                time.Time
			Level                                                               int
		}
		if err := json.Unmarshal([]byte(a.Body), &person); err != nil || a.Status != 200 {
			t.Fatalf("%s: %d %s: %v", path, a.Status, a.Body, err)
		}
		now := time.Now().UTC()
		day := func(t time.Time) string { return t.Format(time.DateOnly) }
		switch {
		case person.Email != strings.ToLower(person.FirstName+"."+person.LastName)+"@example.com":
			t.Errorf("%s: the address does not belong to the person: %s", path, a.Body)
		case person.DateOfBirth < day(now.AddDate(-71, 0, 0)) || person.DateOfBirth > day(now.AddDate(-20, 0, 0)):
			t.Errorf("%s: not an adult: %s", path, a.Body)
		case person.CreatedAt.Before(now.AddDate(-1, 0, -2)) || person.UpdatedAt.Before(person.CreatedAt) || person.UpdatedAt.After(now):
			t.Errorf("%s: created or updated at the wrong time: %s", path, a.Body)
		case person.Expires < day(now) || person.Expires > day(now.AddDate(1, 0, 0)):
			t.Errorf("%s: expires at the wrong time: %s", path, a.Body)
		case person.Country != "JP" || person.Currency != "JPY" || person.Level < 7 || person.Level > 9:
			t.Errorf("%s: wrong country, currency or level: %s", path, a.Body)
		}
	}
}
