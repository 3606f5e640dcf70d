package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/config"
)

// A document causes at most problems, whatever it contains: nothing panics (a panic would be
// reported as a document that cannot be understood), and nothing runs forever.
func FuzzDocument(f *testing.F) {
	files, err := filepath.Glob("testdata/openapi/*.*")
	if err != nil || len(files) == 0 {
		f.Fatal("there are no documents to begin with", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(file) == ".json", data)
	}
	for _, c := range broken {
		f.Add(false, []byte(c.doc))
	}
	f.Fuzz(func(t *testing.T, json bool, data []byte) {
		name := "api.yml"
		if json {
			name = "api.json"
		}
		spec := config.Loader{Validate: true}.Parse(name, data)
		for _, p := range spec.Problems {
			if strings.Contains(p.What, "cannot be understood") {
				t.Fatal(p)
			}
		}
		for _, e := range spec.Endpoints {
			if e.Operation != nil && (e.Key == "" || !strings.HasPrefix(e.Path.Value, "/")) {
				t.Fatalf("%+v", e)
			}
		}
	})
}
