package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// sleepKey is the extension that says how long to wait before a callback is sent.
const sleepKey = "x-sleep-time"

// callbacks returns the callbacks that an operation declares.
func (c *compiler) callbacks(op *openapi3.Operation, pointer string) []Callback {
	var all []Callback
	for _, name := range jsonvalue.SortedNames(op.Callbacks) {
		ref := op.Callbacks[name]
		if ref == nil || ref.Value == nil {
			continue
		}
		at := pointer + "/callbacks/" + jsonvalue.EscapePointer(name)
		for _, url := range ref.Value.Keys() {
			item := ref.Value.Value(url)
			all = append(all, c.called(name, url, item, at+"/"+jsonvalue.EscapePointer(url), ref.Value.Extensions)...)
		}
	}
	return all
}

// catalogue returns the webhooks of OpenAPI 3.1.
func (c *compiler) catalogue(root *syntax.Node) []Callback {
	var all []Callback
	for name := range root.Get("webhooks").Members() {
		if item := c.doc.Webhooks[name]; item != nil {
			all = append(all, c.called(name, "", item, "#/webhooks/"+jsonvalue.EscapePointer(name))...)
		}
	}
	return all
}

// called returns the requests that the path item of a callback or webhook describes; the server
// sends them. outer contains the extensions of the enclosing objects.
func (c *compiler) called(name, url string, item *openapi3.PathItem, pointer string, outer ...map[string]any) []Callback {
	var all []Callback
	operations := item.Operations()
	for _, method := range jsonvalue.SortedNames(operations) {
		op := operations[method]
		cb := Callback{Name: name, URL: url, Method: method, Pointer: pointer + "/" + strings.ToLower(method)}
		cb.Pos = originProblem(op.Origin, "").Pos
		if body := op.RequestBody; body != nil && body.Value != nil {
			cb.MediaType, cb.Body = c.make.RequestBody(body.Value, cb.Pointer+"/requestBody")
		}
		cb.Headers = headersOf(validate.ParametersOf(item, op))
		for _, extensions := range append([]map[string]any{op.Extensions, item.Extensions}, outer...) {
			value, ok := extensions[sleepKey]
			if !ok {
				continue
			}
			if cb.Delay, cb.Delayed = sleepTime(value); !cb.Delayed {
				c.problems = append(c.problems, originProblem(op.Origin, fmt.Sprintf("%s is %s; expected a number of seconds, or a duration such as \"250ms\"",
					sleepKey, wording.Clip(string(jsonvalue.Append(nil, value))))))
			}
			break
		}
		all = append(all, cb)
	}
	return all
}

// longestSleep is the longest delay that a configuration allows for a webhook.
const longestSleep = 365 * 24 * time.Hour

// sleepTime parses a number of seconds or a duration. It returns false when the value is neither,
// is negative or exceeds longestSleep.
func sleepTime(value any) (d time.Duration, ok bool) {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	seconds, err := strconv.ParseFloat(text+string(number), 64)
	switch {
	case isNumber || isText && err == nil:
		ok = seconds >= 0 && seconds <= longestSleep.Seconds() // not NaN
		return time.Duration(seconds * float64(time.Second)), ok
	case isText:
		d, err = time.ParseDuration(text)
		return d, err == nil && d >= 0 && d <= longestSleep
	}
	return 0, false
}

// headersOf returns a header for each header parameter for which sampleOf finds a string, number or
// boolean.
func headersOf(parameters []*openapi3.Parameter) []Header {
	var headers []Header
	for _, p := range parameters {
		if p.In != openapi3.ParameterInHeader {
			continue
		}
		if value, ok := scalarText(sampleOf(p)); ok {
			headers = append(headers, Header{Name: p.Name, Value: value})
		}
	}
	return headers
}

// sampleOf returns a possible value of a parameter: its example, else a value from its schema; nil
// when there is neither.
func sampleOf(p *openapi3.Parameter) any {
	if p.Example != nil {
		return p.Example
	}
	for _, name := range jsonvalue.SortedNames(p.Examples) {
		if e := p.Examples[name]; e != nil && e.Value != nil && e.Value.Value != nil {
			return e.Value.Value
		}
	}
	s := validate.SchemaOf(p)
	if s == nil {
		return nil
	}
	for _, value := range slices.Concat([]any{s.Example, s.Const, s.Default}, s.Examples, s.Enum) {
		if value != nil {
			return value
		}
	}
	return nil
}

// scalarText returns a string, number or boolean as it is written in a header; false for any other
// value.
func scalarText(value any) (string, bool) {
	switch x := value.(type) {
	case string:
		return x, true
	case bool:
		return strconv.FormatBool(x), true
	case json.Number:
		return x.String(), true
	}
	return "", false
}
