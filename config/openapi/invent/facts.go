// Package invent makes plausible values from the names of properties and from the other properties
// of their object. It does not depend on schemas.
package invent

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"mockserver/config/openapi/jsonvalue"
)

// Facts are what the values of one object agree on: a person, a place, the order of times. Each
// fact is settled on first use: from another property that has a value in the document, otherwise
// at random. Rand is the only source of randomness.
type Facts struct {
	*rand.Rand
	Today time.Time // midnight; times are made near it
	Name  string    // the name of the property whose value is made
	Wide  bool      // many different values are needed
	Names []string  // of the properties of the object
	// Beside has the members of the object that have a value in the document. It may be nil.
	Beside *jsonvalue.Object

	learned bool
	settled bool // the person is settled
	given   string
	family  string
	full    string // as written in the document
	where   *place
	times   []known // of the document
}

// Alone returns new facts that do not depend on other properties.
func (f *Facts) Alone() *Facts {
	return &Facts{Rand: f.Rand, Today: f.Today, Name: f.Name, Wide: f.Wide}
}

// learn adopts the values that the document has for the other properties.
func (f *Facts) learn() {
	if f.learned || f.Beside == nil {
		return
	}
	f.learned = true
	var among []*place
	for _, m := range f.Beside.Members {
		split := nameWords(m.Name)
		s, ok := m.Value.(string)
		if !ok || len(split) == 0 {
			continue
		}
		if t, ok := timeOf(s); ok {
			f.times = append(f.times, known{roleOf(split), t})
			continue
		}
		switch hint := hintOf(split); hint {
		case "first name":
			f.given = s
		case "last name":
			f.family = s
		case "name":
			if slices.Contains(fullNames, plainName(m.Name)) {
				f.full = s
			}
		default:
			if of := placeHints[hint]; of != nil {
				among = narrowed(among, of, s)
			}
		}
	}
	if len(among) > 0 {
		f.where = among[f.IntN(len(among))]
	}
}

// fullNames are the properties that contain the full name of a person.
var fullNames = []string{"name", "fullname", "displayname", "realname"}

// narrowed returns those of the places that a text from the document names. If it names none of
// them, it returns all of them. nil stands for every known place.
func narrowed(among []*place, of func(*place) string, s string) []*place {
	var named []*place
	for i := range places {
		p := &places[i]
		meant := of(p)
		fit := strings.EqualFold(meant, s) || meant == p.country && (s == p.code || s == p.code3)
		if fit && (among == nil || slices.Contains(among, p)) {
			named = append(named, p)
		}
	}
	if len(named) == 0 {
		return among
	}
	return named
}

// settle chooses the person.
func (f *Facts) settle() {
	if f.settled {
		return
	}
	f.settled = true
	f.learn()
	if f.full != "" && f.given == "" && f.family == "" {
		f.given = f.full
		if i := strings.LastIndexByte(f.full, ' '); i >= 0 {
			f.given, f.family = f.full[:i], f.full[i+1:]
		}
		return
	}
	if f.given == "" {
		f.given = pick(f.Rand, givenNames)
	}
	if f.family == "" {
		f.family = pick(f.Rand, familyNames)
	}
}

func (f *Facts) fullName() string {
	if f.settle(); f.full != "" {
		return f.full
	}
	return strings.TrimSpace(f.given + " " + f.family)
}

// account returns the person's name in lower case, with a separator between given and family name.
func (f *Facts) account(between string) string {
	f.settle()
	given, family := folded(f.given), folded(f.family)
	switch {
	case given == "" && family == "":
		return pick(f.Rand, words)
	case given == "" || family == "":
		return given + family
	}
	return given + between + family
}

// userName returns the initial of the given name and the family name of the person.
func (f *Facts) userName() string {
	f.settle()
	given, family := folded(f.given), folded(f.family)
	if given == "" || family == "" {
		return f.account("")
	}
	return given[:1] + family
}

// folded returns a name in lower-case ASCII letters, without accents.
func folded(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(norm.NFD.String(name)))
}

// place returns the place, and chooses it on first use.
func (f *Facts) place() *place {
	if f.learn(); f.where == nil {
		f.where = &places[f.IntN(len(places))]
	}
	return f.where
}

// inAddress reports whether the object has properties of an address.
func (f *Facts) inAddress() bool {
	return slices.ContainsFunc(f.Names, func(name string) bool {
		hint := hintOf(nameWords(name))
		return hint == "city" || hint == "zip"
	})
}
