package renderer

import (
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer/escape"
)

// writer determines how a placeholder's value is written in its place.
type writer uint8

const (
	writePlain      writer = iota
	writeJSONString        // inside a JSON string
	writeJSONValue         // where JSON expects a value
	writeJSONKind          // the same, where a text with quotes stood: a text stays one
	writeXML
	writeHeader
	writeURLStart // where a URL's scheme may be: a whole URL is written unchanged, such as a callback URL sent by the client
	writeURLHost  // a host, with its port
	writeURLPart  // query or fragment
	writeURLPath  // a path segment or a part of one
)

// isJSONValue reports whether the placeholder makes a JSON value.
func (w writer) isJSONValue() bool { return w == writeJSONValue || w == writeJSONKind }

// append appends v to dst.
func (w writer) append(dst []byte, v value) []byte {
	switch w {
	case writeJSONString:
		if v.kind == instant {
			return v.appendText(dst)
		}
		return escape.AppendJSON(dst, v.raw)
	case writeJSONValue:
		return appendJSONValue(dst, v)
	case writeJSONKind:
		return v.appendJSON(dst)
	case writePlain:
		return v.appendText(dst)
	}
	if v.kind == instant {
		v = textValue(v.appendText(nil))
	}
	switch w {
	case writeXML:
		return escape.AppendXML(dst, v.raw)
	case writeHeader:
		return escape.AppendHeader(dst, v.raw)
	case writeURLStart:
		return escape.AppendURL(dst, v.raw)
	case writeURLHost:
		return escape.AppendHost(dst, v.raw)
	case writeURLPath:
		return escape.AppendPathSegment(dst, v.raw)
	default:
		return escape.AppendPercent(dst, v.raw)
	}
}

// appendJSONValue appends v as one JSON value: null for a missing one; a text without quotes if it
// is a number, true, false or null, otherwise as a JSON string.
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
		return escape.AppendJSONText(dst, v.raw)
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

// writerIn returns how a value is written in the given parts of a URL. If the part is not certain,
// it is the strictest writer, whose output can end none of them.
func writerIn(ps escape.URLParts) writer {
	switch ps {
	case escape.AtStart:
		return writeURLStart
	case escape.AtSlashes, escape.AtHost:
		return writeURLHost
	case escape.AtRest:
		return writeURLPart
	}
	return writeURLPath
}

// jsonText returns the result of the json filter: v as JSON text. A text becomes a JSON string,
// which is written unchanged in any place.
func jsonText(v, _ value, r *matcher.Request) value {
	start := len(r.Arena)
	switch v.kind {
	case missing:
		return value{kind: null, raw: nullText}
	case text:
		r.Arena = escape.AppendJSONText(r.Arena, v.raw)
	case instant:
		r.Arena = appendJSONValue(r.Arena, v)
	default:
		return v
	}
	return value{kind: encoded, raw: since(r, start)}
}
