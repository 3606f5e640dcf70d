package listener

import (
	"fmt"
	"slices"
	"strings"
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

func TestSequences_PerIsRefusedElsewhere(t *testing.T) {
	for text, want := range map[string]string{
		"per: path-params.id\n    response: {}":                                          "m.yml:4:10: [0].endpoint.per: per needs select: sequence or sequence-hold",
		"per: path-params.id\n    select: weighted\n    responses: [{}]":                 "per needs select: sequence or sequence-hold",
		"scope: shared\n    response: {}":                                                "m.yml:4:12: [0].endpoint.scope: shared needs select: sequence or sequence-hold",
		"scope: shared\n    select: weighted\n    responses: [{}]":                       "shared needs select: sequence or sequence-hold",
		"scope: fleet\n    select: sequence\n    responses: [{}]":                        "expected replica or shared",
		"if: shared-counter(\"a\") = 1\n    response: {}":                                "shared-counter accepts a name in quotes; only in responses, and with --shared-state",
		"per: path-params.id x\n    select: sequence\n    responses: [{}]":               `m.yml:4:25: [0].endpoint.per: unexpected "x"; expected one operand`,
		"per: \"\"\n    select: sequence\n    responses: [{}]":                           "[0].endpoint.per: is empty",
		"per: total\n    let: {total: 1}\n    select: sequence\n    responses: [{}, {}]": "",
	} {
		spec := config.Parse("m.yml", []byte("- endpoint:\n    path: /:id\n    method: GET\n    "+text+"\n"))
		if got := Check(spec, Options{}).Error(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\n\tsays %s\n\twant %s", text, got, want)
		}
	}
}

// Obtaining numbers that replicas share takes time, so they are not available while a request is
// being matched.
func TestShared_NumbersAreForReplies(t *testing.T) {
	for text, fine := range map[string]bool{
		`response: {body: '{{shared-counter("a")}}', headers: {X-A: '{{shared-sequence("a")}}'}}`: true,
		`let: {id: '{{shared-counter("a")}}'}, response: {body: '{{id}}'}`:                        true,
		`if: 'shared-sequence("a") = 1', response: {}`:                                            false,
		`response: {body: '{{shared-counter("a", 1)}}'}`:                                          false,
		`response: {body: '{{shared-counter()}}'}`:                                                false,
	} {
		err := Check(config.Parse("m.yml", []byte("- endpoint: {path: /a, "+text+"}")), Options{SharedState: "nats://127.0.0.1:1"}).Err()
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "accepts a name in quotes; only in responses") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLet_IsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"let: {now: 1}":                          `[0].endpoint.let.now: "now" is a word of the template language; expected another name`,
		"let: {response: 1}":                     `"response" is a word of the template language; expected another name`,
		"let: {1a: 1}":                           "[0].endpoint.let.1a: is not a name: a letter, followed by",
		"let: {a: \"{{b}}\", b: 1}":              `m.yml:3:17: [0].endpoint.let.a: "b" is a name of this endpoint that is not available here`,
		"let: {a: \"{{a}}\"}":                    `"a" is a name of this endpoint that is not available here`,
		"let: {a: [1, \"{{nope}}\"]}":            `unknown variable "nope"`,
		"if: b = 1\n    let: {a: 1}":             "",
		"let: {a: \"{{response.status}}\"}":      "response is available only in webhooks, which are sent after it",
		"webhook: {url: \"{{response.state}}\"}": `"response.state" is not a part of the response; expected response.status, response.headers.NAME`,
	} {
		spec := config.Parse("m.yml", []byte("- endpoint:\n    path: /\n    "+text+"\n    response: {}\n"))
		problems := Check(spec, Options{})
		if got := problems.Error(); want != "" && !strings.Contains(got, want) || len(problems) > 1 {
			t.Errorf("%s\n\tsays %s\n\twant %s", text, got, want)
		}
	}
}
