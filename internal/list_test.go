package internal_test

import (
	"slices"
	"strconv"
	"testing"

	"mockserver/internal/list"
)

func TestListMap(t *testing.T) {
	if got := list.Map([]int{1, 20}, strconv.Itoa); !slices.Equal(got, []string{"1", "20"}) {
		t.Errorf("got %q", got)
	}
	if got := list.Map(nil, strconv.Itoa); got == nil || len(got) > 0 {
		t.Errorf("of nothing: %#v; expected a list, which is [] in JSON", got)
	}
}
