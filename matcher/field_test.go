package matcher

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mockserver/internal/json"
)

// Field returns the same as Member of the body, regardless of the number and order of calls.
func TestRequest_FieldIsMemberOfTheBody(t *testing.T) {
	names := []string{"a", "b", "ab", `a\`, "é", "\n", "", "length", "😀"}
	written := []string{`"a"`, `"b"`, `"a\u0062"`, `"a\\"`, `"\u00e9"`, `"é"`, `"\n"`, `""`, `"\u0061"`, `"length"`, `"\ud83d\ude00"`}
	values := []string{"1", `"x"`, "null", `{"a": [1, "}"]}`, `[{"a": "]"}, 2]`, "true"}
	r := rand.New(rand.NewPCG(1, 2))
	bodies := []string{"", "{}", "[]", `"a"`, "{", `[{"a": 1}]`}
	for range 300 {
		var members []string
		for range r.IntN(2*fieldsKept) / (1 + r.IntN(8)) {
			members = append(members, fmt.Sprintf("%s : %s", written[r.IntN(len(written))], values[r.IntN(len(values))]))
		}
		bodies = append(bodies, " {"+strings.Join(members, " ,\n")+"}\r\n")
	}
	for _, body := range bodies {
		req := Acquire(Input{Body: []byte(body)})
		for range 2 {
			for _, name := range names {
				if got, want := req.Field(name), json.Parse([]byte(body)).Member(name); got.Kind != want.Kind || string(got.Raw) != string(want.Raw) {
					t.Errorf("%s of %s: got %s, want %s", name, body, got.Raw, want.Raw)
				}
			}
		}
		Release(req)
	}
}
