package renderer

import (
	"mockserver/internal/json"
	"mockserver/renderer/escape"
	"mockserver/renderer/value"
)

// writer determines how a placeholder's value is written in its place.
type writer uint8

const (
	writePlain      writer = iota
	writeJSONString        // inside a JSON string
	writeJSONValue         // where JSON expects a value
	writeJSONKind          // the same, in place of a quoted text: a text remains a text
	writeJSONTyped         // the same, but a missing value is an empty text
	writeXML
	writeHeader
	writeURLStart // where a URL's scheme may be: a whole URL is written unchanged, such as a callback URL sent by the client
	writeURLHost  // a host, with its port
	writeURLPart  // query or fragment
	writeURLPath  // a path segment or a part of one
)

// isJSONValue reports whether the placeholder produces a JSON value.
func (w writer) isJSONValue() bool { return w >= writeJSONValue && w <= writeJSONTyped }

// append appends v to dst.
func (w writer) append(dst []byte, v value.Value) []byte {
	switch w {
	case writeJSONString:
		if v.Kind == value.Instant {
			return v.AppendText(dst)
		}
		return json.AppendEscaped(dst, v.Raw)
	case writeJSONValue:
		return v.AppendUnquoted(dst)
	case writeJSONTyped:
		if v.Kind == value.Missing {
			return append(dst, `""`...)
		}
		return v.AppendJSON(dst)
	case writeJSONKind:
		return v.AppendJSON(dst)
	case writePlain:
		return v.AppendText(dst)
	}
	if v.Kind == value.Instant {
		v = value.OfText(v.AppendText(nil))
	}
	switch w {
	case writeXML:
		return escape.AppendXML(dst, v.Raw)
	case writeHeader:
		return escape.AppendHeader(dst, v.Raw)
	case writeURLStart:
		return escape.AppendURL(dst, v.Raw)
	case writeURLHost:
		return escape.AppendHost(dst, v.Raw)
	case writeURLPath:
		return escape.AppendPathSegment(dst, v.Raw)
	default:
		return escape.AppendPercent(dst, v.Raw)
	}
}

// writerIn returns how a value is written in the given parts of a URL. If the part is not certain,
// it returns the strictest writer, whose output cannot end any of the parts.
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
