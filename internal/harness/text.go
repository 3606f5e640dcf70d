package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"mockserver/internal/harness/volume"

	"github.com/getkin/kin-openapi/openapi3"
	"olympos.io/encoding/edn"
)

// Refusal returns the messages, one per line, with which validate refuses a configuration. At full
// volume, serve must refuse it with the same messages.
func Refusal(t *testing.T, file string, more ...string) []string {
	t.Helper()
	var said []string
	commands := []string{"validate", "serve"}
	if !volume.Full() {
		commands = commands[:1]
	}
	for _, command := range commands {
		code, stdout, stderr := Refused(t, nil, append([]string{command, "-c", file}, more...)...)
		if code != 2 || stdout != "" {
			t.Errorf("%s: got exit code %d and on standard output %q, want 2 and nothing; standard error:\n%s", command, code, stdout, stderr)
		}
		if said == nil {
			said = strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		} else if got, want := stderr, strings.Join(said, "\n")+"\n"; got != want {
			t.Errorf("serve reports\n%s\nbut validate reports\n%s", got, want)
		}
	}
	return said
}

// EDNAsJSON converts an EDN text, as parsed by the EDN library, to JSON.
func EDNAsJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var value any
	if err := edn.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(namedByTexts(value))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// namedByTexts converts keywords to texts without the colon, at any depth.
func namedByTexts(value any) any {
	switch v := value.(type) {
	case edn.Keyword:
		return string(v)
	case []any:
		for i := range v {
			v[i] = namedByTexts(v[i])
		}
	case map[any]any:
		named := map[string]any{}
		for key, inside := range v {
			named[fmt.Sprint(namedByTexts(key))] = namedByTexts(inside)
		}
		return named
	}
	return value
}

// ExportOf runs export, which must succeed, and validates its output as OpenAPI.
func ExportOf(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := Refused(t, nil, append([]string{"export"}, args...)...)
	if code != 0 {
		t.Fatalf("export %v: exit code %d, %s", args, code, stderr)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(stdout)) // the document contains only references to itself
	if err != nil {
		t.Fatalf("export %v: %v\n%s", args, err, stdout)
	}
	if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaPatternValidation()); err != nil {
		t.Errorf("export %v: %v", args, err)
	}
	return stdout
}

// WithCurl runs curl without progress output, and returns what the server sent and the exit code.
func WithCurl(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	cmd := exec.Command(program, append([]string{"--silent", "--max-time", "20", "--noproxy", "*"}, args...)...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}
