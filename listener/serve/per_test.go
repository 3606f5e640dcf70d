package serve

import (
	"fmt"
	"slices"
	"testing"

	"mockserver/config"
)

const perPayment = `
- endpoint:
    path: /payments/:id
    select: %s
    per: path-params.id
    responses: [{body: pending}, {body: pending again}, {body: paid}]
`

// TestSequences_PerValue expects each value to have its own position in the sequence, whatever the
// order of requests, even after a reload that does not change the endpoint.
func TestSequences_PerValue(t *testing.T) {
	for choice, want := range map[string][]string{
		config.SelectSequenceHold: {"pending", "pending again", "paid", "paid", "paid"},
		config.SelectSequence:     {"pending", "pending again", "paid", "pending", "pending again"},
	} {
		s := configured(t, fmt.Sprintf(perPayment, choice))
		got := map[string][]string{}
		for i, id := range []string{"a", "b", "a", "a", "b", "c", "a", "a", "b"} {
			if i == 4 {
				err := s.Apply(config.Parse("m.yml", []byte(fmt.Sprintf(perPayment, choice)+"- endpoint: {path: /other, response: {}}\n")))
				if err != nil {
					t.Fatal(err)
				}
			}
			got[id] = append(got[id], responsesOf(t, s, 1, "/payments/"+id)...)
		}
		if !slices.Equal(got["a"], want) || !slices.Equal(got["b"], want[:3]) || !slices.Equal(got["c"], want[:1]) {
			t.Errorf("%s: got %v, want a prefix of %v for each", choice, got, want)
		}
	}
}
