package renderer

import (
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer/escape"
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
		return escape.AppendJSON(dst, v.raw)
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

// writerIn is how a value is written in these parts of a URL. Where the part is not known for sure it
// is the strictest, which can end none of them.
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

// jsonText is what the json filter gives: v as JSON text. A text becomes a JSON
// string that is written as it is, whatever stands around it.
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
