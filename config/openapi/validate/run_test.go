package validate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/harness/volume"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// recursive contains schemas that refer to themselves from several alternatives, as in OpenAPI 3.1.
const recursive = `{
	"OneOf": {"oneOf": [
		{"type": "object", "properties": {"op": {"const": "and"}, "e": {"$ref": "#/components/schemas/OneOf"}}, "required": ["op"]},
		{"type": "object", "properties": {"op": {"const": "or"}, "e": {"$ref": "#/components/schemas/OneOf"}}, "required": ["op"]}]},
	"AnyOf": {"anyOf": [
		{"type": "object", "properties": {"op": {"enum": ["and", "or"]}, "e": {"$ref": "#/components/schemas/AnyOf"}}, "required": ["op"], "maxProperties": 1},
		{"type": "object", "properties": {"op": {"enum": ["and", "or"]}, "e": {"$ref": "#/components/schemas/AnyOf"}, "l": {"type": "array", "items": {"$ref": "#/components/schemas/AnyOf"}}}, "required": ["op"]}]},
	"AllOf": {"allOf": [
		{"type": "object", "properties": {"op": {"type": "string"}, "e": {"$ref": "#/components/schemas/AllOf"}}, "required": ["op"]},
		{"type": "object", "properties": {"op": {"enum": ["and", "or"]}, "e": {"$ref": "#/components/schemas/AllOf"}}}]},
	"Named": {"oneOf": [{"$ref": "#/components/schemas/And"}, {"$ref": "#/components/schemas/Or"}], "unevaluatedProperties": false},
	"And": {"type": "object", "properties": {"op": {"const": "and"}, "e": {"$ref": "#/components/schemas/Named"}, "l": {"type": "array", "items": {"$ref": "#/components/schemas/Named"}}}, "required": ["op"]},
	"Or": {"type": "object", "properties": {"op": {"const": "or"}, "e": {"$ref": "#/components/schemas/Named"}, "l": {"type": "array", "items": {"$ref": "#/components/schemas/Named"}}}, "required": ["op"]},
	"Mixed": {
		"if": {"properties": {"op": {"const": "and"}, "e": {"$ref": "#/components/schemas/Mixed"}}},
		"then": {"properties": {"e": {"$ref": "#/components/schemas/Mixed"}, "l": {"items": {"$ref": "#/components/schemas/OneOf"}}}},
		"else": {"not": {"properties": {"e": {"$ref": "#/components/schemas/Leaf"}}, "required": ["e"]}, "properties": {"e": {"$ref": "#/components/schemas/Mixed"}}},
		"anyOf": [{"$ref": "#/components/schemas/Leaf"}, {"required": ["op"], "properties": {"l": {"contains": {"$ref": "#/components/schemas/AnyOf"}}}, "additionalProperties": {"$ref": "#/components/schemas/Mixed"}}]},
	"Asked": {"allOf": [{"$ref": "#/components/schemas/Or"}, {"allOf": [{"$ref": "#/components/schemas/Or"}], "unevaluatedProperties": false}]},
	"Again": {"if": {"$ref": "#/components/schemas/AllOf"}, "else": {"$ref": "#/components/schemas/AllOf"}},
	"Twice": {"allOf": [{"oneOf": [{"$ref": "#/components/schemas/And"}, {"$ref": "#/components/schemas/Or"}]}, {"oneOf": [{"$ref": "#/components/schemas/And"}, {"$ref": "#/components/schemas/Or"}]}]},
	"List": {"items": {"$ref": "#/components/schemas/AllOf"}, "properties": {"l": {"$ref": "#/components/schemas/List"}}},
	"Leaf": {"type": ["string", "null", "array"], "maxLength": 2, "maxItems": 1, "items": {"$ref": "#/components/schemas/Mixed"}}
}`

// recursiveForms returns the forms of the schemas in recursive, each compiled as the schema of a
// request body, by name.
func recursiveForms(t *testing.T) map[string]*form {
	t.Helper()
	var schemas map[string]any
	if err := json.Unmarshal([]byte(recursive), &schemas); err != nil {
		t.Fatal(err)
	}
	operations, warnings := checked(t, recursiveDocument(t, schemas))
	if len(warnings) > 0 {
		t.Fatalf("warnings: %q", warnings)
	}
	all := map[string]*form{}
	for name := range schemas {
		all[name] = operations["POST /"+name].body.media[0].form
	}
	return all
}

