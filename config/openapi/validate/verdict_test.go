package validate

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// checked compiles a document for checks only. It returns the operations by method and path, and
// the warnings.
func checked(tb testing.TB, text string) (map[string]*Checks, []string) {
	tb.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var warnings []string
	c := New(doc, nil, func(_, pointer, what string) { warnings = append(warnings, pointer+" "+what) })
	operations := map[string]*Checks{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			operations[method+" "+path] = c.Add(path, "#"+below(below("/paths", path), strings.ToLower(method)), item, op)
		}
	}
	c.Finish()
	slices.Sort(warnings)
	return operations, warnings
}

// sent parses a request: "GET /a?b=c", then headers, then the body after an empty line.
func sent(text string) *Request {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	_, target, _ := strings.Cut(lines[0], " ")
	r := &Request{Body: []byte(body)}
	r.Path, r.Query, _ = strings.Cut(target, "?")
	header := http.Header{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		header.Add(name, value)
	}
	r.Header = func(name string) []string { return header.Values(name) }
	r.Cookie = func(name string) (string, bool) {
		for item := range strings.SplitSeq(header.Get("Cookie"), "; ") {
			if key, value, _ := strings.Cut(item, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
	return r
}

// said returns a verdict as a single string: the status, then the pointer and the message of each
// violation; "" for none.
func said(v *Verdict) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(http.StatusText(v.Status))
	for _, x := range v.Violations {
		b.WriteString("\n" + x.Pointer + " " + x.Message)
	}
	return b.String()
}

type checkCase struct {
	name, request string
	want          []string // the status, then the beginnings of the violations; none when the request fits
}

func runChecks(t *testing.T, document string, cases []checkCase) {
	t.Helper()
	operations, warnings := checked(t, document)
	if len(warnings) > 0 {
		t.Fatalf("warnings: %q", warnings)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			method, target, _ := strings.Cut(c.request, " ")
			path, _, _ := strings.Cut(strings.SplitN(target, "\n", 2)[0], "?")
			var o *Checks
			for key, candidate := range operations {
				if m, template, _ := strings.Cut(key, " "); m == method && parsePath(template).values(path) != nil && sameLiterals(template, path) {
					o = candidate
				}
			}
			if o == nil {
				t.Fatalf("no operation for %s", c.request)
			}
			got := said(o.Check(sent(c.request)))
			lines := strings.Split(got, "\n")
			fits := len(lines) == len(c.want) && got != "" || got == "" && len(c.want) == 0
			for i := 0; fits && i < len(c.want); i++ {
				fits = strings.HasPrefix(lines[i], c.want[i])
			}
			if !fits {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(c.want, "\n"))
			}
		})
	}
}

func sameLiterals(template, path string) bool {
	a, b := segmentsOf(template), segmentsOf(path)
	for i := range a {
		if !strings.Contains(a[i], "{") && a[i] != b[i] {
			return false
		}
	}
	return true
}

const (
	badText          = "Bad Request"
	unauthorizedText = "Unauthorized"
	unsupportedText  = "Unsupported Media Type"
	unprocessedText  = "Unprocessable Entity"
)

