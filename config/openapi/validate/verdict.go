// Package validate holds requests against the operations of a document, and values against
// its schemas.
package validate

import (
	"cmp"
	"mockserver/config/openapi/jsonvalue"
	"slices"
	"strings"
)

// Request is what of a request is held against an operation, as it was sent. Nothing
// of it is kept, and nothing of it may be changed while it is looked at.
type Request struct {
	Path  string // without the query; neither decoded nor normalised
	Query string // without the "?"
	// Header returns the values of a header, one for each of its lines; none when it is
	// not there. The name may be in any case.
	Header func(name string) []string
	// Cookie returns the first value of a cookie, as sent, and whether it is there.
	Cookie func(name string) (value string, ok bool)
	Body   []byte // without content codings
}

// Violation is one way in which a request is not what the document accepts.
type Violation struct {
	In      string // "path", "query", "header", "cookie" or "body"
	Pointer string // a JSON pointer: "/query/limit", "/header/x-id", "/body/items/0/price"
	Message string // "is required"

	status int // that it is answered with
}

// Verdict is what is wrong with a request.
type Verdict struct {
	Status     int // 401, 415, 400 or 422, the first of these that a violation has
	Violations []Violation
	More       int      // violations beyond maxViolations, which are only counted
	Cut        bool     // there are others beyond these, which were not looked for
	Challenges []string // values of WWW-Authenticate, of a 401
}

// maxViolations is how many violations a verdict lists.
const maxViolations = 1000

// The statuses of violations, first those that come before others.
const (
	unauthorized  = 401 // credentials are missing
	unsupported   = 415 // the media type of the body is not declared
	badRequest    = 400 // parameters are wrong, the body is missing or malformed
	unprocessable = 422 // the body does not fit its schema
)

var statusOrder = []int{unauthorized, unsupported, badRequest, unprocessable}

// Check holds a request against the operation. It returns nil when the request is
// what the document accepts. It may be called by many goroutines at once.
func (c *Checks) Check(r *Request) *Verdict {
	var found findings
	c.hold(r, &found)
	return found.verdict()
}

// Checks are what requests to an operation are held against.
type Checks struct {
	path       pathTemplate
	security   []alternative // one of them is enough; none when nothing is asked for
	parameters []parameter
	body       *body // nil when any body is accepted
}

func (c *Checks) hold(r *Request, found *findings) {
	c.checkSecurity(r, found)
	in := inputOf(c, r)
	for i := range c.parameters {
		c.parameters[i].check(in, found)
	}
	if c.body != nil {
		c.body.check(r, found)
	}
}

// findings are the violations of a request, as they are found.
type findings struct {
	list       []Violation
	more       int
	cut        bool // there are others, which were not counted
	challenges []string
}

// add takes a violation at the place of names below in: "query", "limit".
func (f *findings) add(status int, in, pointer, message string) {
	if len(f.list) >= maxViolations {
		f.more++
		return
	}
	f.list = append(f.list, Violation{In: in, Pointer: pointer, Message: message, status: status})
}

// verdict puts what was found in order: parts of a request in the order that they
// have in one, and pointers by their text, so that the same request has the same
// verdict each time.
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

// comparePointers orders pointers token by token, indexes as numbers.
func comparePointers(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = cutToken(a)
		y, b = cutToken(b)
		if isIndex(x) && isIndex(y) && len(x) != len(y) {
			return len(x) - len(y)
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return len(a) - len(b)
}

// cutToken takes the first token off a pointer, which begins with its slash.
func cutToken(p string) (token, rest string) {
	p = p[1:]
	if i := strings.IndexByte(p, '/'); i >= 0 {
		return p[:i], p[i:]
	}
	return p, ""
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// What a pointer shows, in bytes: of one name, and of all but the last. Names are the
// client's, and what is wrong below a long one may be much.
const (
	maxToken   = 128
	maxPointer = 4 << 10
)

// below is the pointer of a name in what a pointer points to.
func below(pointer, name string) string {
	return pointer + "/" + token(name)
}

// token is a name as a pointer has it.
func token(name string) string {
	if len(name) > maxToken {
		name = strings.ToValidUTF8(name[:maxToken], "") + "…"
	}
	return jsonvalue.EscapePointer(name)
}