// recursiveDocument returns a document with an operation for each schema.
func recursiveDocument(tb testing.TB, schemas map[string]any) string {
	tb.Helper()
	paths := map[string]any{}
	for name := range schemas {
		paths["/"+name] = map[string]any{"post": map[string]any{
			"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + name}}}},
			"responses":   map[string]any{"200": map[string]any{"description": "ok"}},
		}}
	}
	text, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "recursive", "version": "1"},
		"paths": paths, "components": map[string]any{"schemas": schemas},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// explained returns the findings of a run in the format of said.
func explained(of *form, r *run) string {
	var found findings
	found.explain(unprocessable, inBody, bodyPointer, of, r)
	return said(found.verdict())
}

func value(t *testing.T, text string) any {
	t.Helper()
	v, err := decodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The cost is proportional to the size of the body, however many ways lead to a value.
func TestCheck_RecursiveAlternatives(t *testing.T) {
	const levels = 200
	all := recursiveForms(t)
	deep := strings.Repeat("/e", levels)
	for _, c := range []struct{ schema, last, want string }{
		{"OneOf", `{"op":"or"}`, ""},
		{"OneOf", `{"op":"not"}`, unprocessedText + "\n/body"},
		{"OneOf", `{"op":"or","e":7}`, unprocessedText + "\n/body" + deep + "/e fits none of the 2 alternatives: is a number; expected an object"},
		{"AnyOf", `{"op":"or"}`, ""},
		{"AnyOf", `{"op":"not"}`, unprocessedText + "\n/body fits none of the 2 alternatives"},
		{"AllOf", `{"op":"or"}`, ""},
		{"AllOf", `{"op":"not"}`, unprocessedText + "\n/body" + deep + `/op is not one of "and", "or"`},
		{"AllOf", `{}`, unprocessedText + "\n/body" + deep + `/op is required`},
		{"Named", `{"op":"or"}`, ""},
		{"Named", `{"op":"or","x":1}`, unprocessedText + "\n/body" + deep + `/x is not declared`},
		{"Mixed", `{"op":"or"}`, ""},
	} {
		t.Run(c.schema+c.last, func(t *testing.T) {
			f := all[c.schema]
			v := value(t, strings.Repeat(`{"op":"or","e":`, levels)+c.last+strings.Repeat("}", levels))
			r := f.validate(v)
			got := explained(f, r)
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if strings.Count(got, "\n") > 1 || len(got) > 10_000 {
				t.Errorf("the message of one error has %d bytes", len(got))
			}
			if most := 20 * levels; r.work > most || r.gaveUp {
				t.Errorf("%d references were followed, want at most %d", r.work, most)
			}
		})
	}
}

// Concurrent validations do not share their memories.
func TestCheck_RecursiveAtOnce(t *testing.T) {
	f := recursiveForms(t)["Named"]
	texts := []string{`{"op":"or"}`, `{"op":"or","x":1}`}
	var all sync.WaitGroup
	for i := range 8 {
		v := value(t, strings.Repeat(`{"op":"or","e":`, 50)+texts[i%2]+strings.Repeat("}", 50))
		all.Go(func() {
			for range 20 {
				if fits := f.validate(v).ok(); fits != (i%2 == 0) {
					t.Errorf("%s: fits is %t", texts[i%2], fits)
				}
			}
		})
	}
	all.Wait()
}

// randomBody returns a value that recursive schemas accept most of the time.
func randomBody(r *rand.Rand, depth int) any {
	if r.IntN(20) == 0 {
		return []any{nil, json.Number("7"), "x", "long", []any{}, map[string]any{}}[r.IntN(6)]
	}
	m := map[string]any{"op": []string{"and", "or"}[r.IntN(2)]}
	if r.IntN(30) == 0 {
		m["op"] = "not"
	}
	if depth > 0 && r.IntN(10) > 0 {
		m["e"] = randomBody(r, depth-1)
	}
	if r.IntN(5) == 0 {
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = randomBody(r, min(depth-1, 2))
		}
		m["l"] = list
	}
	if r.IntN(20) == 0 {
		m["x"] = randomBody(r, min(depth-1, 2))
	}
	return m
}

