package invent

import (
	_ "embed"
	"fmt"
	"sync"

	"gopkg.in/yaml.v3"
)

//go:embed known.yml
var knownText []byte

// vocabulary is what known.yml contains.
type vocabulary struct {
	Hints      map[string][]string
	OtherForms map[string][]string `yaml:"other-forms"`
	Roles      map[string]period
	Numbers    map[string]Span
	Fakers     map[string]string
	FakerTimes map[string]string   `yaml:"faker-times"`
	Places     []map[string]string // by hint
	Lists      map[string][]string

	hints map[string]string // by the last two words, or the last word, of a name; each hint also maps to itself
	roles map[string]string // by words
}

// period is when the times of a role are, in days from today, and the words that name the role.
type period struct {
	From, To int
	Words    []string
}

// known returns the vocabulary, which is read when it is first needed.
var known = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{}
	if err := yaml.Unmarshal(knownText, v); err != nil {
		panic(fmt.Sprintf("known.yml: %v", err)) // a test reads it
	}
	v.hints, v.roles = map[string]string{}, map[string]string{}
	for hint, words := range v.Hints {
		for _, word := range append(words, hint) {
			v.hints[word] = hint
		}
	}
	for role, p := range v.Roles {
		for _, word := range p.Words {
			v.roles[word] = role
		}
	}
	return v
})
