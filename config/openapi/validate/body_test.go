package validate

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const bodies = `
openapi: 3.0.3
info: {title: bodies, version: "1"}
components:
  schemas:
    Item:
      type: object
      required: [sku, price]
      properties:
        sku: {type: string, pattern: '^[A-Z]-\d+$'}
        price: {type: number, minimum: 0, exclusiveMinimum: true}
    Order:
      type: object
      additionalProperties: false
      required: [id, items]
      properties:
        id: {type: string, readOnly: true}
        secret: {type: string, writeOnly: true}
        items: {type: array, minItems: 1, maxItems: 3, uniqueItems: true, items: {$ref: '#/components/schemas/Item'}}
        note: {type: string, nullable: true, maxLength: 5}
        state: {type: string, enum: [open, paid]}
        a/b~c: {type: integer}
    Node:
      type: object
      properties: {value: {type: integer}, next: {$ref: '#/components/schemas/Node'}}
    Cat: {type: object, required: [kind, lives], properties: {kind: {type: string}, lives: {type: integer}}}
    Dog: {type: object, required: [kind, bark], properties: {kind: {type: string}, bark: {type: boolean}}}
    Pet:
      oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]
      discriminator: {propertyName: kind, mapping: {feline: '#/components/schemas/Cat', hound: Dog}}
paths:
  /orders:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}, application/xml: {schema: {$ref: '#/components/schemas/Order'}}}}
      responses: &ok {"200": {description: ok}}
  /optional:
    put:
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: *ok
    delete: {responses: *ok}
  /nodes:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Node'}}}}
      responses: *ok
  /pets:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
      responses: *ok
  /ranges:
    post:
      requestBody: {content: {'image/*': {}, 'application/vnd.a+json; charset=utf-8': {schema: {type: array}}, text/plain: {schema: {type: integer}}, application/octet-stream: {schema: {type: string, format: binary}}}}
      responses: *ok
  /any:
    post:
      requestBody: {content: {'*/*': {schema: {type: object, required: [a]}}}}
      responses: *ok
  /form:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              additionalProperties: false
              required: [name]
              properties:
                name: {type: string, minLength: 2}
                age: {type: integer}
                tags: {type: array, items: {type: integer}}
                joined: {type: array, items: {type: integer}}
                address: {type: object, additionalProperties: false, properties: {zip: {type: integer}}}
            encoding: {joined: {style: form, explode: false}, address: {style: deepObject}}
      responses: *ok
  /parts:
    post:
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              additionalProperties: false
              required: [meta, file]
              properties:
                meta: {type: object, required: [n], properties: {n: {type: integer}}}
                file: {type: string, format: binary}
                count: {type: integer}
                names: {type: array, items: {type: string, maxLength: 3}}
                picture: {type: string, format: binary}
            encoding: {picture: {contentType: 'image/png, image/jpeg'}}
      responses: *ok
`

const asJSON = "\nContent-Type: application/json\n\n"

