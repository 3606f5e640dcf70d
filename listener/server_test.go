package listener_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/listener"
)

// get requests a URL and returns the status and the body.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// started starts a server that stops with the test.
func started(t *testing.T, spec *config.Spec, opts listener.Options) *listener.Server {
	t.Helper()
	server, err := listener.Start(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-server.Done()
		if err := server.Err(); err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return server
}

func hello(text string) *config.Spec {
	return config.New(config.Endpoint{Path: "/hello", Response: config.Response{Body: text}})
}

func TestStart_ServesEndpointsDeclaredInGo(t *testing.T) {
	server := started(t, hello("one"), listener.Options{})
	if status, body := get(t, server.URL()+"/hello"); status != 200 || body != "one" {
		t.Errorf("got %d %s, want 200 one", status, body)
	}
}

func TestStart_SeveralServersInOneProcess(t *testing.T) {
	one := started(t, hello("one"), listener.Options{})
	two := started(t, hello("two"), listener.Options{})
	for server, want := range map[*listener.Server]string{one: "one", two: "two"} {
		if _, body := get(t, server.URL()+"/hello"); body != want {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

// A condition is evaluated once for each request, so that what it counts is right, whichever goroutine answers.
func TestStart_EvaluatesConditionsOnce(t *testing.T) {
	const condition = `counter("tries") > 0`
	const let = `[{"endpoint": {"path": "/let", "if": "counter('tries') > 0", "let": {"a": "b"}, "response": {"body": "{{a}}"}}}]`
	server := started(t, config.Join(config.Parse("let.json", []byte(let)), config.New(
		config.Endpoint{Path: "/late", If: condition, Latency: &config.Latency{Min: time.Millisecond, Max: time.Millisecond}},
		config.Endpoint{Path: "/tries", Response: config.Response{Body: `{{counter("tries")}}`}},
	)), listener.Options{})
	for range 5 {
		conn := dial(t, server, "")
		for range 3 {
			for _, path := range []string{"/let", "/late"} {
				if _, err := io.WriteString(conn, strings.Replace(request, "/hello", path, 1)); err != nil {
					t.Fatal(err)
				}
				response(t, conn)
			}
		}
	}
	if _, tries := get(t, server.URL()+"/tries"); tries != "31" {
		t.Errorf("%s evaluations, with this one, want 31", tries)
	}
}

func TestStart_RefusesWhatIsWrong(t *testing.T) {
	spec := hello("{{nope}}")
	spec.Endpoints = append(spec.Endpoints, item.Endpoint{Path: syntax.Text{Value: "/x/:"}, If: syntax.Text{Value: "= 1"}})
	_, err := listener.Start(spec, listener.Options{})
	var problems syntax.Problems
	if !errors.As(err, &problems) || len(problems.Errors()) != 3 {
		t.Fatalf("got %v, want three problems", err)
	}
}

func TestStart_PortInUse(t *testing.T) {
	server := started(t, hello("one"), listener.Options{})
	port := server.Addr().(*net.TCPAddr).Port
	_, err := listener.Start(hello("two"), listener.Options{Port: port})
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v, want an error that the port is in use", err)
	}
}

func TestApply_KeepsTheLastGoodSpecification(t *testing.T) {
	server := started(t, hello("one"), listener.Options{})
	if err := server.Apply(hello("{{nope}}")); err == nil {
		t.Fatal("a broken specification was applied")
	}
	if _, body := get(t, server.URL()+"/hello"); body != "one" {
		t.Errorf("got %s, want one", body)
	}
	if err := server.Apply(hello("two")); err != nil {
		t.Fatal(err)
	}
	if _, body := get(t, server.URL()+"/hello"); body != "two" {
		t.Errorf("got %s, want two", body)
	}
}

// A counter keeps its value over a reload.
func TestApply_KeepsCounters(t *testing.T) {
	server := started(t, hello(`{{counter("n")}}`), listener.Options{})
	for _, want := range []string{"1", "2"} {
		if _, body := get(t, server.URL()+"/hello"); body != want {
			t.Errorf("got %s, want %s", body, want)
		}
		if err := server.Apply(hello(`{{counter("n")}}`)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestApply_LogsWarnings(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	started(t, hello("{{path-params.nope}}"), listener.Options{Logger: log})
	if !strings.Contains(logged.String(), "declares no parameter") {
		t.Errorf("not logged: %s", logged.String())
	}
}

func TestCheck_FindsProblemsWithoutServing(t *testing.T) {
	problems := listener.Check(hello("{{path-params.nope}}{{nope}}"), listener.Options{})
	if len(problems.Errors()) != 1 || len(problems.Warnings()) != 1 {
		t.Errorf("got %v, want an error and a warning", problems)
	}
}