// styles has the examples from the tables of OpenAPI 3.0.3 and 3.1: color is blue, black, brown or
// R, G and B.
const styles = `
openapi: 3.0.3
info: {title: styles, version: "1"}
paths:
  /simple/{p}/{a}/{o}/{e}:
    get:
      parameters:
        - {name: p, in: path, required: true, schema: {type: integer, maximum: 9}}
        - {name: a, in: path, required: true, schema: &list {type: array, items: {type: integer}, maxItems: 3}}
        - {name: o, in: path, required: true, schema: &object {type: object, additionalProperties: false, required: [R], properties: {R: {type: integer}, G: {type: integer}}}}
        - {name: e, in: path, required: true, explode: true, schema: *object}
      responses: &ok {"200": {description: ok}}
  /label/{p}/{a}/{x}/{o}/{e}:
    get:
      parameters:
        - {name: p, in: path, style: label, required: true, schema: {type: integer}}
        - {name: a, in: path, style: label, required: true, schema: *list}
        - {name: x, in: path, style: label, explode: true, required: true, schema: *list}
        - {name: o, in: path, style: label, required: true, schema: *object}
        - {name: e, in: path, style: label, required: true, explode: true, schema: *object}
      responses: *ok
  /matrix/{p}/{a}/{x}/{o}/{e}:
    get:
      parameters:
        - {name: p, in: path, style: matrix, required: true, schema: {type: integer}}
        - {name: a, in: path, style: matrix, required: true, schema: *list}
        - {name: x, in: path, style: matrix, explode: true, required: true, schema: *list}
        - {name: o, in: path, style: matrix, required: true, schema: *object}
        - {name: e, in: path, style: matrix, required: true, explode: true, schema: *object}
      responses: *ok
  /files/{name}.{ext}:
    get:
      parameters:
        - {name: name, in: path, required: true, schema: {type: string, maxLength: 3}}
        - {name: ext, in: path, required: true, schema: {type: string, enum: [txt, json]}}
      responses: *ok
  /query:
    parameters:
      - {name: inherited, in: query, schema: {type: boolean}}
      - {name: limit, in: query, schema: {type: string}}
    get:
      parameters:
        - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 100}}
        - {name: list, in: query, schema: *list}
        - {name: joined, in: query, explode: false, schema: *list}
        - {name: spaced, in: query, style: spaceDelimited, schema: *list}
        - {name: piped, in: query, style: pipeDelimited, schema: *list}
        - {name: filter, in: query, style: deepObject, schema: {type: object, additionalProperties: false, properties: {R: {type: integer}, tags: {type: array, items: {type: integer}}, in: {type: object, properties: {deep: {type: boolean}}}}}}
        - {name: spread, in: query, schema: {type: object, properties: {width: {type: integer}, height: {type: integer}}}}
        - {name: pairs, in: query, explode: false, schema: *object}
        - {name: text, in: query, schema: {type: string, minLength: 2, pattern: '^[a-z+ ]+$'}}
        - {name: url, in: query, allowReserved: true, schema: {type: string, format: uri}}
        - {name: empty, in: query, allowEmptyValue: true, schema: {type: integer}}
        - {name: nothing, in: query, schema: {type: integer, nullable: true}}
        - {name: any, in: query, schema: {oneOf: [{type: integer}, {type: boolean}]}}
        - {name: either, in: query, schema: {anyOf: [{type: integer, maximum: 9}, {type: string, maxLength: 2}]}}
        - {name: kind, in: query, schema: {type: string, enum: [a, "7"]}}
        - {name: when, in: query, schema: {type: string, format: date-time}}
        - {name: json, in: query, content: {application/json: {schema: {type: object, required: [a], properties: {a: {type: array, items: {type: integer}}}}}}}
        - {name: plain, in: query, content: {text/plain: {schema: {type: string}}}}
        - {name: half, in: query, schema: {type: number, multipleOf: 0.5, exclusiveMinimum: true, minimum: 0}}
        - {name: small, in: query, schema: {type: integer, format: int32}}
      responses: *ok
  /required:
    get:
      parameters:
        - {name: q, in: query, required: true, schema: {type: string}}
        - {name: X-Id, in: header, required: true, schema: {type: string, format: uuid}}
        - {name: X-List, in: header, schema: *list}
        - {name: X-Object, in: header, explode: true, schema: *object}
        - {name: Content-Type, in: header, required: true, schema: {type: integer}}
        - {name: sid, in: cookie, required: true, schema: {type: string, minLength: 4}}
        - {name: ids, in: cookie, explode: false, schema: *list}
      responses: *ok
`

