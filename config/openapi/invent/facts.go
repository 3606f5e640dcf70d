// Package invent makes plausible values from the names of properties, which agree within an object. It does not depend on schemas.
package invent

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Facts are what the values of one object agree on: a person and a place, which are those that Learn
// was told of, otherwise chosen on first use. Rand is the only source of randomness.
type Facts struct {
	*rand.Rand
	Today time.Time // midnight; times are made near it
	Name  string    // the name of the property whose value is made
	Wide  bool      // many different values are needed
	Names []string  // of the properties of the object

	who   *person
	where map[string]string
}

// person is the name of a person.
type person struct{ given, family string }

// Alone returns new facts that do not depend on other properties.
func (f *Facts) Alone() *Facts {
	return &Facts{Rand: f.Rand, Today: f.Today, Name: f.Name, Wide: f.Wide}
}

// Learn adopts a text that the document has for another property: part of a name, if it is one of
// ASCII letters, or what names a known place.
func (f *Facts) Learn(name, s string) {
	hint := hintOf(nameWords(name))
	isName := s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c|32 < 'a' || c|32 > 'z' })
	switch {
	case hint == "first name" && isName:
		f.person().given = s
	case hint == "last name" && isName:
		f.person().family = s
	case hasPlace(hint):
		names := func(p map[string]string) bool {
			return strings.EqualFold(p[hint], s) || hint == "country" && (s == p["country code"] || s == p["country code 3"])
		}
		if i := slices.IndexFunc(known().Places, names); i >= 0 && (f.where == nil || !names(f.where)) {
			f.where = known().Places[i]
		}
	}
}

// person returns the person, and chooses one on first use.
func (f *Facts) person() *person {
	if f.who == nil {
		f.who = &person{pick(f.Rand, "given names"), pick(f.Rand, "family names")}
	}
	return f.who
}

// account returns the person's name in lower case, with a separator between given and family name.
func (f *Facts) account(between string) string {
	return strings.ToLower(f.person().given + between + f.person().family)
}

// place returns the place, by hint, and chooses it on first use.
func (f *Facts) place() map[string]string {
	if f.where == nil {
		f.where = known().Places[f.IntN(len(known().Places))]
	}
	return f.where
}

// hasPlace reports whether a place has a value for a hint.
func hasPlace(hint string) bool { return known().Places[0][hint] != "" }

// inAddress reports whether the object has properties of an address.
func (f *Facts) inAddress() bool {
	return slices.ContainsFunc(f.Names, func(name string) bool {
		hint := hintOf(nameWords(name))
		return hint == "city" || hint == "zip"
	})
}
