package table

import (
	"regexp"

	"mockserver/config/syntax"
	"mockserver/internal/flags"
)

// The form of a number of bytes.
const (
	SizePattern = `^[0-9]+ ?([KkMmGg][Ii]?)?[Bb]?$`
	SizeForm    = "a number of bytes above 0, such as 65536, 64KiB or 1MB"
)

var sizeText = regexp.MustCompile(SizePattern)

// Size returns a number of bytes above 0, given as a number, or as a text that may have a unit. Any other value is
// reported.
func (d *Decoder) Size(v Value) (size int) {
	text := v.Text.Value
	if v.Kind == syntax.NumberNode {
		text = v.Number
	}
	if !sizeText.MatchString(text) || !flags.Size(&size, text) {
		d.Refuse(v)
	}
	return size
}
