package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// request is a request as a scenario declares it.
type request struct {
	Repeat, Step int // number of copies, in which ${n} is Step, 2×Step, …; 0 means 1
	Method, Path string
	Headers      map[string]string
	Body         string
	Response     declaredResponse `yaml:"answer"`
}

// declaredResponse is the expected answer to a request. Fields that are not declared are not checked.
type declaredResponse struct {
	Status  int   // 0 is 200
	Also    []int `yaml:"-"` // further statuses
	Headers map[string]string
	Body    *string
	JSON    *string // the body is this value as JSON
	Items   int     // of a stream, see load.Want
	Gap     time.Duration
}

// preparedRequest is a request ready to be sent, and the expected answer.
type preparedRequest struct {
	line     string // "GET /users/7", for messages
	wire     []byte // as it is sent
	response declaredResponse
}

// isValid reports whether the request can be sent.
func (r *request) isValid() bool {
	for name, value := range r.Headers {
		if name == "" || strings.ContainsAny(name, ": \r\n") || strings.ContainsAny(value, "\r\n") {
			return false
		}
	}
	return strings.HasPrefix(r.Path, "/") && !strings.ContainsAny(r.Method+r.Path, " \r\n")
}

// expanded returns the copies of the request.
func (r *request) expanded() []preparedRequest {
	text, _ := json.Marshal(r) // cannot fail: only texts and numbers
	var all []preparedRequest
	for n := 1; n <= max(r.Repeat, 1); n++ {
		var one request
		_ = json.Unmarshal([]byte(strings.ReplaceAll(string(text), "${n}", strconv.Itoa(n*max(r.Step, 1)))), &one)
		all = append(all, preparedRequest{line: one.line(), wire: one.wire(), response: one.Response})
	}
	return all
}

func (r *request) method() string { return strings.ToUpper(cmp.Or(r.Method, "GET")) }

func (r *request) line() string { return r.method() + " " + r.Path }

// wire returns the request as it is sent: with a Host, and with a length if it has a body.
func (r *request) wire() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method(), r.Path)
	names := slices.Sorted(maps.Keys(r.Headers))
	has := func(name string) bool {
		return slices.ContainsFunc(names, func(one string) bool { return strings.EqualFold(one, name) })
	}
	if !has("Host") {
		b.WriteString("Host: localhost\r\n")
	}
	for _, name := range names {
		if !strings.EqualFold(name, "Content-Length") {
			fmt.Fprintf(&b, "%s: %s\r\n", name, r.Headers[name])
		}
	}
	if r.Body != "" || slices.Contains([]string{"POST", "PUT", "PATCH"}, r.method()) {
		if r.Body != "" && !has("Content-Type") {
			b.WriteString("Content-Type: application/json\r\n")
		}
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.Body))
	}
	b.WriteString("\r\n")
	b.WriteString(r.Body)
	return b.Bytes()
}
