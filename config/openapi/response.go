package openapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/generate"
	"mockserver/config/openapi/jsonvalue"
)

// statusOf returns the status to send for a key of responses: the status itself, the first status
// of a range, or 500 for "default". It returns false when the key is not a status from 200 to 599,
// a range of these or "default".
func statusOf(declared string) (int, bool) {
	if strings.EqualFold(declared, "default") {
		return 500, true
	}
	if len(declared) == 3 && strings.EqualFold(declared[1:], "XX") {
		declared = declared[:1] + "00"
	}
	status, err := strconv.Atoi(declared)
	return status, err == nil && status >= 200 && status <= 599
}

// responses returns all responses of an operation, and the index of the one for a request that does
// not ask for a particular response. If the document declares no usable response, there is one with
// status 200 and no body. pointer is the JSON pointer of the operation.
func (c *compiler) responses(op *openapi3.Operation, pointer string) (responses []Response, byDefault int) {
	declared := jsonvalue.SortedNames(op.Responses.Map())
	slices.SortStableFunc(declared, func(a, b string) int {
		x, _ := statusOf(a)
		y, _ := statusOf(b)
		return cmp.Or(cmp.Compare(keyOrder(a), keyOrder(b)), cmp.Compare(x, y))
	})
	chosen := chosenStatus(declared)
	for _, key := range declared {
		status, ok := statusOf(key)
		ref := op.Responses.Value(key)
		at := pointer + "/responses/" + jsonvalue.EscapePointer(key)
		if !ok {
			c.make.Warning(manyResponses, at, "responses "+key+": not a valid status; expected 200 to 599, 2XX to 5XX or default; it is left out")
			continue
		}
		if ref == nil || ref.Value == nil {
			continue
		}
		if ref.Ref != "" {
			at = ref.Ref
		}
		if key == chosen {
			byDefault = len(responses)
			if keyOrder(key) == 2 {
				status = 200
			}
		}
		responses = append(responses, c.response(ref.Value, status, key, at)...)
	}
	if len(responses) == 0 {
		responses = []Response{{Status: 200, Declared: "200"}}
	}
	return responses, byDefault
}

// keyOrder returns the sort rank of a key: statuses come first, then ranges, then the default.
func keyOrder(declared string) int {
	switch {
	case strings.EqualFold(declared, "default"):
		return 2
	case strings.EqualFold(declared[min(1, len(declared)):], "XX"):
		return 1
	}
	return 0
}

// chosenStatus returns the key of the response to a request that does not ask for a particular one:
// the lowest success status, else the default, else the lowest redirection, else the lowest status
// of all.
func chosenStatus(declared []string) string {
	rank := func(key string) []int {
		switch status, _ := statusOf(key); {
		case keyOrder(key) == 2:
			return []int{1}
		case status < 300:
			return []int{0, status, keyOrder(key)}
		case status < 400:
			return []int{2, status, keyOrder(key)}
		default:
			return []int{3, status, keyOrder(key)}
		}
	}
	usable := slices.DeleteFunc(slices.Clone(declared), func(key string) bool { _, ok := statusOf(key); return !ok })
	if len(usable) == 0 {
		return ""
	}
	return slices.MinFunc(usable, func(a, b string) int { return slices.Compare(rank(a), rank(b)) })
}

// response returns the answers of one status: for each media type, one for each example, or one
// with a generated body if there are no examples. A response that has no content or may not have a
// body is one answer without a body.
func (c *compiler) response(r *openapi3.Response, status int, declared, pointer string) []Response {
	headers := c.headers(r.Headers, pointer)
	if len(r.Content) == 0 || status == 204 || status == 304 {
		return []Response{{Status: status, Declared: declared, Headers: headers}}
	}
	var all []Response
	for _, name := range c.make.MediaTypes(r.Content, pointer) {
		made := c.make.Content(name, r.Content[name], generate.ToClient, pointer+"/content/"+jsonvalue.EscapePointer(name))
		a := Response{Status: status, Declared: declared, MediaType: made.Media, Headers: headers, Fresh: made.Fresh()}
		examples := made.Examples()
		if len(examples) == 0 {
			a.generated = made
			examples = []generate.Example{{Body: made.Generated()}}
		}
		for _, e := range examples {
			a.Example, a.Body = e.Name, e.Body
			if c.checker != nil && (status >= 400 || keyOrder(declared) == 2) {
				a.ErrorBody = made.ErrorWriter(a.Body)
			}
			all = append(all, a)
		}
	}
	return all
}

// headers returns the headers of a response: those with a value in the document, and those that the
// document requires.
func (c *compiler) headers(declared openapi3.Headers, pointer string) []Header {
	var all []Header
	for _, name := range c.make.NamesAt(pointer+"/headers", jsonvalue.SortedNames(declared)) {
		ref := declared[name]
		if ref == nil || ref.Value == nil || generate.Framing(name) {
			continue
		}
		at := pointer + "/headers/" + jsonvalue.EscapePointer(name)
		if ref.Ref != "" {
			at = ref.Ref
		}
		if value, ok := c.make.HeaderValue(ref.Value, name, at); ok {
			all = append(all, Header{name, value})
		}
	}
	return all
}
