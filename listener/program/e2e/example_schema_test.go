package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var schemaPath = File("docs", "mockserver.schema.json")

// The line for editors contains the path of the schema relative to the example.
func TestSchema_TheLineOfTheExamplesLeadsToIt(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(File("examples", "*.y*ml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("found only %q, %v", files, err)
	}
	line := regexp.MustCompile(`^# yaml-language-server: \$schema=(\S+)\n`)
	for _, file := range files {
		if _, apart := petstores(t)[filepath.Base(file)]; apart { // other files have another schema
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := line.FindSubmatch(text)
		if found == nil {
			t.Errorf("the first line of %s is not the line for editors", file)
			continue
		}
		if path := filepath.Join(filepath.Dir(file), string(found[1])); path != schemaPath {
			t.Errorf("the line of %s leads to %s, want %s", file, path, schemaPath)
		}
	}
	if _, err := jsonschema.NewCompiler().Compile(schemaPath); err != nil {
		t.Errorf("it is not a schema: %v", err)
	}
}
