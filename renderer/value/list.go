package value

import (
	"bytes"
	"errors"
	"strconv"
	"unicode"
	"unicode/utf8"

	"mockserver/internal/json"
	"mockserver/matcher"
)

// ErrTooLarge is why a text larger than its limit is incomplete: see matcher.Request.Stopped.
var ErrTooLarge = errors.New("a text rendered by a template is larger than its limit")

// cutter returns the part that a text begins with and the rest, and whether the rest holds another part.
type cutter func(text []byte) (part, rest []byte, more bool)

// cutInto returns the list of the parts of a text; empty for a missing value, and for an empty text. A list is not
// changed.
func cutInto(v Value, r *matcher.Request, cut cutter) Value {
	if v.Kind == Array {
		return v
	}
	text, limit := v.Text(r), r.Most()
	list := append(r.Arena, '[')
	for more := len(text) > 0 && v.Kind != Null; more; {
		var part []byte
		part, text, more = cut(text)
		if list = json.AppendString(list, part); more {
			list = append(list, ',')
		}
		if len(list)-len(r.Arena) > limit {
			r.Stopped = ErrTooLarge
			return Value{}
		}
	}
	return Value{Kind: Array, Raw: r.Extend(append(list, ']'))}
}

// Words returns the words of a text, each with the white space before it, the last one also with that after it.
func Words(v, _ Value, r *matcher.Request) Value { return cutInto(v, r, NextWord) }

// NextWord cuts the first word from a text, as the filter words does.
func NextWord(text []byte) (word, rest []byte, more bool) {
	blanks := len(text) - len(bytes.TrimLeftFunc(text, unicode.IsSpace))
	end := bytes.IndexFunc(text[blanks:], unicode.IsSpace)
	if end < 0 || len(bytes.TrimLeftFunc(text[blanks+end:], unicode.IsSpace)) == 0 {
		return text, nil, false
	}
	return text[:blanks+end], text[blanks+end:], true
}

// Lines returns the lines of a text, without the line breaks: CR, LF, and CR LF.
func Lines(v, _ Value, r *matcher.Request) Value {
	return cutInto(v, r, func(text []byte) (line, rest []byte, more bool) {
		line, rest, more = NextLine(text)
		return bytes.TrimRight(line, "\r\n"), rest, more
	})
}

// NextLine cuts the first line from a text, with its line break.
func NextLine(text []byte) (line, rest []byte, more bool) {
	end := bytes.IndexAny(text, "\r\n") + 1
	switch {
	case end == 0:
		end = len(text)
	case text[end-1] == '\r' && end < len(text) && text[end] == '\n':
		end++
	}
	return text[:end], text[end:], end < len(text)
}

// Chunks returns a list of the characters of a text, so many in each element as arg says.
func Chunks(v, arg Value, r *matcher.Request) Value {
	n, err := strconv.Atoi(string(arg.Raw))
	if err != nil || n < 1 {
		return Value{}
	}
	return cutInto(v, r, func(text []byte) (part, rest []byte, more bool) {
		end := 0
		for i := 0; i < n && end < len(text); i++ {
			_, size := utf8.DecodeRune(text[end:])
			end += size
		}
		return text[:end], text[end:], end < len(text)
	})
}

// Split returns the list of the parts of a text that a separator separates; those of an empty separator are the
// characters.
func Split(v, arg Value, r *matcher.Request) Value {
	separator := arg.Text(r)
	switch {
	case len(separator) == 0:
		return Chunks(v, OfText([]byte{'1'}), r)
	case v.Kind == Text && len(v.Raw) == 0:
		return Value{Kind: Array, Raw: r.Extend(append(r.Arena, `[""]`...))}
	}
	return cutInto(v, r, func(text []byte) (part, rest []byte, more bool) { return bytes.Cut(text, separator) })
}

// Join writes the elements of an array as text with arg between them. It does not change other
// values.
func Join(v, arg Value, r *matcher.Request) Value {
	if v.Kind != Array {
		return v
	}
	separator, most := arg.Text(r), r.Most()
	var joined []byte
	elements := v.JSON().Elements()
	for i := 0; ; i++ {
		element, ok := elements.Next()
		if !ok {
			break
		}
		if i > 0 {
			joined = append(joined, separator...)
		}
		if joined = OfJSON(element, r).AppendText(joined); len(joined) > most {
			r.Stopped = ErrTooLarge
			return Value{}
		}
	}
	return OfText(joined)
}
