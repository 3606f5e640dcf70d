package escape

// urlPart is a part of a URL. The parts of a URL follow one another in this order.
type urlPart uint8

const (
	urlStart   urlPart = iota // nothing yet, or the scheme
	urlSlashes                // between the scheme and the host
	urlHost
	urlPath
	urlRest // query and fragment
	urlEnd  // the number of parts
)

func (p urlPart) advance(literal string) urlPart {
	for i := range len(literal) {
		c := literal[i]
		switch {
		case p == urlRest:
		case c == '?' || c == '#':
			p = urlRest
		case p == urlStart && c == ':':
			p = urlSlashes
		case p == urlSlashes && c != '/':
			p = urlHost
		case (p == urlStart || p == urlHost) && c == '/':
			p = urlPath
		}
	}
	return p
}

// URLParts follows a URL from literal to literal. It contains a bit for each part that the next
// character may belong to. There are several if the branches of a block end in different parts.
type URLParts uint8

// Sets with a single part: the scheme, the host, the slashes before it, and query and fragment.
const (
	AtStart   URLParts = 1 << urlStart
	AtHost    URLParts = 1 << urlHost
	AtSlashes URLParts = 1 << urlSlashes
	AtRest    URLParts = 1 << urlRest
)

// Advance returns the parts that the character after a literal may belong to.
func (ps URLParts) Advance(literal string) URLParts {
	var next URLParts
	for p := urlStart; p < urlEnd; p++ {
		if ps&(1<<p) != 0 {
			next |= 1 << p.advance(literal)
		}
	}
	return next
}

// PastValue returns the parts that the character after a placeholder may belong to.
func (ps URLParts) PastValue() URLParts {
	if ps&(1<<urlSlashes) != 0 {
		return ps&^(1<<urlSlashes) | 1<<urlHost
	}
	return ps
}

// InLoop returns the parts that a character may belong to in any iteration of a loop that begins
// here: an iteration may end in a later part, and the next one begins there.
func (ps URLParts) InLoop() URLParts {
	for p := urlStart; p < urlEnd-1; p++ {
		if ps&(1<<p) != 0 {
			ps |= 1 << (p + 1)
		}
	}
	return ps
}
