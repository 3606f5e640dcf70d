package openapi

import (
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/validate"
)

// Sample is a request to an operation, built from the examples in the document or else from its
// schemas. Parameters without a known value are left out.
type Sample struct {
	Path      map[string]string // by parameter name
	Query     url.Values
	Headers   []Header
	MediaType string // media type of Body, or ""
	Body      []byte
}

// sample builds the sample of an operation.
func (c *compiler) sample(item *openapi3.PathItem, op *openapi3.Operation, pointer string) *Sample {
	parameters := validate.ParametersOf(item, op)
	s := &Sample{Path: map[string]string{}, Query: url.Values{}, Headers: headersOf(parameters)}
	var cookies []string
	for _, p := range parameters {
		value, ok := scalarText(sampleOf(p))
		switch {
		case !ok:
		case p.In == openapi3.ParameterInPath:
			s.Path[p.Name] = value
		case p.In == openapi3.ParameterInQuery:
			s.Query.Set(p.Name, value)
		case p.In == openapi3.ParameterInCookie:
			cookies = append(cookies, p.Name+"="+value)
		}
	}
	if len(cookies) > 0 {
		s.Headers = append(s.Headers, Header{Name: "Cookie", Value: strings.Join(cookies, "; ")})
	}
	if body := op.RequestBody; body != nil && body.Value != nil {
		s.MediaType, s.Body = c.make.RequestBody(body.Value, pointer+"/requestBody")
	}
	return s
}