// parts returns a multipart body after its Content-Type, in the form that sent parses. Each
// argument is the rest of a part's header after "form-data; ", then "|" and the content of the
// part.
func parts(all ...string) string {
	var b strings.Builder
	for _, part := range all {
		head, content, _ := strings.Cut(part, "|")
		b.WriteString("--X\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + content + "\r\n")
	}
	return "\nContent-Type: multipart/form-data; boundary=X\n\n" + b.String() + "--X--\r\n"
}

func TestCheck_Bodies(t *testing.T) {
	const item = `{"sku": "A-1", "price": 1}`
	runChecks(t, bodies, []checkCase{
		{"an order", "POST /orders\nContent-Type: application/JSON; charset=utf-8\n\n" + `{"items": [` + item + `], "note": null, "secret": "s", "state": "open", "a/b~c": 1}`, nil},
		{"each mistake has its pointer", "POST /orders" + asJSON + `{"id": "1", "items": [{"sku": "a", "price": 0}, {"sku": 7}], "note": "longer", "state": "lost", "a/b~c": "x", "other": 1}`, []string{unprocessedText,
			"/body/a~1b~0c is a string; expected an integer", "/body/id is read-only", "/body/items/0/price is too small; expected more than 0", `/body/items/0/sku does not match the pattern ^[A-Z]-\d+$`,
			"/body/items/1/price is required", "/body/items/1/sku is a number; expected a string", "/body/note has 6 characters; expected at most 5", "/body/other is not declared", `/body/state is not one of "open", "paid"`}},
		{"of a list", "POST /orders" + asJSON + `{"items": [` + item + "," + item + "," + item + "," + item + `]}`, []string{unprocessedText, "/body/items has 4 items; expected at most 3", "/body/items has the same item twice, at 0 and 1"}},
		{"of another type", "POST /orders" + asJSON + `[1]`, []string{unprocessedText, "/body is an array; expected an object"}},
		{"none", "POST /orders\nContent-Type: application/json", []string{badText, "/body is required"}},
		{"malformed", "POST /orders" + asJSON + `{"items": [}`, []string{badText, "/body is not JSON: invalid character '}'"}},
		{"cut short", "POST /orders" + asJSON + `{"items": [`, []string{badText, "/body is not JSON: it ends too early"}},
		{"blanks", "POST /orders" + asJSON + " ", []string{badText, "/body is not JSON: it is empty"}},
		{"two values", "POST /orders" + asJSON + "{} {}", []string{badText, "/body is not JSON: text follows the value"}},
		{"a number beyond reckoning", "POST /orders" + asJSON + `{"items": [{"sku": "A-1", "price": 1e1000001}]}`, []string{badText, "/body has a number of more than 1000 digits"}},
		{"without a type", "POST /orders\n\n{}", []string{unsupportedText, "/header/content-type is missing; expected application/json, application/xml"}},
		{"of a type that is not declared", "POST /orders\nContent-Type: text/json\n\n{}", []string{unsupportedText, "/header/content-type is not accepted for a body; expected application/json, application/xml"}},
		{"of no type", "POST /orders\nContent-Type: ;\n\n{}", []string{unsupportedText, "/header/content-type is not a media type"}},
		{"XML is not looked at", "POST /orders\nContent-Type: application/xml\n\n<a>", nil},
		{"an optional one", "PUT /optional", nil},
		{"an optional one of another type", "PUT /optional" + asJSON + "7", []string{unprocessedText, "/body is a number; expected an object"}},
		{"one that is not declared", "DELETE /optional" + asJSON + "7", nil},

		{"a recursive one", "POST /nodes" + asJSON + `{"next": {"next": {"value": 1}}}`, nil},
		{"a recursive one, deep inside", "POST /nodes" + asJSON + `{"next": {"next": {"value": "x"}, "value": []}}`, []string{unprocessedText, "/body/next/next/value is a string", "/body/next/value is an array"}},

		{"a discriminator", "POST /pets" + asJSON + `{"kind": "feline", "lives": 9}`, nil},
		{"a discriminator, by name", "POST /pets" + asJSON + `{"kind": "hound", "bark": true}`, nil},
		{"what a discriminator names", "POST /pets" + asJSON + `{"kind": "feline", "bark": true}`, []string{unprocessedText, "/body/lives is required"}},
		{"a discriminator of nothing", "POST /pets" + asJSON + `{"kind": "Cat", "lives": 9}`, []string{unprocessedText, `/body/kind is not one of "feline", "hound"`}},
		{"no discriminator", "POST /pets" + asJSON + `{}`, []string{unprocessedText, "/body/kind is required"}},

		{"a range", "POST /ranges\nContent-Type: image/png\n\n\x00", nil},
		{"a JSON type with parameters", "POST /ranges\nContent-Type: application/vnd.a+json\n\n{}", []string{unprocessedText, "/body is an object; expected an array"}},
		{"a text", "POST /ranges\nContent-Type: text/plain\n\n17", nil},
		{"a text, wrong", "POST /ranges\nContent-Type: text/plain\n\nx", []string{unprocessedText, "/body is a string; expected an integer"}},
		{"bytes", "POST /ranges\nContent-Type: application/octet-stream\n\n\x00\xff", nil},
		{"outside of the ranges", "POST /ranges\nContent-Type: imagex/png\n\nx", []string{unsupportedText, "/header/content-type is not accepted for a body; expected application/octet-stream, application/vnd.a+json, text/plain, image/*"}},
		{"any type", "POST /any" + asJSON + "{}", []string{unprocessedText, "/body/a is required"}},

		{"a form", "POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=ab&age=7&tags=1&tags=2&joined=1,2&address[zip]=8000", nil},
		{"a form, otherwise", "POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=ab&tags[]=1&tags[]=2&joined=[1,2]&address={\"zip\":8000}", nil},
		{"a form, wrong", "POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=a&age=x&tags=1&tags=y&joined=1,z&address[zip]=q&address[no]=1&more=1&more=2", []string{unprocessedText,
			"/body/address/no is not declared", "/body/address/zip is a string", "/body/age is a string; expected an integer", "/body/joined/1 is a string", "/body/more is not declared", "/body/name has 1 character;", "/body/tags/1 is a string"}},
		{"a form, broken", "POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=a%&age=1&age=2", []string{badText, "/body/age is given 2 times", "/body/name has a %", "/body/name is required"}},

		{"parts", "POST /parts" + parts(`name="meta"|{"n": 1}`, `name="file"; filename="a.bin"|`+"\x00", `name="count"|7`, `name="names"|a`, `name="names"|b`, "name=\"picture\"; filename=\"a.png\"\r\nContent-Type: image/png|x"), nil},
		{"parts, wrong", "POST /parts" + parts(`name="meta"|{"n": "x"}`, `name="count"|x`, `name="names"|abcd`, `name="more"|1`, "name=\"picture\"; filename=\"a.gif\"\r\nContent-Type: image/gif|x"), []string{unsupportedText,
			"/body/count is a string; expected an integer", "/body/file is required", "/body/meta/n is a string", "/body/more is not declared", "/body/names/0 has 4 characters", "/body/picture has the media type image/gif; expected image/png, image/jpeg"}},
		{"parts, broken", "POST /parts" + parts(`name="meta"|{"n"`, `name="count"|1`, `name="count"|2`, `name="file"|f`), []string{badText, "/body/count is given more than once", "/body/meta is not JSON", "/body/meta is required"}},
		{"parts without an end", "POST /parts\nContent-Type: multipart/form-data; boundary=X\n\n--Y\r\n", []string{badText, "/body is not multipart/form-data: "}},
		{"parts without a boundary", "POST /parts\nContent-Type: multipart/form-data\n\n--X\r\n", []string{badText, "/body is not multipart/form-data: the Content-Type has no boundary"}},
	})
}

const modern = `
openapi: 3.1.0
info: {title: modern, version: "1"}
components:
  schemas:
    Point: {type: array, prefixItems: [{type: number}, {type: number}], items: false}
    Named: {type: object, properties: {name: {type: [string, "null"]}}}
    Card: {type: object, properties: {type: {const: card}, number: {type: string}}, required: [type, number]}
    Cash: {type: object, properties: {type: {const: cash}}, required: [type]}
paths:
  /modern:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                point: {$ref: '#/components/schemas/Point'}
                kind: {const: x}
                named: {allOf: [{$ref: '#/components/schemas/Named'}, {properties: {age: {type: integer}}}], unevaluatedProperties: false}
                maybe: {anyOf: [{$ref: '#/components/schemas/Named'}, {type: "null"}]}
                payment: {oneOf: [{$ref: '#/components/schemas/Card'}, {$ref: '#/components/schemas/Cash'}]}
                patterned: {type: object, patternProperties: {'^x-': {type: integer}}, additionalProperties: false, propertyNames: {maxLength: 5}}
                dependent: {dependentRequired: {a: [b]}}
                never: false
                exclusive: {exclusiveMinimum: 0, exclusiveMaximum: 10}
                ahead: {type: string, pattern: '^(?=.*\d).{2,}$'}
                both: {oneOf: [{type: integer}, {minimum: 0}]}
                not: {not: {type: integer}}
                many: {contains: {type: integer}, minContains: 2}
      responses: {"200": {description: ok}}
`

func TestCheck_OpenAPI31(t *testing.T) {
	runChecks(t, modern, []checkCase{
		{"fits", "POST /modern" + asJSON + `{"point": [1, 2], "kind": "x", "named": {"name": null, "age": 1}, "maybe": null, "payment": {"type": "cash"}, "patterned": {"x-a": 1}, "exclusive": 5, "ahead": "a1", "both": -1, "many": [1, 2]}`, nil},
		{"wrong", "POST /modern" + asJSON + `{"point": [1, "2", 3], "kind": "y", "named": {"name": 7, "more": 1}, "maybe": {"name": 1}, "payment": {"type": "card"}, "patterned": {"x-a": "b", "y": 1, "x-longer": 1}, "dependent": {"a": 1}, "never": 1, "exclusive": 10, "ahead": "ab", "both": 1, "not": 1, "many": [1]}`, []string{unprocessedText,
			`/body/ahead does not match the pattern ^(?=.*\d).{2,}$`, "/body/both fits two of the alternatives, numbers 1 and 2", "/body/dependent/b is required next to \"a\"", "/body/exclusive is too large; expected less than 10", `/body/kind is not "x"`, "/body/many has 1 item that the schema of contains accepts; expected at least 2",
			"/body/maybe/name is a number; expected null or a string", "/body/named/more is not declared", "/body/named/name is a number", "/body/never is not accepted", "/body/not is what the schema excludes",
			"/body/patterned/x-a is a string", "/body/patterned/x-longer has a name that is not accepted", "/body/patterned/y is not declared", "/body/payment/number is required", "/body/point/1 is a string", "/body/point/2 is not accepted"}},
	})
}

const secured = `
openapi: 3.0.3
info: {title: secured, version: "1"}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    inQuery: {type: apiKey, in: query, name: key}
    inCookie: {type: apiKey, in: cookie, name: sid}
    basic: {type: http, scheme: basic}
    token: {type: http, scheme: bearer}
    login: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'http://a.test/', scopes: {}}}}
    openid: {type: openIdConnect, openIdConnectUrl: 'http://a.test/'}
security: [{key: []}]
paths:
  /global: {get: {responses: &ok {"200": {description: ok}}}}
  /open: {get: {security: [], responses: *ok}}
  /optional: {get: {security: [{basic: []}, {}], responses: *ok}}
  /basic: {get: {security: [{basic: []}], parameters: [{name: n, in: query, schema: {type: integer}}], responses: *ok}}
  /both: {get: {security: [{inQuery: [], inCookie: []}], responses: *ok}}
  /either: {get: {security: [{token: []}, {key: []}, {login: []}, {openid: []}], responses: *ok}}
`

func TestCheck_Security(t *testing.T) {
	runChecks(t, secured, []checkCase{
		{"of the document", "GET /global\nx-key: a", nil},
		{"missing", "GET /global", []string{unauthorizedText, "/header/x-key is missing or empty; the security scheme key"}},
		{"empty", "GET /global\nX-Key: ", []string{unauthorizedText, "/header/x-key is missing"}},
		{"none is asked for", "GET /open", nil},
		{"optional", "GET /optional", nil},
		{"basic", "GET /basic\nAuthorization: basic YTpi", nil},
		{"a bearer is not basic, and the rest is told too", "GET /basic?n=x\nAuthorization: Bearer YTpi", []string{unauthorizedText, "/query/n is a string", "/header/authorization has no credentials of the form Basic"}},
		{"a scheme alone", "GET /basic\nAuthorization: Basic ", []string{unauthorizedText, "/header/authorization"}},
		{"both", "GET /both?key=1\nCookie: sid=2", nil},
		{"one of both", "GET /both?key=1", []string{unauthorizedText, "/cookie/sid is missing"}},
		{"neither", "GET /both?key=", []string{unauthorizedText, "/query/key is missing", "/cookie/sid is missing"}},
		{"the second", "GET /either\nX-Key: 1", nil},
		{"the first", "GET /either\nAuthorization: Bearer t", nil},
		{"none of several", "GET /either", []string{unauthorizedText, "/header/authorization has no credentials of the form Bearer …, which the security scheme login", "/header/authorization has no credentials", "/header/authorization has no credentials", "/header/x-key is missing or empty; the security scheme key requires it; one of the alternatives"}},
	})
	operations, _ := checked(t, secured)
	v := operations["GET /either"].Check(sent("GET /either"))
	if got := strings.Join(v.Challenges, "|"); got != `Bearer realm="token"|ApiKey in="header", name="X-Key"|Bearer realm="login"|Bearer realm="openid"` {
		t.Errorf("got the challenges %s", got)
	}
}

// When a document is loaded, the parts that requests cannot be checked against are reported.
func TestChecker_Warns(t *testing.T) {
	_, warnings := checked(t, `
openapi: 3.0.3
info: {title: a, version: "1"}
paths:
  /a:
    get:
      security: [{nobody: []}]
      parameters: [{name: q, in: query, schema: {type: string, pattern: '(?<!a)b'}}]
      responses: {"200": {description: ok}}
`)
	if len(warnings) != 2 || !strings.HasPrefix(warnings[0], `# requests are not checked against the pattern "(?<!a)b": `) || !strings.HasPrefix(warnings[1], "#/paths/~1a/get the security scheme nobody is not declared") {
		t.Errorf("got %q", warnings)
	}
}

// A request with a great many errors gets a verdict of bounded length, which counts further errors
// only up to a limit.
func TestCheck_ManyViolations(t *testing.T) {
	operations, _ := checked(t, bodies)
	items := strings.Repeat(`"x",`, 5000)
	v := operations["POST /form"].Check(sent("POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=abc&tags=" + strings.ReplaceAll(strings.TrimSuffix(items, ","), `"x",`, "x&tags=") + "1"))
	if len(v.Violations) != maxViolations || v.More < 900 || !v.Cut || v.Status != 422 {
		t.Errorf("got %d, %d more, others %t, status %d", len(v.Violations), v.More, v.Cut, v.Status)
	}
}

// The cost of a check is proportional to the size of the body, even if every level, item and
// alternative is wrong.
func TestCheck_WrongEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("-short skips long tests that run nothing concurrently")
	}
	operations, _ := checked(t, `
openapi: 3.1.0
info: {title: wrong, version: "1"}
components:
  schemas:
    Deep: {type: [string, object], additionalProperties: {$ref: '#/components/schemas/Deep'}}
    Node: {type: object, required: [x], properties: {l: {$ref: '#/components/schemas/Node'}, r: {$ref: '#/components/schemas/Node'}}}
paths:
  /list: {post: {requestBody: {content: {application/json: {schema: {type: array, items: {type: string}}}}}, responses: &ok {"200": {description: ok}}}}
  /map: {post: {requestBody: {content: {application/json: {schema: {type: object, properties: {ok: {type: integer}}, additionalProperties: {type: string}}}}}, responses: *ok}}
  /any: {post: {requestBody: {content: {application/json: {schema: {anyOf: [{type: array, items: {type: string}}, {type: array, items: {type: boolean}}]}}}}, responses: *ok}}
  /maps: {post: {requestBody: {content: {application/json: {schema: {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}}}}, responses: *ok}}
  /deep: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Deep'}}}}, responses: *ok}}
  /none: {post: {requestBody: {content: {application/json: {schema: {type: array, contains: {type: string}}}}}, responses: *ok}}
  /few: {post: {requestBody: {content: {application/json: {schema: {type: array, contains: {type: integer}, minContains: 1000000}}}}, responses: *ok}}
  /many: {post: {requestBody: {content: {application/json: {schema: {type: array, contains: {type: integer}, minContains: 0, maxContains: 2}}}}, responses: *ok}}
  /node: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Node'}}}}, responses: *ok}}
`)
	var object strings.Builder
	object.WriteString(`{"ok":1`)
	for i := range 50_000 {
		fmt.Fprintf(&object, `,"%d":1`, i)
	}
	tree := "{}"
	for range 14 {
		tree = `{"l":` + tree + `,"r":` + tree + "}"
	}
	long := `{"` + strings.Repeat("n", 1<<20) + `":` + object.String() + "}}"
	deep := strings.Repeat(`{"`+strings.Repeat("n", 1000)+`":`, 100) + object.String() + "}" + strings.Repeat("}", 100)
	ones := "[" + strings.Repeat("1,", 100_000) + "1]"
	nested := func(n int) string { return strings.Repeat(`{"l":`, n) + "{}" + strings.Repeat("}", n) }
	for _, c := range []struct {
		name, path, body string
		status, found    int
		cut              bool
	}{
		{"a list", "/list", "[" + strings.Repeat("1,", 500_000) + "1]", 422, maxViolations, true},
		{"an object", "/map", object.String() + "}", 422, maxViolations, true},
		{"alternatives", "/any", "[" + strings.Repeat("1,", 500_000) + "1]", 422, 1, false},
		{"a tree", "/node", tree, 422, maxViolations, true},
		{"a long name", "/maps", long, 422, maxViolations, true},
		{"long names", "/deep", deep, 422, maxViolations, true},
		{"nothing that a list is to contain", "/none", ones, 422, 1, false},
		{"too little of it", "/few", ones, 422, 1, false},
		{"too much of it", "/many", ones, 422, 1, false},
		{"every level", "/node", nested(maxDepth - 1), 422, maxDepth, false},
		{"too many levels", "/node", nested(maxDepth), 400, 1, false},
		{"a bomb", "/node", nested(9000), 400, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v := operations["POST "+c.path].Check(sent("POST " + c.path + "\nContent-Type: application/json\n\n" + c.body))
			runtime.ReadMemStats(&after)
			if v.Status != c.status || len(v.Violations) != c.found || v.Cut != c.cut {
				t.Errorf("got status %d, %d violations, cut %t; want %d, %d, %t", v.Status, len(v.Violations), v.Cut, c.status, c.found, c.cut)
			}
			for _, x := range v.Violations {
				if len(x.Pointer) > maxPointer+1<<10 || len(x.Message) > maxReason {
					t.Fatalf("a violation has a pointer of %d bytes, and a message of %d", len(x.Pointer), len(x.Message))
				}
			}
			if got, most := after.TotalAlloc-before.TotalAlloc, 64<<20+200*uint64(len(c.body)); got > most {
				t.Errorf("%d bytes were allocated for a body of %d, want at most %d", got, len(c.body), most)
			}
		})
	}
}

