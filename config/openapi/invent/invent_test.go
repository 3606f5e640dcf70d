package invent

import (
	"bytes"
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

	"gopkg.in/yaml.v3"

	"mockserver/config/openapi/jsonvalue"
)

// TestPlaces compares the table of places with the data of libraries.
func TestPlaces(t *testing.T) {
	for _, p := range known().Places {
		region, err := language.ParseRegion(p["country code"])
		if err != nil || region.ISO3() != p["country code 3"] || display.English.Regions().Name(region) != p["country"] {
			t.Errorf("%s: %s, %s: %v", p["city"], p["country"], p["country code 3"], err)
		}
		if unit, ok := currency.FromRegion(region); !ok || unit.String() != p["currency"] {
			t.Errorf("%s: %s, want %v", p["city"], p["currency"], unit)
		}
		if tag, err := language.Parse(p["locale"]); err != nil || !strings.HasSuffix(p["locale"], "-"+p["country code"]) || tag.String() != p["locale"] {
			t.Errorf("%s: %s: %v", p["city"], p["locale"], err)
		}
		if _, err := time.LoadLocation(p["time zone"]); err != nil {
			t.Errorf("%s: %v", p["city"], err)
		}
	}
}

// TestHintsAreMade: there is a text for each hint.
func TestHintsAreMade(t *testing.T) {
	alone := &Facts{Rand: rand.New(rand.NewPCG(1, 1)), Today: time.Date(2031, time.March, 5, 0, 0, 0, 0, time.UTC)}
	meant := map[string]string{}
	for hint, others := range known().Hints {
		for _, name := range append([]string{hint}, others...) {
			if before, ok := meant[name]; ok {
				t.Errorf("%s is for %s and %s", name, before, hint)
			}
			meant[name] = hint
			if s, ok := alone.Text(known().hints[name], 0); !ok || s == "" {
				t.Errorf("nothing is generated for %s", name)
			}
		}
	}
	for hint, forms := range known().OtherForms {
		for try := range forms {
			if s, ok := alone.Text(hint, try+1); !ok || s == "" {
				t.Errorf("form %d of %s is not generated", try, hint)
			}
		}
	}
	said := 0
	for role, p := range known().Roles {
		if said += len(p.Words); p.From >= p.To {
			t.Errorf("%s is from %d to %d", role, p.From, p.To)
		}
	}
	if said != len(known().roles) {
		t.Errorf("%d words are of several roles", said-len(known().roles))
	}
}

// TestKnown: the file has no other keys, and no list is empty.
func TestKnown(t *testing.T) {
	d := yaml.NewDecoder(bytes.NewReader(knownText))
	d.KnownFields(true)
	if err := d.Decode(&vocabulary{}); err != nil {
		t.Error(err)
	}
	for _, list := range []string{"given names", "family names", "colours", "companies", "streets", "words"} {
		if len(known().Lists[list]) < 5 {
			t.Errorf("%s: %v", list, known().Lists[list])
		}
	}
	for _, p := range known().Places {
		if len(p) != 13 {
			t.Errorf("%s has %d values, want 13", p["city"], len(p))
		}
	}
}

// TestFakerNames: a value can be made for each name.
func TestFakerNames(t *testing.T) {
	alone := &Facts{Rand: rand.New(rand.NewPCG(1, 1)), Today: time.Date(2031, time.March, 5, 0, 0, 0, 0, time.UTC)}
	names := slices.Concat(slices.Collect(maps.Keys(known().Fakers)), slices.Collect(maps.Keys(known().FakerTimes)), slices.Collect(maps.Keys(ownFakers())))
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
