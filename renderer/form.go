package renderer

import (
	"strings"

	"mockserver/internal/semantics"
)

// Form is the kind of text that a template produces. It determines how values are written.
type Form uint8

// The forms.
const (
	Plain  Form = iota // values are written unchanged
	JSON               // escaped inside strings; a JSON value outside of them
	XML                // XML-escaped (also for HTML)
	Header             // one header value: control characters are removed
	URL                // percent-encoded for their part of the URL
	// Inferred is the form of the text itself: JSON if it begins with {, [ or ", XML if it begins
	// with <, otherwise Plain. Values before that are written unchanged. Each branch at the
	// beginning of a text has its own form.
	Inferred
)

// FormOf returns the form of a body of the given Content-Type: JSON, XML or Plain.
func FormOf(contentType string) Form {
	media := semantics.MediaType(contentType)
	switch {
	case semantics.IsJSON(contentType):
		return JSON
	case strings.HasSuffix(media, "/xml"), strings.HasSuffix(media, "+xml"), media == "text/html":
		return XML
	}
	return Plain
}
