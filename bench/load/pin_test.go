package load

import (
	"slices"
	"testing"
)

func TestDivide(t *testing.T) {
	tests := []struct {
		name              string
		cores             [][]int
		server, generator []int
		why               string
	}{
		{name: "none known", why: "server and generator share one CPU: nothing is pinned, and the generator takes from the server"},
		{name: "one", cores: [][]int{{3}}, why: "server and generator share one CPU: nothing is pinned, and the generator takes from the server"},
		{name: "two", cores: [][]int{{0}, {1}}, server: []int{0}, generator: []int{1}, why: "server on CPU 0, generator on CPU 1"},
		{name: "one core of two", cores: [][]int{{4, 5}}, server: []int{4}, generator: []int{5},
			why: "server on CPU 4, generator on CPU 5; CPU 4,5 are one core, which the two share"},
		{name: "half of five", cores: [][]int{{0}, {1}, {2}, {3}, {4}}, server: []int{0, 1}, generator: []int{2, 3, 4}, why: "server on CPU 0,1, generator on CPU 2,3,4"},
		{name: "cores kept together", cores: [][]int{{0, 2}, {1, 3}}, server: []int{0, 2}, generator: []int{1, 3}, why: "server on CPU 0,2, generator on CPU 1,3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := divide(tt.cores)
			if !slices.Equal(p.Server, tt.server) || !slices.Equal(p.Generator, tt.generator) || p.Why != tt.why {
				t.Errorf("%+v", p)
			}
		})
	}
}
