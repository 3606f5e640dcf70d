package negotiate

import (
	"bytes"
	"strconv"
	"strings"

	"mockserver/internal/ascii"

	"mockserver/matcher"
)

const acceptHeader = "Accept"

// rank describes how well an answer fits the Accept header of a request.
type rank struct {
	weight    int // the q value, in thousandths; 0 if not acceptable
	specific  int // how closely the client names the answer's media type
	byDefault bool
	json      bool
}

// above reports whether an answer fits better than another. The weight counts first, then how
// closely the media type is named, then whether it is the default answer, then whether it is JSON.
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

// isIndifferent reports whether there is no Accept header field, or only one with the value */*.
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

// weigh returns the weight of a media type in the Accept header fields, in thousandths, and how
// closely the best matching range names it. Without such a field every type is acceptable.
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

// How closely a range names a media type: any type, the same main type, or the exact type. Each
// parameter adds one.
const (
	anyRange = iota
	mainRange
	exactRange
)

// match compares a media type with one range of an Accept header. It returns how closely the range
// names the type, -1 if it does not match, and the weight of the range.
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
		case len(name) == 0, ascii.EqualFold(name, "charset"): // all text is UTF-8
		case hasParameter(ownParameters, name, value):
			specific++
		default:
			return -1, 0
		}
	}
	return specific, weight
}

// hasParameter reports whether a media type has a parameter with the given value.
func hasParameter(parameters string, name, value []byte) bool {
	for item := range strings.SplitSeq(parameters, ";") {
		n, v, _ := strings.Cut(strings.TrimSpace(item), "=")
		if ascii.EqualFold(name, strings.TrimSpace(n)) && ascii.EqualFold(ascii.Unquoted(value), strings.Trim(strings.TrimSpace(v), `"`)) {
			return true
		}
	}
	return false
}

// readWeight returns a q value in thousandths. A malformed one, or one above 1, counts as 1.
func readWeight(b []byte) int {
	q, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(q >= 0 && q < 1) || len(b) > len("0.000") {
		return 1000
	}
	return int(q*1000 + 0.5)
}

// cutList cuts a list at its first separator outside quotes.
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
