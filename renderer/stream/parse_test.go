package stream_test

import (
	"strings"
	"unicode/utf8"
)

// event is an event as a client dispatches it.
type event struct{ Type, Data, ID string }

// events parses an event stream as the WHATWG HTML standard says, section 9.2.6 (interpreting an event stream). It
// returns the events, the last retry, and the comments.
func events(stream string) (all []event, retry string, comments []string) {
	stream = strings.TrimPrefix(strings.ToValidUTF8(stream, "\uFFFD"), "\uFEFF")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var id string
	var data, typ strings.Builder
	hasData := false
	for stream != "" {
		line, rest, ended := strings.Cut(stream, "\n")
		if !ended {
			break // an incomplete event is discarded
		}
		stream = rest
		if line == "" {
			if hasData {
				if typ.Len() == 0 {
					typ.WriteString("message")
				}
				all = append(all, event{typ.String(), strings.TrimSuffix(data.String(), "\n"), id})
			}
			data.Reset()
			typ.Reset()
			hasData = false
			continue
		}
		name, value, colon := strings.Cut(line, ":")
		if colon {
			value = strings.TrimPrefix(value, " ")
		}
		switch name {
		case "":
			comments = append(comments, value)
		case "event":
			typ.Reset()
			typ.WriteString(value)
		case "data":
			data.WriteString(value + "\n")
			hasData = true
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		case "retry":
			if value != "" && strings.Trim(value, "0123456789") == "" {
				retry = value
			}
		}
	}
	return all, retry, comments
}

// isUTF8 reports whether a text is UTF-8 without a BOM at its beginning.
func isUTF8(text string) bool { return utf8.ValidString(text) && !strings.HasPrefix(text, "\uFEFF") }
