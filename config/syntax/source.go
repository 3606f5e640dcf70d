package syntax

import (
	"fmt"
	"sort"
	"strings"
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

// newSource returns the text of a file, without the byte order mark of UTF-8.
func newSource(file string, data []byte) *source {
	s := &source{file: file, text: strings.TrimPrefix(string(data), "\uFEFF")}
	s.starts, s.ascii = lineStarts(s.text, lineBreak)
	return s
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
			return i, fmt.Sprintf("byte 0x%02X is not UTF-8: files are read as UTF-8", s.text[i])
		}
		if r == 0 && i < 4 {
			return 0, "the file has zero bytes, as UTF-16 has; expected UTF-8"
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
