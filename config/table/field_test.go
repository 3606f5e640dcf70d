package table

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"mockserver/config/syntax"
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
		if number != "" && (!syntax.IsJSONNumber(number) || number[0] == '-') {
			t.Errorf("%q is read as %q", text, number)
		}
	})
}

// A zero duration in a declaration made in Go counts as a missing key.
func TestOf_ADurationAboveZero(t *testing.T) {
	type made struct{ Every, For time.Duration }
	every := Of[made](Row{Key: "every", Kinds: Texts, Length: UnitAboveZero})
	must := Of[made](Row{Key: "for", Kinds: Texts, Length: UnitAboveZero, Required: true})
	if what := every.Fault(&made{}) + must.Fault(&made{For: 1}); what != "" {
		t.Error(what)
	}
	if what := must.Fault(&made{}); !strings.HasPrefix(what, "is missing; expected a duration above 0") {
		t.Errorf("got %q", what)
	}
}
