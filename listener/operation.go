package listener

import (
	"mockserver/config"
	"mockserver/config/openapi"
	"mockserver/matcher"
)

// operation is an operation of an OpenAPI document: the answers that a request may
// choose from, and what requests are held against.
type operation struct {
	document *openapi.Operation
	answers  []answer // as those of the document
}

// operation compiles what a document says of an endpoint; nil for a declared one.
func (c *compiler) operation(e *config.Endpoint) (*operation, config.Problems) { return nil, nil }

// choose is the answer that a request asks for; nil when it has been answered
// already, because it asks for none that there is or is not what the document accepts.
func (o *operation) choose(s *Server, r *matcher.Request) *answer { return nil }
