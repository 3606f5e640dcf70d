package renderer

import (
	"mockserver/config/syntax"
	"mockserver/matcher"
)

// writer is how a placeholder's value is written where it stands.
type writer uint8

const (
	writePlain      writer = iota
	writeJSONString        // inside a JSON string
	writeJSONValue         // where JSON expects a value
	writeXML
	writeHeader
	writeURLStart // where a URL's scheme may stand: a whole URL is let through, such as a callback that the client sent
	writeURLHost  // a host, with its port
	writeURLPart  // query or fragment
	writeURLPath  // a path segment, or a part of one
)

// append appends v to dst.
func (w writer) append(dst []byte, v value) []byte {
	switch w {
	case writeJSONString:
		if v.kind == instant {
			return v.appendText(dst)
		}
		return appendJSONEscaped(dst, v.raw)
	case writeJSONValue:
		return appendJSONValue(dst, v)
	case writePlain:
		return v.appendText(dst)
	}
	if v.kind == instant {
		v = textValue(v.appendText(nil))
	}
	switch w {
	case writeXML:
		return appendXML(dst, v.raw)
	case writeHeader:
		return appendHeader(dst, v.raw)
	case writeURLStart:
		return appendEncoded(dst, v.raw, &inURL)
	case writeURLHost:
		return appendEncoded(dst, v.raw, &inHost)
	case writeURLPath:
		return appendPathSegment(dst, v.raw)
	default:
		return appendPercent(dst, v.raw)
	}
}

// appendJSONValue appends v as one JSON value: null for a missing one; a text
// bare when it is a number, true, false or null, else as a JSON string.
func appendJSONValue(dst []byte, v value) []byte {
	switch v.kind {
	case missing:
		return append(dst, "null"...)
	case instant:
		dst = append(dst, '"')
		dst = v.appendText(dst)
		return append(dst, '"')
	case text:
		if syntax.IsJSONNumber(v.raw) || isKeyword(v.raw) {
			return append(dst, v.raw...)
		}
		return appendJSONText(dst, v.raw)
	}
	return append(dst, v.raw...)
}

func isKeyword(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return false
}

// urlPlace is a part of a URL. A URL goes through them in this order.
type urlPlace uint8

const (
	urlStart   urlPlace = iota // nothing yet, or the scheme
	urlSlashes                 // between the scheme and the host
	urlHost
	urlPath
	urlRest // query and fragment
	urlEnd  // how many there are
)

func (p urlPlace) advance(literal string) urlPlace {
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

// urlPlaces follows a URL from literal to literal: the parts, as a bit each, in
// which the next character may stand. There are several where the branches of a
// block end in different ones.
type urlPlaces uint8

func (ps urlPlaces) advance(literal string) urlPlaces {
	var next urlPlaces
	for p := urlStart; p < urlEnd; p++ {
		if ps&(1<<p) != 0 {
			next |= 1 << p.advance(literal)
		}
	}
	return next
}

// pastValue is where the character after a placeholder may stand.
func (ps urlPlaces) pastValue() urlPlaces {
	if ps&(1<<urlSlashes) != 0 {
		return ps&^(1<<urlSlashes) | 1<<urlHost
	}
	return ps
}

// inLoop is where a character may stand in any turn of a loop that begins here:
// a turn may end in a later part, and the next one begins there.
func (ps urlPlaces) inLoop() urlPlaces {
	for p := urlStart; p < urlEnd-1; p++ {
		if ps&(1<<p) != 0 {
			ps |= 1 << (p + 1)
		}
	}
	return ps
}

// writer is how a value is written here. Where the part is not known for sure it
// is the strictest, which can end none of them.
func (ps urlPlaces) writer() writer {
	switch ps {
	case 1 << urlStart:
		return writeURLStart
	case 1 << urlSlashes, 1 << urlHost:
		return writeURLHost
	case 1 << urlRest:
		return writeURLPart
	}
	return writeURLPath
}

// jsonText is what the json filter gives: v as JSON text. A text becomes a JSON
// string that is written as it is, whatever stands around it.
func jsonText(v, _ value, r *matcher.Request) value {
	start := len(r.Arena)
	switch v.kind {
	case missing:
		return value{kind: null, raw: nullText}
	case text:
		r.Arena = appendJSONText(r.Arena, v.raw)
	case instant:
		r.Arena = appendJSONValue(r.Arena, v)
	default:
		return v
	}
	return value{kind: encoded, raw: since(r, start)}
}
