package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// blocks returns the fenced blocks of a section of a document, and their languages.
func blocks(t *testing.T, document, section string) (languages, texts []string) {
	t.Helper()
	text, err := os.ReadFile(File(document))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %q", document, section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	for {
		_, after, found := strings.Cut(rest, "\n```")
		if !found {
			return languages, texts
		}
		language, after, _ := strings.Cut(after, "\n")
		text, after, closed := strings.Cut(after, "\n```")
		if !closed {
			t.Fatalf("a block of %q is not closed", section)
		}
		languages, texts, rest = append(languages, language), append(texts, text+"\n"), after
	}
}

// commands returns the lines of a console session that the user types.
func commands(console string) string {
	var typed []string
	for line := range strings.Lines(console) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			typed = append(typed, command)
		}
	}
	return strings.Join(typed, "")
}

// typed runs commands one after the other, as a user would type them, and returns what they print.
func typed(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Dir = dir
	// The settings of Go in this process do not apply: a user has none.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, problems.String())
	}
	return string(out)
}

// The program in the README is a module of its own, created and run as the README describes.
func TestEmbed_TheProgramOfTheREADME(t *testing.T) {
	volume.Only(t)
	languages, texts := blocks(t, "README.md", "In a Go program")
	if len(texts) < 3 || languages[0] != "console" || languages[1] != "go" || languages[2] != "console" {
		t.Fatalf("the section has blocks of %v, want the commands, the program, and its first output", languages)
	}
	program := texts[1]
	if lines := strings.Count(program, "\n"); lines > 20 {
		t.Errorf("the program has %d lines, want 20 at most", lines)
	}
	if endpoints := strings.Count(program, "config.Endpoint{"); endpoints != 2 {
		t.Errorf("it declares %d endpoints, want 2", endpoints)
	}
	dir := t.TempDir()
	if err := os.Symlink(File(), filepath.Join(dir, "mockserver")); err != nil {
		t.Fatal(err)
	}
	typed(t, dir, commands(texts[0]))
	harness.WriteFile(t, dir, "demo/main.go", program)
	if out := typed(t, filepath.Join(dir, "demo"), "gofmt -l ."); out != "" {
		t.Errorf("the program is not formatted: %s", out)
	}
	if made, err := os.ReadFile(filepath.Join(dir, "demo", "go.mod")); !containsAll(string(made), []string{"mockserver v0.0.0\n", "replace mockserver => ../mockserver\n"}) {
		t.Errorf("go.mod is %s, %v", made, err)
	}
	got := withoutDate(strings.ReplaceAll(typed(t, filepath.Join(dir, "demo"), commands(texts[2])), "\r\n", "\n"))
	_, printed, _ := strings.Cut(texts[2], "\n")
	if want := withoutDate(printed); got != want {
		t.Errorf("got %q, want the output in the README: %q", got, want)
	}
}

// withoutDate returns an answer without its Date header.
func withoutDate(response string) string {
	var b strings.Builder
	for line := range strings.Lines(response) {
		if !strings.HasPrefix(line, "Date: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// The program does not include packages that only tests need.
func TestProgram_DoesNotImportTesting(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	list.Dir = File()
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, p := range packages {
		if p == "testing" || strings.HasPrefix(p, "testing/") || strings.Contains(p, "listenertest") || strings.Contains(p, "goleak") {
			t.Errorf("the program imports %s", p)
		}
	}
	if len(packages) < 100 {
		t.Errorf("got %d packages only", len(packages))
	}
}
