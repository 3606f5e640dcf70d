package nearest

import (
	"fmt"
	"strings"

	"mockserver/config/item"
	"mockserver/matcher"
)

// why describes the differences, those in the path first, then method, host and condition; "" if
// there are none. Nothing answered the request, so if everything else fits, the condition of the
// route did not hold.
func (c *comparer) why(route *matcher.Route) string {
	_, moves := c.align(route)
	reasons := c.pathReasons(moves)
	if len(reasons) == 0 && !c.fitsWhole() {
		reasons = append(reasons, fmt.Sprintf("the paths differ after segment %d", alignedMost))
	}
	e := route.Endpoint
	if m := e.EffectiveMethod(); m != string(c.request.Method()) && m != item.MethodAny {
		reasons = append(reasons, fmt.Sprintf("it answers %s, not %s", m, shown(c.request.Method())))
	}
	if host := c.request.HostName(); !matcher.HostCovers(e.Host, host) {
		reasons = append(reasons, fmt.Sprintf("it answers for the host %s, not %q", e.Host, shown(host)))
	}
	if len(reasons) == 0 && route.If != nil {
		reasons = append(reasons, "its condition does not hold: "+e.Condition())
	}
	return strings.Join(reasons, ", and ")
}

// fitsWhole reports whether a path whose beginning fits the route fits it completely.
func (c *comparer) fitsWhole() bool {
	declared := c.route.Pattern.Segments()
	if c.rest {
		declared = declared[:len(declared)-1]
	}
	if len(c.whole) < len(declared) || len(c.whole) > len(declared) && !c.rest {
		return false
	}
	for i := range declared {
		if !declared[i].Accepts(c.whole[i]) {
			return false
		}
	}
	return true
}

// pathReasons describes the differences in the path. Adjacent segments that are missing, or extra,
// are reported together.
func (c *comparer) pathReasons(moves []move) []string {
	var reasons []string
	for k := 0; k < len(moves); {
		m := moves[k]
		gap := ""
		for ; m.step >= missingStep && k < len(moves) && moves[k].step == m.step; k++ {
			if m.step == missingStep {
				gap += "/" + c.declared[moves[k].i].String()
			} else {
				gap += "/" + string(c.segments[moves[k].j])
			}
		}
		switch m.step {
		case missingStep:
			reasons = append(reasons, fmt.Sprintf("the request lacks %q", shown([]byte(gap))))
		case extraStep:
			reasons = append(reasons, fmt.Sprintf("the request also has %q", shown([]byte(gap))))
		default:
			if s, text := &c.declared[m.i], c.segments[m.j]; !s.Accepts(text) {
				reasons = append(reasons, pairReason(s, text, m.j+1))
			}
			k++
		}
	}
	return reasons
}

// pairReason describes why segment number at of the request does not match the declared one.
func pairReason(s *matcher.Segment, text []byte, at int) string {
	switch {
	case !s.IsLiteral() && len(text) == 0:
		return fmt.Sprintf("segment %d is empty", at)
	case !s.IsLiteral():
		return fmt.Sprintf("%q is not %s (path parameter %s)", shown(text), s.Takes(), s.Text())
	case strings.EqualFold(string(text), s.Text()):
		return fmt.Sprintf("segment %d is %q, not %q (case matters)", at, shown(text), s.Text())
	}
	return fmt.Sprintf("segment %d is %q, not %q", at, shown(text), s.Text())
}

// shown returns a text of the request, truncated for messages.
func shown(text []byte) string {
	const most = 64
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}