// The memory does not change results: a body fits if the validator with its own keywords accepts
// it, and the violations are the same without a memory.
func TestCheck_LikeThePlainValidator(t *testing.T) {
	if testing.Short() {
		t.Skip("-short skips long tests that run nothing concurrently")
	}
	all := recursiveForms(t)
	fixed := []any{value(t, `[[],7,[],7,{},{}]`), value(t, `{"l":[[],7,[],7,"x","x",null,null]}`)}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"components": {"schemas": ` + recursive + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("test:plain", doc); err != nil {
		t.Fatal(err)
	}
	tries := 200
	if !volume.Full() {
		tries = 50
	}
	for name, f := range all {
		plain := compiler.MustCompile("test:plain#/components/schemas/" + name)
		random := rand.New(rand.NewPCG(1, uint64(len(name))))
		fitting, repeats := 0, 0
		for i := range tries + len(fixed) {
			v := randomBody(random, i%8)
			if i >= tries {
				v = fixed[i-tries]
			}
			text := fmt.Sprintf("%s %s", name, jsonvalue.Append(nil, v))
			r := f.from.begin(v)
			r.patient = 0
			r.validate(f.schema, v)
			slow := f.from.begin(v)
			slow.patient, slow.limit = math.MaxInt, math.MaxInt
			slow.validate(f.schema, v)
			if want := plain.Validate(v) == nil; r.ok() != want {
				t.Fatalf("%s: fits is %t, want %t", text, r.ok(), want)
			}
			if got, want := explained(f, r), explained(f, slow); got != want {
				t.Fatalf("%s: with a memory\n%s\nwithout\n%s", text, got, want)
			}
			if r.ok() {
				fitting++
			}
			if r.work < slow.work {
				repeats++
			}
		}
		if name != "Leaf" && name != "List" && (fitting < tries/20 || fitting > tries-tries/20 || repeats < tries/10) {
			t.Errorf("%s: %d of %d bodies fit, and %d were cheaper with a memory; too few of one kind to tell", name, fitting, tries, repeats)
		}
	}
}

// A schema that branches endlessly on one value costs at most the allowed work, and the verdict
// says so. A schema that leads to itself is an error, not an endless loop.
func TestCheck_GivesUp(t *testing.T) {
	var chain strings.Builder
	for i := range 40 {
		fmt.Fprintf(&chain, "    S%d: {oneOf: [{$ref: '#/components/schemas/S%d'}, {allOf: [{$ref: '#/components/schemas/S%d'}, {minLength: 9}]}]}\n", i, i+1, i+1)
	}
	operations, _ := checked(t, `
openapi: 3.1.0
info: {title: chain, version: "1"}
components:
  schemas:
    Self: {allOf: [{$ref: '#/components/schemas/Self'}]}
    Round: {anyOf: [{$ref: '#/components/schemas/About'}, {type: integer}]}
    About: {anyOf: [{$ref: '#/components/schemas/Round'}, {type: string}]}
`+chain.String()+`    S40: {type: string}
paths:
  /chain: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}, responses: &ok {"200": {description: ok}}}}
  /self: {post: {requestBody: {content: {application/json: {schema: {type: object, properties: {a: {$ref: '#/components/schemas/Self'}}}}}}, responses: *ok}}
  /round: {post: {requestBody: {content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Round'}, {$ref: '#/components/schemas/About'}]}}}}, responses: *ok}}
`)
	check := func(path, body string) string {
		return said(operations["POST "+path].Check(sent("POST " + path + asJSON + body)))
	}
	if got := check("/chain", `"a"`); got != "" {
		t.Errorf("a chain of alternatives: got %s", got)
	}
	f := operations["POST /chain"].body.media[0].form
	r := f.from.begin("a")
	r.patient, r.limit = math.MaxInt, 1000
	if got, want := explained(f, r.validate(f.schema, "a")), unprocessedText+"\n/body cannot be checked"; !strings.HasPrefix(got, want) || r.work != 1000 {
		t.Errorf("after %d references got %s, want %s", r.work, got, want)
	}
	if got, want := check("/self", `{"a":1}`), unprocessedText+"\n/body/a cannot be checked: its schema refers to itself"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	round := operations["POST /round"].body.media[0].form
	at := round.from.begin(1)
	at.patient = 0
	if got := explained(round, at.validate(round.schema, json.Number("1"))); got != "" {
		t.Errorf("the result found inside a circle is reused for another way into it: %s", got)
	}
	for body, want := range map[string]string{`1`: "", `"a"`: "", `{}`: unprocessedText + "\n/body fits none"} {
		if got := check("/round", body); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}
