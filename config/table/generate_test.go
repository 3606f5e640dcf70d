package table_test

import (
	"bytes"
	"os"
	"testing"

	"mockserver/config/item"
	"mockserver/config/table"
)

// The schema that the program prints, and its copy in the documentation, are what the tables say. With
// MOCKSERVER_UPDATE=1 the test writes them.
func TestSchema_IsOfTheTables(t *testing.T) {
	want := table.Schema("Configuration of mockserver", "a list of endpoints", table.Rows(item.Fields))
	for _, file := range []string{"../schema.json", "../../docs/mockserver.schema.json"} {
		if os.Getenv("MOCKSERVER_UPDATE") != "" {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not match the tables (%v); run MOCKSERVER_UPDATE=1 go test -run TestSchema %s", file, err, "./config/table")
		}
	}
}