func TestCheck_Parameters(t *testing.T) {
	runChecks(t, styles, []checkCase{
		{"simple", "GET /simple/5/3,4,5/R,100,G,200/R=100,G=200", nil},
		{"simple, a slash at the end", "GET /simple/5/3,4,5/R,100/R=100/", nil},
		{"simple, encoded", "GET /simple/%35/3%2C4/R%2C100/R=1%300", nil},
		{"simple, all wrong", "GET /simple/50/3,x,4,5/G,1/R=x,B=1", []string{badText,
			"/path/a has 4 items; expected at most 3", "/path/a/1 is a string; expected an integer", "/path/e/B is not declared", "/path/e/R is a string; expected an integer",
			"/path/o/R is required", "/path/p is too large; expected at most 9"}},
		{"simple, no object", "GET /simple/5/3/R/R", []string{badText, "/path/e is not a list of NAME=VALUE", "/path/o is not a list of names and values"}},
		{"simple, a broken escape", "GET /simple/5%/3/R,1/R=1", []string{badText, "/path/p has a %"}},
		{"label", "GET /label/.5/.3,4,5/.3.4.5/.R,100,G,200/.R=100.G=200", nil},
		{"label, all wrong", "GET /label/5/.3,4,x/.3.x.5/.R,x/.R=x", []string{badText,
			"/path/a/2 is a string", "/path/e/R is a string", "/path/o/R is a string", `/path/p does not begin with "."`, "/path/x/1 is a string"}},
		{"matrix", "GET /matrix/;p=5/;a=3,4,5/;x=3;x=4;x=5/;o=R,100,G,200/;R=100;G=200", nil},
		{"matrix, all wrong", "GET /matrix/;q=5/;a=3,x/;x=3;x=x/;o=R,x/;R=x", []string{badText,
			"/path/a/1 is a string", "/path/e/R is a string", "/path/o/R is a string", `/path/p does not begin with ";p="`, "/path/x/1 is a string"}},
		{"two in a segment", "GET /files/abc.txt", nil},
		{"two in a segment, wrong", "GET /files/abcd.xml", []string{badText, `/path/ext is not one of "txt", "json"`, "/path/name has 4 characters; expected at most 3"}},
		{"two in a segment, none", "GET /files/abc", []string{badText, "/path/ext is required", "/path/name is required"}},

		{"none of the query", "GET /query", nil},
		{"what is not declared", "GET /query?other=1&%zz=%", nil},
		{"form", "GET /query?limit=1&list=1&list=2&joined=1,2&inherited=true&text=a+b", nil},
		{"form, wrong", "GET /query?limit=0&list=1&list=a&joined=1,2,3,4&inherited=yes&text=A", []string{badText,
			"/query/inherited is a string; expected a boolean", "/query/joined has 4 items", "/query/limit is too small; expected at least 1", "/query/list/1 is a string",
			"/query/text does not match the pattern ^[a-z+ ]+$", "/query/text has 1 character; expected at least 2"}},
		{"an integer that is one", "GET /query?limit=1.0&any=1e2", nil},
		{"integers that are none", "GET /query?limit=1.5&list=0x1&joined=1,,2", []string{badText, "/query/joined/1 is a string", "/query/limit is a number; expected an integer", "/query/list/0 is a string"}},
		{"an integer beyond reckoning", "GET /query?limit=1e999999999", []string{badText, "/query/limit is a string"}},
		{"empty values", "GET /query?limit=&list=&empty=&nothing=&spaced=&json=", []string{badText, "/query/json is not JSON", "/query/limit is a string"}},
		{"given twice", "GET /query?limit=1&limit=2", []string{badText, "/query/limit is given 2 times"}},
		{"delimited", "GET /query?spaced=1%202%203&piped=1|2|3", nil},
		{"delimited otherwise", "GET /query?spaced=1+2&piped=1%7C2", nil},
		{"delimited, wrong", "GET /query?spaced=1,2&piped=1%7Cx", []string{badText, "/query/piped/1 is a string", "/query/spaced/0 is a string"}},
		{"deepObject", "GET /query?filter[R]=100&filter[tags]=1&filter[tags]=2&filter[in][deep]=true", nil},
		{"deepObject, encoded", "GET /query?filter%5BR%5D=100&filter[tags][]=1&filter[tags][]=2", nil},
		{"deepObject, indexes", "GET /query?filter[tags][0]=1&filter[tags][10]=x&filter[tags][9]=2", []string{badText, "/query/filter/tags/2 is a string"}},
		{"deepObject, wrong", "GET /query?filter[R]=x&filter[other]=1&filter[in][deep]=7", []string{badText,
			"/query/filter/R is a string", "/query/filter/in/deep is a string; expected a boolean", "/query/filter/other is not declared"}},
		{"deepObject, not closed", "GET /query?filter[R=1", []string{badText, "/query/filter has brackets that are not closed"}},
		{"properties of the query", "GET /query?width=1&height=x&depth=y", []string{badText, "/query/spread/height is a string"}},
		{"names and values", "GET /query?pairs=R,1,G,x", []string{badText, "/query/pairs/G is a string"}},
		{"reserved", "GET /query?url=http://a/b?c=d/e:f+g", nil},
		{"not a URL", "GET /query?url=a%20b", []string{badText, "/query/url is not of the format uri"}},
		{"alternatives", "GET /query?any=true&either=12&kind=7", nil},
		{"alternatives, wrong", "GET /query?any=x&either=abc&kind=b", []string{badText,
			"/query/any fits none of the 2 alternatives: is a string; expected an integer, or is a string; expected a boolean",
			"/query/either has 3 characters; expected at most 2", `/query/kind is not one of "a", "7"`}},
		{"a time", "GET /query?when=2024-02-30T00:00:00Z", []string{badText, "/query/when is not of the format date-time"}},
		{"JSON", "GET /query?json=%7B%22a%22%3A%5B1%5D%7D&plain=%7B", nil},
		{"JSON, wrong", `GET /query?json={"a":[1,"x"]}`, []string{badText, "/query/json/a/1 is a string"}},
		{"JSON, broken", `GET /query?json={"a`, []string{badText, "/query/json is not JSON"}},
		{"numbers", "GET /query?half=2.5&small=2147483647", nil},
		{"numbers, wrong", "GET /query?half=0&small=2147483648", []string{badText, "/query/half is too small; expected more than 0", "/query/small is not of the format int32"}},
		{"no multiple", "GET /query?half=0.7", []string{badText, "/query/half is not a multiple of 0.5"}},

		{"nothing of what is required", "GET /required", []string{badText, "/query/q is required", "/header/x-id is required", "/cookie/sid is required"}},
		{"all that is required", "GET /required?q=\nX-Id: 123e4567-e89b-12d3-a456-426614174000\nx-list: 1, 2\nX-List: 3\nX-Object: R=1, G=2\nCookie: sid=abcd; ids=1,2", nil},
		{"what is required is wrong", "GET /required?q=1\nX-Id: 7\nX-List: 1, x\nX-Object: R=x\nCookie: sid=abc; ids=1,x", []string{badText,
			"/header/x-id is not of the format uuid", "/header/x-list/1 is a string", "/header/x-object/R is a string", "/cookie/ids/1 is a string", "/cookie/sid has 3 characters"}},
	})
}
