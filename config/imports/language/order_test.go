package language

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// However many paths there are, the server tries no path before an earlier one that it overlaps.
func TestOrder_IsThatOfAllPaths(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var order Order
		var own, written []Path
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
			got, condition := order.Place("GET", p)
			for i, earlier := range written {
				if overlap(p, own[i]) && preferred(got, earlier) {
					t.Fatalf("%v after %v: got %v if %q, which is tried before %v", p, own, got, condition, earlier)
				}
			}
			own, written = append(own, p), append(written, got)
		}
	}
}
