package e2e_test

import (
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// refusals are operations that declare the answers to invalid requests.
const refusals = `
paths:
  /unprocessable:
    post:
      requestBody: &order {required: true, content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}}
      responses:
        '201': {description: made}
        '422':
          description: wrong
          headers: {X-Kind: {schema: {type: string}, example: validation}}
          content:
            application/json:
              schema:
                type: object
                required: [message, status, errors]
                additionalProperties: false
                properties:
                  message: {type: string}
                  status: {type: integer}
                  errors: {type: array, items: {type: object, required: [field, detail], properties: {field: {type: string}, detail: {type: string}}}}
  /bad:
    post:
      requestBody: *order
      responses:
        '201': {description: made}
        '400': {description: wrong, content: {application/problem+json: {schema: {type: object, required: [title, detail], properties: {title: {type: string, enum: [Bad]}, detail: {type: string}}}}}}
  /texts:
    post:
      requestBody: *order
      responses:
        '201': {description: made}
        4XX: {description: wrong, content: {application/json: {example: {error: {code: invalid, messages: [none]}}}}}
  /default:
    post:
      requestBody: *order
      responses:
        '201': {description: made}
        default: {description: wrong, content: {application/json: {example: {reason: x, kept: 1}}}}
  /no-room:
    post:
      requestBody: *order
      responses:
        '201': {description: made}
        '422': {description: wrong, content: {application/json: {schema: {type: object, required: [message], properties: {message: {type: string, maxLength: 5, enum: [wrong]}}}}}}
  /own:
    post:
      requestBody: *order
      responses: {default: {description: made}}
`

// An invalid request is answered with the error that its operation declares, and the reason is
// inserted where the declared body has a place for it.
func TestValidate_RepliesWithTheErrorsOfTheDocument(t *testing.T) {
	t.Parallel()
	p := Start(t, "--validate", "-m", harness.WriteFile(t, t.TempDir(), "api.yml", openAPI+strings.TrimPrefix(refusals, "\n")))
	const wrong = "the request is not what POST /%s accepts: /body/id is required"
	for _, c := range []struct {
		path   string
		status int
		media  string
		body   string
	}{
		{"unprocessable", 422, "application/json", `{"message":"` + wrong + `","status":422,"errors":[{"field":"/body/id","detail":"is required"}]}`},
		{"bad", 400, "application/problem+json", `{"title":"Bad","detail":"` + wrong + `"}`},
		{"texts", 422, "application/json", `{"error":{"code":"invalid","messages":["/body/id is required"]}}`},
		{"default", 422, "application/json", `{"reason":"` + wrong + `","kept":1}`},
		{"no-room", 422, "application/json", `{"message":"wrong"}`},
		{"own", 422, "application/json", ``},
	} {
		a := p.Do("POST", "/"+c.path, "{}", askedJSON)
		if want := strings.ReplaceAll(c.body, "%s", c.path); a.Status != c.status || a.Header.Get("Content-Type") != c.media || c.body != "" && a.Body != want {
			t.Errorf("%s: got %d %q %s\nwant %d %q %s", c.path, a.Status, a.Header.Get("Content-Type"), a.Body, c.status, c.media, want)
		}
		if c.body == "" && complaintOf(a, t).Code != "invalid_body" {
			t.Errorf("%s: got %s, want the server's own error", c.path, a.Body)
		}
		if got := a.Header.Get("X-Kind"); (got == "validation") != (c.path == "unprocessable") {
			t.Errorf("%s: got X-Kind %q", c.path, got)
		}
	}
	p.Do("POST", "/unprocessable", `{"id": 1}`, askedJSON).Want(t, 201, "")
}
