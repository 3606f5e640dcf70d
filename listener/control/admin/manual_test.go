package admin

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// docs/operations.md contains every error code, path and metric; docs/fleet.md contains the paths
// for fleets.
func TestManual_HasAllThatThereIs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	fleets, err := os.ReadFile("../../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text) + string(fleets)
	for code := range codesOfRefusals(t) {
		if !regexp.MustCompile("(?m)^\\|.*`" + code + "`.*\\| [45]").MatchString(manual) {
			t.Errorf("no row for the error code %s", code)
		}
	}
	a := counting(t)
	a.metrics = a.exposition()
	for _, row := range a.table() {
		if path := strings.ReplaceAll(row.path, "{id}", "ID"); !regexp.MustCompile("`[A-Z, `]*" + path + "[`?]").MatchString(manual) {
			t.Errorf("no %s", path)
		}
	}
	a.sampler = distrusting()
	registry := prometheus.NewRegistry()
	registry.MustRegister(&everything{collector{admin: a}})
	families, err := registry.Gather()
	if err != nil || len(families) < 20 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	for _, f := range families {
		if name := strings.TrimPrefix(f.GetName(), "mockserver_"); !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("no row for the metric %s", name)
		}
	}
}

// codesOfRefusals returns the codes of all error responses in the source code.
func codesOfRefusals(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`refuse\(w, [^"]*"([a-z_]+)"`).FindAllSubmatch(source, -1) {
			codes[string(call[1])] = true
		}
	}
	if len(codes) < 20 {
		t.Fatalf("found only %d codes", len(codes))
	}
	return codes
}
