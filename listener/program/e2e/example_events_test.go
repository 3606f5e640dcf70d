package e2e_test

import (
	"bufio"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestExamples_Events(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "events.yml"), "--no-latency")
	for _, c := range []struct{ method, path, body, lastID, want string }{
		{"POST", "/words", `{"prompt": "a quick fox"}`, "", `^event: start\ndata: \{"id":"[0-9a-f-]{36}"\}\n\n` +
			`data: \{"text":"a","n":1\}\n\ndata: \{"text":" quick","n":2\}\n\ndata: \{"text":" fox","n":3\}\n\ndata: \[DONE\]\n\n$`},
		{"GET", "/rows?n=2", "", "", `^\{"row":1,"id":"[0-9a-f-]{36}"\}\n\{"row":2,"id":"[0-9a-f-]{36}"\}\n\{"total":2\}\n$`},
		{"GET", "/news", "", "", `^: news, oldest first\n\nretry: 3000\n\n(id: [1-5]\ndata: news [1-5]\ndata: of 20\S+Z\n\n){5}$`},
		{"GET", "/news", "", "3", `^(id: [45]\ndata: news [45]\ndata: of 20\S+Z\n\n){2}$`},
		{"GET", "/news", "", "5", `^$`},
	} {
		got := p.Do(c.method, c.path, c.body, "Last-Event-ID: "+c.lastID)
		if !regexp.MustCompile(c.want).MatchString(got.Body) || (got.Status == http.StatusNoContent) != (c.lastID == "5") {
			t.Errorf("%s %s after %q: status %d, %q, want %s", c.method, c.path, c.lastID, got.Status, got.Body, c.want)
		}
	}
	resp, err := http.Get(Start(t, "-c", File("examples", "events.yml")).URL + "/prices/CHF")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"^event: price$", `^data: \{"currency":"CHF","price":\d+,"at":"20[^"]+Z"\}$`, "^$"} {
		if lines.Scan(); !regexp.MustCompile(want).MatchString(strings.TrimSpace(lines.Text())) {
			t.Errorf("got %q, want %s", lines.Text(), want)
		}
	}
}
