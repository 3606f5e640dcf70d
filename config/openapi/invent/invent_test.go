package invent

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones are known wherever the test runs

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"mockserver/config/openapi/jsonvalue"
)

// TestPlaces compares the table of places with the data of libraries.
func TestPlaces(t *testing.T) {
	for _, p := range places {
		region, err := language.ParseRegion(p.code)
		if err != nil || region.ISO3() != p.code3 || display.English.Regions().Name(region) != p.country {
			t.Errorf("%s: %s, %s: %v", p.city, p.country, p.code3, err)
		}
		if unit, ok := currency.FromRegion(region); !ok || unit.String() != p.currency {
			t.Errorf("%s: %s, want %v", p.city, p.currency, unit)
		}
		if tag, err := language.Parse(p.locale); err != nil || !strings.HasSuffix(p.locale, "-"+p.code) || tag.String() != p.locale {
			t.Errorf("%s: %s: %v", p.city, p.locale, err)
		}
		if _, err := time.LoadLocation(p.zone); err != nil {
			t.Errorf("%s: %v", p.city, err)
		}
	}
}

// TestHintsAreMade: there is a text for each hint.
func TestHintsAreMade(t *testing.T) {
	alone := &Facts{Rand: rand.New(rand.NewPCG(1, 1)), Today: time.Date(2031, time.March, 5, 0, 0, 0, 0, time.UTC)}
	meant := map[string]string{}
	for hint, others := range hintWords {
		for _, name := range append([]string{hint}, others...) {
			if before, ok := meant[name]; ok {
				t.Errorf("%s is for %s and %s", name, before, hint)
			}
			meant[name] = hint
			if s, ok := alone.Text(hints[name], 0); !ok || s == "" {
				t.Errorf("nothing is generated for %s", name)
			}
		}
	}
	for hint, forms := range otherForms {
		for try := range forms {
			if s, ok := alone.Text(hint, try+1); !ok || s == "" {
				t.Errorf("form %d of %s is not generated", try, hint)
			}
		}
	}
	said := map[string]role{}
	for _, r := range []role{born, created, started, updated, ended, due} {
		for word, of := range roleWords {
			if of == r {
				said[word] = r
			}
		}
	}
	if len(said) != len(roleWords) {
		t.Errorf("%d of %d words name a role", len(said), len(roleWords))
	}
}

// TestFakerNames: a value can be made for each name.
func TestFakerNames(t *testing.T) {
	alone := &Facts{Rand: rand.New(rand.NewPCG(1, 1)), Today: time.Date(2031, time.March, 5, 0, 0, 0, 0, time.UTC)}
	names := slices.Concat(slices.Collect(maps.Keys(fakerNames)), slices.Collect(maps.Keys(fakerTimes)), slices.Collect(maps.Keys(ownFakers)))
	for _, name := range names {
		if v, ok := alone.Fake(name, false, &jsonvalue.Object{}); !ok || v == "" || v == nil {
			t.Errorf("%s: %v, %v", name, v, ok)
		}
	}
	for _, name := range []string{"", "nonsense", "name.", "weighted"} {
		if v, ok := alone.Fake(name, false, &jsonvalue.Object{}); ok {
			t.Errorf("%q: %v", name, v)
		}
	}
}
