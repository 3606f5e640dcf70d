package internal_test

import (
	"slices"
	"testing"

	"mockserver/internal/address"
)

func TestPathParams(t *testing.T) {
	for path, want := range map[string][]string{
		"/":                     nil,
		"/a/:id|int/:b-c/*rest": {"id", "b-c", "rest"},
		"/a/:id/":               {"id"},
		"/*rest/":               {"rest"},
		"/*":                    nil,
		"/*no/a:no/:/x?/:no":    nil,
	} {
		if got := address.PathParams(path); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
}
