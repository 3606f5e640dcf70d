package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each curl line of the example has the result that its comment states.
func TestFaults_OfTheExample(t *testing.T) {
	t.Parallel()
	file := File("examples", "faults.yml")
	if code, stdout, stderr := Refused(t, nil, "validate", "-c", file); code != 0 || strings.Contains(stdout+stderr, "warning") {
		t.Errorf("got exit code %d, %q and %q, want no warning", code, stdout, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := Start(t, "-c", file)
	lines := 0
	for line := range strings.Lines(string(text)) {
		command, said, ok := strings.Cut(strings.TrimPrefix(line, "#   curl "), " # ")
		if !ok || !strings.HasPrefix(line, "#   curl ") {
			continue
		}
		lines++
		var args []string
		for _, word := range shellWords(command) {
			args = append(args, strings.Replace(word, "localhost:8000", p.URL, 1))
		}
		want := []int{0, 56, 52, 18} // exit codes for requests that have a fault only sometimes
		if rest, ok := strings.CutPrefix(said, "("); ok {
			code, err := strconv.Atoi(rest[:strings.Index(rest, ")")])
			if err != nil {
				t.Fatal(err)
			}
			want = []int{code}
			if code == 1 {
				want = append(want, 8)
			}
		} else if strings.Contains(line, "/slow") {
			want = []int{0}
		}
		if output, code := withCurl(t, args...); !slices.Contains(want, code) {
			t.Errorf("%s: got exit code %d and %q, want one of %v", line, code, output, want)
		}
	}
	if lines != 7 {
		t.Errorf("%d lines were tried, want 7", lines)
	}
}

// The payments of the example end in each of the ways that it declares.
func TestFaults_PaymentsOfTheExample(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	p := Start(t, "-c", File("examples", "faults.yml"), "--seed", "7")
	const payments, clients = 400, 20
	got := make(chan string, payments)
	for range clients {
		go func() {
			for range payments / clients {
				got <- payOnce(p)
			}
		}()
	}
	ways := map[string]int{}
	for range payments {
		ways[<-got]++
	}
	for _, way := range []string{"201", "503", "201 in part", "none"} {
		if ways[way] == 0 {
			t.Errorf("got %v: no connection ended as %q", ways, way)
		}
	}
	if ways["201"] < 300 || len(ways) != 4 {
		t.Errorf("got %v, want mostly 201", ways)
	}
}

// payOnce makes a payment over a new connection and returns the outcome.
func payOnce(p *Process) string {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest("POST", p.URL+"/payments", strings.NewReader(`{"amount": 5}`))
	if err != nil {
		return err.Error()
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "none"
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		return fmt.Sprint(resp.StatusCode, " in part")
	}
	return fmt.Sprint(resp.StatusCode)
}
