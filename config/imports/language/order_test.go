package language

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// linear does the same as Order, but compares each path with all paths before it.
type linear struct {
	general []Path
	written map[string]bool
}

func (o *linear) place(own Path) (written Path, condition string) {
	written = own
	for changed := true; changed; {
		changed = false
		for _, first := range []string{segment(own, 0), anySegment} {
			for _, earlier := range o.general {
				if segment(earlier, 0) == first && overlap(own, earlier) && preferred(written, earlier) {
					written, changed = join(written, earlier), true
				}
			}
		}
	}
	if shape := segment(written, 0) + " " + Shape(written); len(written) > 0 && !allLiteral(written) && !o.written[shape] {
		o.written[shape] = true
		o.general = append(o.general, written)
	}
	return written, differs(own, written)
}

// However many paths there are, only paths that cannot overlap are skipped, and the order of the
// others is kept.
func TestOrder_IsThatOfAllPaths(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var order Order
		all := linear{written: map[string]bool{}}
		var paths []Path
		for range 8 {
			var p Path
			for i := range random.IntN(4) {
				switch random.IntN(5) {
				case 0, 1:
					p = append(p, Segment{Param, fmt.Sprint("p", i)})
				default:
					p = append(p, Segment{Literal, string(rune('a' + random.IntN(2)))})
				}
			}
			if random.IntN(6) == 0 {
				p = append(p, Segment{Rest, "rest"})
			}
			paths = append(paths, p)
			got, condition := order.Place("GET", p)
			if want, wanted := all.place(p); !slices.Equal(got, want) || condition != wanted {
				t.Fatalf("%v: got %v if %q, want %v if %q", paths, got, condition, want, wanted)
			}
		}
	}
}
