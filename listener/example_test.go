package listener_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/listener"
)

// fetch returns the status and the body of a GET request.
func fetch(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return resp.Status + ": " + string(body)
}

// The configuration is text in YAML.
func ExampleStart() {
	spec := config.Parse("mocks.yml", []byte(`
- endpoint:
    path: /hello/:name
    response:
      body: '{"hello": "{{path-params.name}}"}'
`))
	server, err := listener.Start(spec, listener.Options{})
	if err != nil {
		log.Fatal(err) // names every error, with line and column
	}
	defer server.Close()
	fmt.Println(fetch(server.URL() + "/hello/ann"))
	fmt.Println(fetch(server.URL() + "/hello/O%22Brien"))
	// Output:
	// 200 OK: {"hello": "ann"}
	// 200 OK: {"hello": "O\"Brien"}
}

// The endpoints are declared in Go.
func ExampleStart_endpoints() {
	server, err := listener.Start(config.New(
		config.Endpoint{
			Path:     "/users/:id|int",
			If:       "path-params.id > 1000",
			Response: config.Response{Status: 404, Body: map[string]string{"code": "no_such_user"}},
		},
		config.Endpoint{
			Path: "/users/:id|int",
			Response: config.Response{
				Headers: config.Headers("Cache-Control", "no-store"),
				Body:    `{"id": {{path-params.id}}}`,
			},
		},
		config.Endpoint{
			Method: "POST", Path: "/payments",
			Response: config.Response{Status: 201, Body: map[string]any{
				"state": "paid", "amount": "{{json-params.amount}}",
			}},
		},
	), listener.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	fmt.Println(fetch(server.URL() + "/users/7"))
	fmt.Println(fetch(server.URL() + "/users/1001"))
	resp, err := http.Post(server.URL()+"/payments", "application/json", strings.NewReader(`{"amount": 19.90}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, string(body), err)
	// Output:
	// 200 OK: {"id": 7}
	// 404 Not Found: {"code":"no_such_user"}
	// 201 Created {"amount":19.90,"state":"paid"} <nil>
}

// A caller can inspect the errors of a configuration.
func ExampleStart_problems() {
	_, err := listener.Start(config.New(
		config.Endpoint{Method: "GTE", Path: "/a"},
		config.Endpoint{Path: "/b", Response: config.Response{Body: "{{path-param.id}}"}},
	), listener.Options{})
	var problems syntax.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			what, _, _ := strings.Cut(p.What, ";")
			fmt.Printf("%s of %s: %s\n", p.Key, p.Endpoint, what)
		}
	}
	// Output:
	// [0].endpoint.method of GET /a: is a text ("GTE") (did you mean "GET"?)
	// [1].endpoint.response.body of GET /b: unknown variable "path-param.id" (did you mean "path-params"?)
}

// Apply replaces the served specification; an invalid one changes nothing.
func ExampleServer_Apply() {
	specWith := func(body string) *config.Spec {
		return config.New(config.Endpoint{Path: "/", Response: config.Response{Body: body}})
	}
	server, err := listener.Start(specWith("one"), listener.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	fmt.Println(fetch(server.URL()))
	fmt.Println(server.Apply(specWith("two")), fetch(server.URL()))
	fmt.Println(server.Apply(specWith("{{")) != nil, fetch(server.URL()))
	// Output:
	// 200 OK: one
	// <nil> 200 OK: two
	// true 200 OK: two
}

// Shutdown lets requests in flight finish.
func ExampleServer_Shutdown() {
	server, err := listener.Start(config.New(), listener.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(server.Shutdown(ctx))
	<-server.Done()
	fmt.Println(server.Err(), server.Apply(config.New()))
	// Output:
	// <nil>
	// <nil> the server was shut down
}

// Two servers run in one process; one of them fetches from the other.
func Example_severalServers() {
	rates, err := listener.Start(config.New(config.Endpoint{
		Path: "/rates/:currency", Response: config.Response{Body: `{"{{path-params.currency}}": 1.25}`},
	}), listener.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rates.Close()
	shop, err := listener.Start(config.New(config.Endpoint{
		Path: "/price",
		Response: config.Response{External: &config.ExternalBody{
			Provider: "json", Path: rates.URL() + "/rates/{{query-params.in}}", Timeout: time.Second,
		}},
	}), listener.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer shop.Close()
	fmt.Println(fetch(shop.URL() + "/price?in=CHF"))
	// Output: 200 OK: {"CHF": 1.25}
}
