package recording

import (
	"encoding/base64"
	"unicode/utf8"
)

func base64Of(b, content []byte) []byte { return base64.StdEncoding.AppendEncode(b, content) }

const digits = "0123456789abcdef"

// appendText appends a text as JSON. Invalid UTF-8 becomes U+FFFD.
func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, text[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		b = append(b, text[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, digits[c>>4], digits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, text[from:]...), '"')
}
