package table

import (
	"regexp"
	"testing"

	"mockserver/internal/json"
)

// FuzzPercentage checks that the decoder accepts exactly the texts that the pattern of the schema
// matches, and that no percentage is below 0.
func FuzzPercentage(f *testing.F) {
	pattern := regexp.MustCompile(PercentPattern)
	for _, text := range []string{"1%", "0.5%", "100%", "00%", "-1%", "1e2%", "%", "1", "1.%", ".5%", "1%\n", "1 %"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		number := percentage(text)
		if known := pattern.MatchString(text); known != (number != "") {
			t.Errorf("%q is read as %q; the schema accepts it: %v", text, number, known)
		}
		if number != "" && (!json.IsNumber(number) || number[0] == '-') {
			t.Errorf("%q is read as %q", text, number)
		}
	})
}
