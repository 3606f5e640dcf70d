package config_test

import (
	"fmt"
	"strings"

	"mockserver/config"
)

// The text is read like a file with the given name: its errors have positions.
func ExampleParse() {
	spec := config.Parse("testdata/mocks.yml", []byte(`
- endpoint:
    path: /hello
    response: {statsu: 201, body: hi}
- endpoint:
    path: /orders
    response: {status: 99}
`))
	for _, p := range spec.Problems.Errors() {
		what, _, _ := strings.Cut(p.String(), ";")
		fmt.Println(what)
	}
	// Output:
	// testdata/mocks.yml:4:16: [0].endpoint.response.statsu: unknown key (did you mean "status"?)
	// testdata/mocks.yml:7:24: [1].endpoint.response.status: is a number (99)
}

func ExampleNew() {
	spec := config.New(
		config.Endpoint{
			Path:     "/hello/:name",
			Response: config.Response{Body: `{"hello": "{{path-params.name}}"}`},
		},
		config.Endpoint{
			Method: "POST",
			Path:   "/orders",
			Response: config.Response{
				Status:  2010,
				Headers: config.Headers("Location", "/orders/{{uuid}}\n"),
			},
		},
	)
	for _, p := range spec.Validate() {
		fmt.Println(p)
	}
	// Output:
	// [1].endpoint.response.status: POST /orders: is a number (2010); expected an integer from 200 to 599
	// [1].endpoint.response.headers.Location: POST /orders: the control character '\n' is not allowed in a header
}

// A body that is not a string is served as JSON. Strings inside it may contain placeholders.
func ExampleResponse() {
	type user struct {
		ID    string   `json:"id"`
		Roles []string `json:"roles"`
	}
	spec := config.New(config.Endpoint{
		Path:     "/users/:id",
		Response: config.Response{Body: user{ID: "{{path-params.id}}", Roles: []string{"admin"}}},
	})
	fmt.Println(spec.Endpoints[0].Response.Body.Value)
	// Output: {"id":"{{path-params.id}}","roles":["admin"]}
}

// Of two endpoints for the same requests, the first one answers: here the one made in Go.
func ExampleJoin() {
	file := config.Parse("mocks.yml", []byte("- endpoint: {path: /up, response: {body: up}}"))
	down := config.New(config.Endpoint{Path: "/up", Response: config.Response{Status: 503}})
	for _, e := range config.Join(down, file).Endpoints {
		fmt.Println(e.EffectiveMethod(), e.Path.Value, e.Response.Status)
	}
	// Output:
	// GET /up 503
	// GET /up 0
}
