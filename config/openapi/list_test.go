package openapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// A cut list has the first items of the original list. The other members of the body are kept.
func FuzzFindList(f *testing.F) {
	for _, text := range []string{
		`[]`, ` [ 1 , 2 ] `, `[[1],[2],{"a":[3]}]`, `{"items":["a","b"],"total":2}`, `{"a":[],"b":[]}`, `{"x":{"y":[1]}}`,
		`{"a":"]\\\"","items":[null,true,-1.5e3,"\"]"]}`, `{}`, `7`, `"[1]"`, `{"a":1,"list":[ {} , {} ]}`, "[1\n,2]", `{"a":true}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		place, ok := findList(body)
		if !ok {
			return
		}
		whole, list, ok := listIn(body, place.member)
		if !ok {
			return // a name occurs twice, or a number is too large
		}
		if len(list) != len(place.items) {
			t.Fatalf("%s: found %d items, want %d", body, len(place.items), len(list))
		}
		for n := range len(list) + 2 {
			cut := place.cut(bytes.Clone(body), n)
			others, some, ok := listIn(cut, place.member)
			if want := list[:min(n, len(list))]; !ok || len(some) != len(want) || len(want) > 0 && !reflect.DeepEqual(some, want) {
				t.Fatalf("%s cut to %d is %s", body, n, cut)
			}
			if !reflect.DeepEqual(others, whole) {
				t.Fatalf("%s cut to %d is %s: other members have changed", body, n, cut)
			}
		}
	})
}

// listIn returns the list in a text, and the other members of the object that contains it.
func listIn(body []byte, member string) (others map[string]json.RawMessage, list []any, ok bool) {
	if member != "" {
		if json.Unmarshal(body, &others) != nil {
			return nil, nil, false
		}
		body = others[member]
		delete(others, member)
	}
	err := json.Unmarshal(body, &list)
	return others, list, err == nil
}
