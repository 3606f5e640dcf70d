package admin

import "net/http"

// route is one request that the admin address answers. The index of the API is made from these
// rows, and a test makes its OpenAPI document from them.
type route struct {
	asks         access
	method, path string
	handler      http.HandlerFunc
	what         string      // what it does, in one line
	query        []parameter // other parameters are refused
	takes        []any       // request bodies: values of the types of JSON bodies, and names of other media types
	responses    map[int][]any
}

// parameter is a query parameter.
type parameter struct{ name, kind, what string } // kind is a JSON Schema type

// access specifies who may send a request.
type access int

const (
	forAnybody access = iota
	asThePage         // it returns no data of the server: see Admin.named
	withToken
)
