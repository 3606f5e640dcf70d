package openapi

import (
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/validate"
)

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
