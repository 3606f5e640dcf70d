//go:build !race

package matcher

import "testing"

func TestAllocations(t *testing.T) {
	rs := declare("GET /static/path", "GET /users/:id", "GET /n/:id|int", "GET /files/*rest", "GET *.test /hosted")
	for i := range 40 {
		rs = append(rs, layoutTable(layouts[1].declared, i+1)[i])
	}
	for i := range 40 {
		rs = append(rs, layoutTable(layouts[0].declared, i+1)[i])
	}
	withHost := mustCompile(t, rs)
	plain := mustCompile(t, append(rs[:4:4], rs[5:]...))
	tests := []struct {
		name, target string
		most         float64
		use          func(r *Request) bool
	}{
		{"a static path", "/static/path", 0, func(r *Request) bool { return plain.Match(r, "GET") == 0 }},
		{"a static path among many", "/api/v1/things/id7/sub", 0, func(r *Request) bool { return plain.Match(r, "GET") == 4+40+7 }},
		{"a parameter", "/users/a", 0, func(r *Request) bool { return plain.Match(r, "GET") == 1 && len(r.Param(0)) == 1 }},
		{"a typed parameter", "/n/7", 0, func(r *Request) bool { return plain.Match(r, "GET") == 2 }},
		{"a parameter among many", "/r7/7", 0, func(r *Request) bool { return plain.Match(r, "GET") == 11 }},
		{"an encoded parameter", "/users/%41", 0, func(r *Request) bool { return plain.Match(r, "GET") == 1 && string(r.Param(0)) == "A" }},
		{"a catch-all", "/files/a/b", 0, func(r *Request) bool { return plain.Match(r, "GET") == 3 }},
		{"a miss", "/nowhere", 0, func(r *Request) bool { return plain.Match(r, "GET") == -1 }},
		{"a host", "/hosted", 0, func(r *Request) bool { return withHost.Match(r, "GET") == 4 }},
		{"a query value", "/x?a=1&b=2", 0, func(r *Request) bool { v, ok := r.Query("b"); return ok && string(v) == "2" }},
		{"an encoded query value", "/x?a=1&b=%32", 0, func(r *Request) bool { v, ok := r.Query("b"); return ok && string(v) == "2" }},
		{"a header", "/x", 0, func(r *Request) bool { v, ok := r.Header("x-key"); return ok && string(v) == "k" }},
		{"a missing header", "/x", 0, func(r *Request) bool { _, ok := r.Header("x-none"); return !ok }},
		{"a cookie", "/x", 0, func(r *Request) bool { v, ok := r.Cookie("c"); return ok && string(v) == "2" }},
		{"a JSON member", "/x", 0, func(r *Request) bool { return string(r.JSON().Member("a").Index(1).Raw) == "2" }},
		{"a JSON string with escapes", "/x", 0, func(r *Request) bool {
			r.Arena = r.JSON().Member("t").AppendText(r.Arena)
			return string(r.Arena) == "a\n"
		}},
		{"the rest", "/x", 0, func(r *Request) bool {
			r.Arena = r.RemoteAddr(r.Arena)
			return len(r.Method()) == 3 && len(r.Host()) == 6 && !r.Now().IsZero() && len(r.Body()) > 0
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := parsedRequest(t, "GET "+tt.target+" HTTP/1.1\nHost: a.test\nX-Key: k\nCookie: b=1; c=2\n\n")
			in := first.In
			Release(first)
			in.Body = []byte(`{"a": [1, 2], "t": "a\n"}`)
			wrong := 0
			got := testing.AllocsPerRun(200, func() {
				r := Acquire(in)
				if !tt.use(r) {
					wrong++
				}
				Release(r)
			})
			if wrong > 0 {
				t.Errorf("got the wrong answer %d times", wrong)
			}
			if got > tt.most {
				t.Errorf("got %v allocations, want at most %v", got, tt.most)
			}
		})
	}
}
