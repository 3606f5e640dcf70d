package syntax

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// source is the text of one file, and where its lines begin.
type source struct {
	file   string
	text   string
	starts []int // the offset of each line
	ascii  bool

	// The last column that was looked up: columns of a long line are looked up from left to right,
	// and counting each from the start would take quadratic time.
	line, column, offset int
}

// newSource decodes a file: UTF-8, or UTF-16 that begins with a byte order mark.
func newSource(file string, data []byte) (*source, error) {
	text, err := decodeText(data)
	s := &source{file: file, text: text}
	s.starts, s.ascii = lineStarts(text, lineBreak)
	return s, err
}

// asYAML returns the source with the lines of YAML 1.1, which the YAML library counts: YAML 1.1 has
// more line breaks than editors show.
func (s *source) asYAML() *source {
	if s.ascii {
		return s
	}
	y := &source{file: s.file, text: s.text}
	y.starts, _ = lineStarts(s.text, lineBreakOfYAML)
	return y
}

// lineStarts returns where the lines of a text begin, and whether the text is ASCII.
func lineStarts(text string, breakOf func(text string) int) (starts []int, ascii bool) {
	starts = append(make([]int, 0, 2+strings.Count(text, "\n")), 0)
	ascii = true
	for i := 0; i < len(text); i++ {
		if c := text[i]; ' ' <= c && c < utf8.RuneSelf {
			continue
		}
		if text[i] >= utf8.RuneSelf {
			ascii = false
		}
		if n := breakOf(text[i:]); n > 0 {
			starts = append(starts, i+n)
			i += n - 1
		}
	}
	return starts, ascii
}

// lineBreak returns the length of the line break at the beginning of text, 0 for none.
func lineBreak(text string) int {
	switch {
	case strings.HasPrefix(text, "\r\n"):
		return 2
	case text[0] == '\n' || text[0] == '\r':
		return 1
	}
	return 0
}

// lineBreakOfYAML is lineBreak for YAML 1.1.
func lineBreakOfYAML(text string) int {
	switch text[0] {
	default:
		return lineBreak(text)
	case 0xC2:
		if strings.HasPrefix(text, "\u0085") {
			return 2
		}
	case 0xE2:
		if strings.HasPrefix(text, "\u2028") || strings.HasPrefix(text, "\u2029") {
			return 3
		}
	}
	return 0
}

func decodeText(data []byte) (string, error) {
	var order binary.ByteOrder
	switch {
	case len(data) >= 2 && data[0] == 0xFF && data[1] == 0xFE:
		order = binary.LittleEndian
	case len(data) >= 2 && data[0] == 0xFE && data[1] == 0xFF:
		order = binary.BigEndian
	default:
		return strings.TrimPrefix(string(data), "\uFEFF"), nil
	}
	if len(data)%2 != 0 {
		return "", errors.New("the file is cut off: its byte order mark says UTF-16, but its length is odd")
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units)), nil
}

// pos returns the position of an offset.
func (s *source) pos(offset int) Pos {
	line := sort.SearchInts(s.starts, offset+1)
	return Pos{File: s.file, Line: line, Column: offset - s.starts[line-1] + 1}
}

// at returns the offset of a position whose column counts characters, as in the YAML library. For a
// position beyond the text it returns the end of the text.
func (s *source) at(line, column int) int {
	if line < 1 || line > len(s.starts) {
		return len(s.text)
	}
	if s.ascii {
		return min(s.starts[line-1]+column-1, len(s.text))
	}
	if line != s.line || column < s.column {
		s.line, s.column, s.offset = line, 1, s.starts[line-1]
	}
	for s.column < column && s.offset < len(s.text) {
		_, size := utf8.DecodeRuneInString(s.text[s.offset:])
		s.offset += size
		s.column++
	}
	return s.offset
}

// lineText returns a line by its number, starting at 1, without its break.
func (s *source) lineText(line int) string {
	if line < 1 || line > len(s.starts) {
		return ""
	}
	text := s.text[s.starts[line-1]:]
	if line < len(s.starts) {
		text = text[:s.starts[line]-s.starts[line-1]]
	}
	for _, end := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if cut, ok := strings.CutSuffix(text, end); ok {
			return cut
		}
	}
	return text
}

// encodingFault finds the first byte that is not allowed in a configuration. With yaml it also
// finds the control characters that YAML forbids.
func (s *source) encodingFault(yaml bool) (offset int, what string) {
	if s.ascii && !yaml && !strings.Contains(s.text[:min(len(s.text), 4)], "\x00") {
		return 0, ""
	}
	for i := 0; i < len(s.text); {
		r, size := rune(s.text[i]), 1
		if ' ' <= r && r < 0x7F {
			i++
			continue
		}
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[i:])
		}
		if r == utf8.RuneError && size == 1 {
			return i, fmt.Sprintf("byte 0x%02X is not UTF-8: files are read as UTF-8, or as UTF-16 with a byte order mark", s.text[i])
		}
		if r == 0 && i < 4 {
			return 0, "the file has zero bytes, as UTF-16 without a byte order mark has; expected UTF-8, or UTF-16 with a byte order mark"
		}
		if yaml && forbidden(r) {
			return i, fmt.Sprintf("the control character U+%04X is not allowed; in double quotes it is written as an escape", r)
		}
		i += size
	}
	return 0, ""
}

// forbidden reports whether YAML does not allow a character in files.
func forbidden(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return false
	case r < 0x20, r >= 0x7F && r < 0xA0, r == 0xFFFE, r == 0xFFFF:
		return true
	}
	return false
}
