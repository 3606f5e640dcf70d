package openapi

import (
	"encoding/json"
	"testing"
	"time"
)

func TestSleepTime(t *testing.T) {
	for _, c := range []struct {
		value any
		want  time.Duration
		ok    bool
	}{
		{json.Number("0.5"), 500 * time.Millisecond, true}, {json.Number("2"), 2 * time.Second, true}, {"500ms", 500 * time.Millisecond, true}, {"3", 3 * time.Second, true},
		{json.Number("-1"), 0, false}, {"-1s", 0, false}, {"NaN", 0, false}, {"Inf", 0, false}, {json.Number("1e300"), 0, false}, {"soon", 0, false}, {true, 0, false}, {nil, 0, false},
	} {
		if got, ok := sleepTime(c.value); ok != c.ok || ok && got != c.want {
			t.Errorf("%#v: got %v, %v", c.value, got, ok)
		}
	}
}
