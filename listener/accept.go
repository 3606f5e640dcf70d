package listener

import (
	"bytes"
	"strconv"
	"strings"

	"mockserver/internal/ascii"

	"mockserver/matcher"
)

const acceptHeader = "Accept"

// rank is how well an answer fits what a client accepts.
type rank struct {
	weight    int // its q, in thousandths; 0 for what is not accepted
	specific  int // how closely the client names its media type
	byDefault bool
	json      bool
}

// above reports whether an answer fits better than another: what the client wants more,
// then what it names more closely, then what requests get by default, then JSON.
func (r rank) above(other rank) bool {
	switch {
	case r.weight != other.weight:
		return r.weight > other.weight
	case r.weight > 0 && r.specific != other.specific:
		return r.specific > other.specific
	case r.byDefault != other.byDefault:
		return r.byDefault
	}
	return r.json && !other.json
}

// isIndifferent reports whether the Accept headers, of which there may be none, take all
// media types alike.
func isIndifferent(header matcher.Header) bool {
	first := true
	for value := range header.Values(acceptHeader) {
		if !first || string(ascii.TrimBlanks(value)) != "*/*" {
			return false
		}
		first = false
	}
	return true
}

// weigh is how much the Accept headers want a media type, in thousandths, by the range
// that names it most closely, and how closely that is. Without any header all is wanted.
func weigh(mediaType string, header matcher.Header) (weight, specific int) {
	if _, ok := header.Get(acceptHeader); !ok {
		return 1000, 0
	}
	specific = -1
	for line := range header.Values(acceptHeader) {
		for len(line) > 0 {
			var element []byte
			element, line = cutList(line, ',')
			if s, q := match(mediaType, element); s > specific {
				specific, weight = s, q
			}
		}
	}
	return weight, specific
}

// How closely a range names a media type: any, the same main type, the very type; and one
// more for each parameter.
const (
	anyRange = iota
	mainRange
	exactRange
)

// match holds a media type against one range of an Accept header: how closely that names
// it, -1 for not at all, and its weight.
func match(mediaType string, element []byte) (specific, weight int) {
	text, parameters := cutList(element, ';')
	own, ownParameters, _ := strings.Cut(mediaType, ";")
	own = strings.TrimSpace(own)
	main, _, _ := strings.Cut(own, "/")
	text = ascii.TrimBlanks(text)
	wanted, sub, isType := bytes.Cut(text, []byte{'/'})
	switch {
	case string(text) == "*/*", string(text) == "*":
		specific = anyRange
	case isType && string(sub) == "*" && ascii.EqualFold(wanted, main):
		specific = mainRange
	case ascii.EqualFold(text, own):
		specific = exactRange
	default:
		return -1, 0
	}
	weight = 1000
	for len(parameters) > 0 {
		var parameter []byte
		parameter, parameters = cutList(parameters, ';')
		name, value, _ := bytes.Cut(ascii.TrimBlanks(parameter), []byte{'='})
		name, value = ascii.TrimBlanks(name), ascii.TrimBlanks(value)
		switch {
		case ascii.EqualFold(name, "q"):
			return specific, readWeight(value)
		case len(name) == 0, ascii.EqualFold(name, "charset"): // all texts are UTF-8
		case hasParameter(ownParameters, name, value):
			specific++
		default:
			return -1, 0
		}
	}
	return specific, weight
}

// hasParameter reports whether a media type has a parameter of that value.
func hasParameter(parameters string, name, value []byte) bool {
	for item := range strings.SplitSeq(parameters, ";") {
		n, v, _ := strings.Cut(strings.TrimSpace(item), "=")
		if ascii.EqualFold(name, strings.TrimSpace(n)) && ascii.EqualFold(unquoted(value), strings.Trim(strings.TrimSpace(v), `"`)) {
			return true
		}
	}
	return false
}

func unquoted(b []byte) []byte {
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		return b[1 : n-1]
	}
	return b
}

// readWeight is a q in thousandths: what is malformed, or above 1, counts as 1.
func readWeight(b []byte) int {
	q, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(q >= 0 && q < 1) || len(b) > len("0.000") {
		return 1000
	}
	return int(q*1000 + 0.5)
}

// cutList cuts a list at its first separator that is outside of quotes.
func cutList(b []byte, separator byte) (first, rest []byte) {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

// isJSONType reports whether a media type is JSON.
func isJSONType(mediaType string) bool {
	name, _, _ := strings.Cut(mediaType, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	return name == typeJSON || strings.HasSuffix(name, "+json")
}
