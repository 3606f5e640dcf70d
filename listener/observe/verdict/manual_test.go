package verdict

import (
	"os"
	"regexp"
	"testing"
)

// docs/operations.md contains every reason with its threshold.
func TestManual_HasAllReasons(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	for i := range checks {
		c := &checks[i]
		row := regexp.MustCompile("(?m)^\\| `" + c.code + "` \\| `([^`]+)` \\|").FindStringSubmatch(manual)
		if row == nil {
			t.Errorf("no row for the reason %s", c.code)
		} else if limit, err := c.unit.parse(row[1]); err != nil || limit != c.initial {
			t.Errorf("the documented threshold of %s is %s, want %v %s", c.code, row[1], c.initial, c.unit.name)
		}
	}
}
