// Package validate checks requests against the operations of a document, and values against its
// schemas.
package validate

import (
	"cmp"
	"slices"
	"strings"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/wording"
)

// Request contains the parts of a request that are checked, as they were sent. Check keeps no
// reference to them, and they must not be changed during the check.
type Request struct {
	Path  string // without the query; neither decoded nor normalised
	Query string // without the "?"
	// Header returns the values of a header, one for each of its lines; none when the header is
	// absent. The name is case-insensitive.
	Header func(name string) []string
	// Cookie returns the first value of a cookie, as sent, and whether the cookie is present.
	Cookie func(name string) (value string, ok bool)
	Body   []byte // without content codings
}

// Checks are the compiled request checks of an operation.
type Checks struct {
	path       pathTemplate
	security   []alternative // a request must satisfy one of them; none when no credentials are required
	parameters []parameter
	named      map[string]bool // the names of the query parameters; others may be properties of a parameter
	body       *body           // nil when any body is accepted
}

// Check checks a request against the operation. It returns nil when the document allows the
// request. It is safe for concurrent use.
func (c *Checks) Check(r *Request) *Verdict {
	var found findings
	c.checkSecurity(r, &found)
	in := &input{Request: r, path: c.path.values(r.Path), query: pairsOf(r.Query), named: c.named}
	for i := range c.parameters {
		c.parameters[i].check(in, &found)
	}
	if c.body != nil {
		c.body.check(r, &found)
	}
	return found.verdict()
}

// Violation is one way in which a request violates the document, as responses say it in JSON.
type Violation struct {
	In      string `json:"in"`      // "path", "query", "header", "cookie" or "body"
	Pointer string `json:"pointer"` // a JSON pointer: "/query/limit", "/header/x-id", "/body/items/0/price"
	Message string `json:"message"` // "is required"

	status int // the response status
}

// Verdict lists what is wrong with a request.
type Verdict struct {
	Status     int // 401, 415, 400 or 422: the first of these among the violations
	Violations []Violation
	More       int      // violations beyond maxViolations, which are only counted
	Cut        bool     // there are further violations that were not searched for
	Challenges []string // values of WWW-Authenticate for a 401
}

// maxViolations limits how many violations a verdict lists.
const maxViolations = 1000

// The statuses of violations, in order of precedence.
const (
	unauthorized  = 401 // credentials are missing
	unsupported   = 415 // the media type of the body is not declared
	badRequest    = 400 // parameters are wrong, or the body is missing or malformed
	unprocessable = 422 // the body does not fit its schema
)

var statusOrder = []int{unauthorized, unsupported, badRequest, unprocessable}

// findings collects the violations of a request.
type findings struct {
	list       []Violation
	more       int
	cut        bool // there are further violations that were not counted
	challenges []string
}

// add adds a violation at a pointer, which begins with in: "/query/limit".
func (f *findings) add(status int, in, pointer, message string) {
	if len(f.list) >= maxViolations {
		f.more++
		return
	}
	f.list = append(f.list, Violation{In: in, Pointer: pointer, Message: message, status: status})
}

// verdict returns the findings as a verdict; nil when there are none. They are sorted by the parts
// of a request in their usual order, then by pointer, so that the same request always gets the same
// verdict.
func (f *findings) verdict() *Verdict {
	if len(f.list) == 0 {
		return nil
	}
	parts := []string{"path", "query", "header", "cookie", "body"}
	slices.SortFunc(f.list, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(slices.Index(parts, a.In), slices.Index(parts, b.In)),
			comparePointers(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	f.list = slices.Compact(f.list)
	v := &Verdict{Violations: f.list, More: f.more, Cut: f.cut, Challenges: f.challenges}
	for _, status := range slices.Backward(statusOrder) {
		if slices.ContainsFunc(f.list, func(x Violation) bool { return x.status == status }) {
			v.Status = status
		}
	}
	return v
}

// comparePointers compares pointers token by token, and indexes as numbers.
func comparePointers(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), func(x, y string) int {
		if isIndex(x) && isIndex(y) && len(x) != len(y) {
			return len(x) - len(y)
		}
		return strings.Compare(x, y)
	})
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Limits for the text of a pointer, in bytes: for one name, and for all names but the last. Names
// come from the client, and there may be many violations below a long one.
const (
	maxToken   = 128
	maxPointer = 4 << 10
)

// below returns the pointer of a name inside the value at a pointer.
func below(pointer, name string) string {
	return pointer + "/" + token(name)
}

func token(name string) string {
	return jsonvalue.EscapePointer(wording.Truncate(name, maxToken))
}
