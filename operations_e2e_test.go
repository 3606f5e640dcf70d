package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The load test that docs/operations.md shows, typed as it stands there, prints what it
// shows and leaves its report. Whether the timing can be trusted is not the machine's of
// this test to say, so every reason is off.
func TestOperations_ALoadTestFromTheShell(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the commands of docs/operations.md need ", tool)
		}
	}
	_, texts := blocks(t, "docs/operations.md", "A load test from the shell")
	if len(texts) != 2 {
		t.Fatalf("the section has %d blocks, want how the server is started, and the test", len(texts))
	}
	begun := strings.Fields(strings.ReplaceAll(commands(texts[0]), "127.0.0.1:8001", "127.0.0.1:0"))
	if begun[0] != "mockserver" || begun[1] != "-c" {
		t.Fatalf("it is started with %q", begun)
	}
	begun[2] = exampleFile(t, strings.TrimPrefix(begun[2], "examples/"))
	const off = "throttled=off,cpu-quota=off,machine=off,steal=off,cpu-wait=off,stall=off,scheduler-p99=off,gc-pause=off,descriptors=off,own-p99=off"
	args, _, _ := strings.Cut(strings.Join(begun[1:], " "), " &")
	p := start(t, append(strings.Fields(args), "--verdict", off)...)
	here := strings.NewReplacer("127.0.0.1:8001", adminOf(p).url, "http://localhost:8000", p.url, "localhost:8000", p.url)
	dir := t.TempDir()
	var shown strings.Builder
	for line := range strings.Lines(texts[1]) {
		if !strings.HasPrefix(line, "$ ") {
			shown.WriteString(line)
		}
	}
	if got := typed(t, dir, here.Replace(commands(texts[1]))); got != shown.String() {
		t.Errorf("it prints %s\nwant what is shown: %s", got, shown.String())
	}
	var report struct {
		Name  string
		Total struct{ Requests int }
	}
	text, err := os.ReadFile(dir + "/report.json")
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil || report.Total.Requests != 20 || report.Name != "checkout, 200 users" {
		t.Errorf("report.json is %s, %v", text, err)
	}
	if page, err := os.ReadFile(dir + "/report.html"); err != nil || !strings.Contains(string(page), "checkout, 200 users") {
		t.Errorf("report.html is %s, %v", page, err)
	}
}
