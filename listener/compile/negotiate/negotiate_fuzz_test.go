package negotiate

import (
	"bytes"
	"strings"
	"testing"

	"mockserver/config/openapi"
	"mockserver/matcher"
)

func headerOf(lines ...string) matcher.Header {
	return matcher.Header(strings.Join(lines, "\r\n") + "\r\n\r\n")
}

// FuzzPrefer reads arbitrary headers: what is read from them is valid, and a well-formed preference
// is read as intended, whatever follows it.
func FuzzPrefer(f *testing.F) {
	for _, seed := range []string{"code=404, example=a", `example="a\"b;,", dynamic`, "code = 200;x=y ,,=;", "a b=c d", `"`, `code="`, "example==a", "\t"} {
		f.Add([]byte(seed), "a")
	}
	f.Fuzz(func(t *testing.T, line []byte, name string) {
		var p preferences
		p.read(line, nil)
		if p.code != 0 && (p.code < 200 || p.code > 599) || len(p.example) > len(line) || p.wrong != "" && !p.coded && !p.dynamicGiven {
			t.Errorf("%q: got %+v", line, p)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
		var q preferences
		q.read([]byte("example="+quoted+", code=404, "+string(line)), nil)
		if string(q.example) != name || q.code != 404 {
			t.Errorf("%q: got %q and %d", name, q.example, q.code)
		}
	})
}

// FuzzAccept weighs media types by arbitrary headers: each weight is valid, a type that is named in
// a later header counts, and no rank is above itself.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"text/html, */*;q=0.8", "application/*;q=0.5, application/xml", "a/b;c=\"d,e\";q=1.5", ";", "q=0", "*", "*/*;q=0.0001", `a/b;"`} {
		f.Add([]byte(seed))
	}
	types := []string{"application/json", "application/xml", "text/plain; charset=utf-8", `a/b; c="d,e"`, ""}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\r\n") {
			return // that would be two header lines
		}
		accept := headerOf("Accept: " + string(line))
		o := Operation{document: &openapi.Operation{}}
		for _, mediaType := range types {
			weight, specific := weigh(mediaType, accept)
			if weight < 0 || weight > 1000 || specific < -1 || specific == -1 && weight > 0 {
				t.Errorf("%q: got %d and %d for %s", line, weight, specific, mediaType)
			}
			o.document.Responses = append(o.document.Responses, openapi.Response{Status: 200, Declared: "200", MediaType: mediaType})
		}
		if _, named := weigh("application/x-own", headerOf("Accept: "+string(line), "Accept: application/x-own;q=0.3")); named < exactRange {
			t.Errorf("%q: a named type is ranked %d", line, named)
		}
		for i := range types {
			r := o.rank(i, accept)
			if r.above(r) {
				t.Errorf("%q: %+v is above itself", line, r)
			}
			best := o.best([]int{0, 1, 2, 3, 4}, accept)
			if r.above(o.rank(best, accept)) {
				t.Errorf("%q: %s is better than %s", line, types[i], types[best])
			}
		}
	})
}
