package matcher

import (
	"fmt"
	"strings"
)

// why says what is different, in the order of the path, then method, host and
// condition; "" when nothing is. It is of a request that nothing answered, so a
// route that fits in everything else has a condition that did not hold; it is not
// asked again, since that may give another answer (random) or count (counter).
func (c *comparer) why(index int) string {
	c.take(index)
	c.align()
	reasons := c.pathReasons()
	if len(reasons) == 0 && !c.fitsWhole() {
		reasons = append(reasons, fmt.Sprintf("the paths differ after segment %d", alignedMost))
	}
	e := c.route.Endpoint
	if m := e.EffectiveMethod(); m != string(c.request.Method()) {
		reasons = append(reasons, fmt.Sprintf("it answers %s, not %s", m, shown(c.request.Method())))
	}
	if host := c.request.hostName(); !hostCovers(e.Host, host) {
		reasons = append(reasons, fmt.Sprintf("it answers for the host %s, not %q", e.Host, shown(host)))
	}
	if len(reasons) == 0 && c.route.If != nil {
		reasons = append(reasons, "its condition does not hold: "+e.If.Value)
	}
	return strings.Join(reasons, ", and ")
}

// fitsWhole tells whether a path whose beginning fits the route fits it to its end.
func (c *comparer) fitsWhole() bool {
	p, n := &c.route.Pattern, len(c.request.target.slashes)
	declared := p.segments
	if c.rest {
		declared = declared[:len(declared)-1]
	}
	if n < len(declared) || n > len(declared) && !c.rest {
		return false
	}
	for i := alignedMost; i < len(declared); i++ {
		if pairReason(declared[i], c.request.segment(i), i+1) != "" {
			return false
		}
	}
	return true
}

// pathReasons says what is different in the path. Neighbouring segments that are
// missing, or too many, are told together.
func (c *comparer) pathReasons() []string {
	var reasons []string
	var gap strings.Builder
	before := endStep
	closeGap := func(next step) {
		if gap.Len() > 0 && next != before {
			verb := "lacks"
			if before == extraStep {
				verb = "has in addition"
			}
			reasons = append(reasons, fmt.Sprintf("the request %s %q", verb, shown([]byte(gap.String()))))
			gap.Reset()
		}
		before = next
	}
	c.walk(func(s step, i, j int) {
		closeGap(s)
		switch s {
		case missingStep:
			gap.WriteString("/" + c.all[i].shown())
		case extraStep:
			gap.WriteString("/" + string(c.segments[j]))
		default:
			if reason := pairReason(c.all[i], c.segments[j], j+1); reason != "" {
				reasons = append(reasons, reason)
			}
		}
	})
	closeGap(endStep)
	return reasons
}

// shown is a segment as it was declared, without its type.
func (s segment) shown() string {
	if s.kind == literalSegment || s.mixed != nil {
		return s.text
	}
	return ":" + s.text
}

// pairReason says why segment number at of the request is not the declared one;
// "" when it is.
func pairReason(s segment, text []byte, at int) string {
	switch {
	case s.kind != literalSegment && len(text) == 0:
		return fmt.Sprintf("segment %d is empty", at)
	case s.kind != literalSegment && s.accepts(text), s.kind == literalSegment && s.text == string(text):
		return ""
	case s.kind != literalSegment:
		return fmt.Sprintf("%q is not %s (path parameter %s)", shown(text), s.typ.described(), s.text)
	case equalFold(text, s.text):
		return fmt.Sprintf("segment %d is %q, not %q (case matters)", at, shown(text), s.text)
	}
	return fmt.Sprintf("segment %d is %q, not %q", at, shown(text), s.text)
}

// shown is a text of the request as messages show it: its beginning.
func shown(text []byte) string {
	const most = 64
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}

// hostCovers tells whether an endpoint declared for host answers name.
func hostCovers(host string, name []byte) bool {
	if host == "" {
		return true
	}
	var room [longestHost]byte
	declared := string(normalHost(room[:0], []byte(host)))
	if suffix, ok := strings.CutPrefix(declared, "*"); ok {
		return len(name) > len(suffix) && strings.HasSuffix(string(name), suffix)
	}
	return declared == string(name)
}
