package renderer

import (
	"mockserver/internal/json"
	"mockserver/matcher"
)

// Scope contains the names that a template or condition may refer to in addition to the request.
type Scope struct {
	// Params contains the names of the endpoint's path parameters, by position.
	Params []string
	// Env looks up an environment variable when the template is compiled. Nil means that none is
	// set.
	Env func(name string) (string, bool)
	// Rows contains the names of the values that the endpoint finds or makes, by their position in
	// Request.Rows.
	Rows []string
	// Loops contains the names of the elements of the loops around this text, the outermost first; "" for a loop that
	// is not over a list. They are for texts that are rendered in Turns.
	Loops []string
	// Stream is set if there is a variable stream.index, in the texts of the items of a stream. Piece is set as well
	// if the text is a part of a larger one, so that it need not be JSON.
	Stream, Piece bool
	// Later contains names that the endpoint defines after it evaluates this text, which cannot use
	// them.
	Later []string
	// Response is set if there is a variable response, as in webhooks.
	Response bool
	// Streamed is set if that response is a stream, so that there is no response.body.
	Streamed bool
	// Message is set if there is a variable message, as on a WebSocket connection.
	Message bool
	// Model returns the variable llm, as for the endpoints of a language model; nil if there is none.
	Model func(r *matcher.Request) json.Value
	// ReadsBody is set to true if a text reads the body of the request; nil if nobody needs to know.
	ReadsBody *bool
	// Counters contains the counters for counter("name"). If it is nil, a template that uses one
	// does not compile.
	Counters *Counters
}