func TestCheck_AtOnce(t *testing.T) {
	operations, _ := checked(t, bodies)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if got := said(operations["POST /pets"].Check(sent("POST /pets" + asJSON + `{"kind": "feline"}`))); got != unprocessedText+"\n/body/lives is required" {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	all.Wait()
}

// FuzzCheck checks arbitrary requests against operations of every kind. Nothing may panic. A
// verdict must have a status and violations whose pointers begin with their locations, and must be
// the same the second time.
func FuzzCheck(f *testing.F) {
	var operations []*Checks
	var schemas map[string]any
	if err := json.Unmarshal([]byte(recursive), &schemas); err != nil {
		f.Fatal(err)
	}
	for _, document := range []string{styles, bodies, modern, secured, recursiveDocument(f, schemas)} {
		byName, _ := checked(f, document)
		for _, o := range byName {
			operations = append(operations, o)
		}
	}
	f.Add("/simple/1/2/R,1/R=1", "filter[a][0]=1&list=1&json={}", "application/json", "1, 2", []byte(`{"items": [1e9]}`))
	f.Add("/matrix/;p=1/;a=1/;x=1;x=2/;o=R,1/;R=1", "a=%zz", "application/x-www-form-urlencoded", "Basic x", []byte("name=a&address[zip]=1&tags[0]=x"))
	f.Add("/files/a.b.txt", "", "multipart/form-data; boundary=X", "", []byte("--X\r\nContent-Disposition: form-data; name=\"meta\"\r\n\r\n{}\r\n--X--\r\n"))
	f.Add("/", "filter[][]=1&filter[a]=1&filter[a][b]=2", "text/plain", "R=1", []byte("1e1000001"))
	f.Add("/", "", "application/json", "", []byte(strings.Repeat(`{"op":"or","e":`, 30)+`{"op":"not"}`+strings.Repeat("}", 30)))
	f.Add("/", "", "application/json", "", []byte(strings.Repeat(`{"op":"and","l":[7,7,[],[],{"op":"or"}],"e":`, 9)+`{"op":"or","x":1}`+strings.Repeat("}", 9)))
	f.Fuzz(func(t *testing.T, path, query, contentType, value string, body []byte) {
		r := &Request{Path: path, Query: query, Body: body}
		r.Header = func(name string) []string {
			if name == "Content-Type" {
				return []string{contentType}
			}
			return []string{value}
		}
		r.Cookie = func(string) (string, bool) { return value, true }
		for i, o := range operations {
			v := o.Check(r)
			if v == nil {
				continue
			}
			if v.Status == 0 || len(v.Violations) == 0 || (v.Status == 401) != (len(v.Challenges) > 0) {
				t.Errorf("operation %d: got %+v", i, v)
			}
			for _, x := range v.Violations {
				if !strings.HasPrefix(x.Pointer, "/"+x.In) || x.Message == "" {
					t.Errorf("got %+v", x)
				}
			}
			if v.More == 0 && said(v) != said(o.Check(r)) {
				t.Errorf("operation %d: another verdict the second time: %s", i, said(v))
			}
		}
	})
}
