package draft

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Write writes the configuration as YAML.
func (d *Draft) Write(w io.Writer) error {
	var y yamlWriter
	y.comments("", d.Title)
	if len(d.Title) > 0 {
		y.WriteByte('\n')
	}
	live := false
	for i := range d.Declarations {
		y.declaration(&d.Declarations[i])
		live = live || !d.Declarations[i].Off
	}
	if !live {
		y.WriteString("[]\n")
	}
	_, err := y.WriteTo(w)
	return err
}

// yamlWriter writes YAML in block style. Texts are quoted, unless they are clearly safe without
// quotes or are written as a block.
type yamlWriter struct{ bytes.Buffer }

const indentBy = "  "

func (w *yamlWriter) declaration(d *Declaration) {
	w.comments("", d.Above)
	if !d.Off {
		w.WriteString("- " + d.Key + ":")
		w.below(d.Value, indentBy+indentBy)
		return
	}
	var off yamlWriter
	off.WriteString("- " + d.Key + ":")
	off.below(d.Value, indentBy+indentBy)
	w.commented(off.String(), "")
}

// comments writes lines as comments.
func (w *yamlWriter) comments(indent string, lines []string) {
	for _, text := range lines {
		for line := range strings.SplitSeq(text, "\n") {
			w.WriteString(strings.TrimRight(indent+"# "+oneLine(line), " ") + "\n")
		}
	}
}

// commented writes lines of YAML as comments.
func (w *yamlWriter) commented(text, indent string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		w.WriteString(indent + "# " + strings.TrimPrefix(line, indent) + "\n")
	}
}

// oneLine returns a text that can be written in a comment: tabs, and characters that would end the
// line or are not allowed in a file, are replaced with spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !printable(r) || r == '\t' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// below writes a value after the colon of a key, or after the dash of an item. The lines of a map
// or a list begin with indent.
func (w *yamlWriter) below(value any, indent string) {
	switch v := value.(type) {
	case *Map:
		if v == nil || v.Len() == 0 {
			w.WriteString(" {}\n")
			w.offs(v, indent)
			return
		}
		w.WriteByte('\n')
		w.mapping(v, indent, indent)
	case List:
		if len(v) == 0 {
			w.WriteString(" []\n")
			return
		}
		w.WriteByte('\n')
		for _, item := range v {
			w.item(item, indent)
		}
	default:
		w.WriteByte(' ')
		w.scalar(value, indent)
		w.WriteByte('\n')
	}
}

// item writes an item of a list.
func (w *yamlWriter) item(value any, indent string) {
	w.WriteString(indent + "-")
	switch v := value.(type) {
	case *Map:
		if v != nil && v.Len() > 0 && !v.entries[0].off {
			w.WriteByte(' ')
			w.mapping(v, "", indent+indentBy)
			return
		}
		w.below(v, indent+indentBy)
	case string: // blocks are for values of keys
		w.WriteString(" " + inline(v) + "\n")
	default:
		w.below(value, indent+indentBy)
	}
}

// mapping writes the keys of a map. first is the text before the first key.
func (w *yamlWriter) mapping(m *Map, first, indent string) {
	lead := first
	for i := range m.entries {
		e := &m.entries[i]
		if e.off {
			w.off(e, indent)
			continue
		}
		w.WriteString(lead + inline(e.key) + ":")
		lead = indent
		switch e.value.(type) {
		case *Map, List:
			if e.comment != "" {
				w.WriteString("  # " + oneLine(e.comment))
			}
			w.below(e.value, indent+indentBy)
		default:
			w.WriteByte(' ')
			block := w.scalar(e.value, indent)
			if e.comment != "" && !block {
				w.WriteString("  # " + oneLine(e.comment))
			}
			w.WriteByte('\n')
		}
	}
}

// offs writes the keys of a map in which all keys are commented out.
func (w *yamlWriter) offs(m *Map, indent string) {
	if m == nil {
		return
	}
	for i := range m.entries {
		w.off(&m.entries[i], indent)
	}
}

// off writes a key that is commented out.
func (w *yamlWriter) off(e *entry, indent string) {
	w.comments(indent, []string{e.why})
	var y yamlWriter
	y.mapping(&Map{entries: []entry{{key: e.key, value: e.value}}}, indent, indent)
	w.commented(y.String(), indent)
}

// scalar writes a value on the line of its key, and reports whether it is a block of lines.
func (w *yamlWriter) scalar(value any, indent string) (block bool) {
	text, ok := value.(string)
	if ok && fitsBlock(text) {
		w.block(text, indent+indentBy)
		return true
	}
	w.WriteString(flow(value))
	return false
}

// block writes a text as a literal block, without the line break after it.
func (w *yamlWriter) block(text, indent string) {
	w.WriteString("|2")
	lines, ended := strings.CutSuffix(text, "\n")
	if !ended {
		w.WriteByte('-')
	}
	for line := range strings.SplitSeq(lines, "\n") {
		w.WriteByte('\n')
		if line != "" {
			w.WriteString(indent + line)
		}
	}
}

// fitsBlock reports whether a text has several lines and can be written as a literal block
// unchanged.
func fitsBlock(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !printable(r) && r != '\n' {
			return false
		}
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" && strings.Trim(line, " \t") == "" || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	return true
}

// flow returns a value on one line.
func flow(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case Number:
		return string(v)
	case string:
		return inline(v)
	case Flow:
		return flow(v.Value)
	case List:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = flow(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *Map:
		var parts []string
		for _, e := range v.entries {
			if !e.off {
				parts = append(parts, inline(e.key)+": "+flow(e.value))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return inline(fmt.Sprint(value))
}

// plain matches texts of characters that need no quotes in YAML. inline excludes the exceptions.
var plain = regexp.MustCompile(`^[A-Za-z_/*:][A-Za-z0-9_/.*|:-]*$`)

// words matches texts that YAML 1.1 or 1.2 reads as something other than a text.
var words = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)

// inline returns a text as a scalar on one line.
func inline(text string) string {
	switch {
	case plain.MatchString(text) && !words.MatchString(text) && text[0] != '*' && text[0] != ':' && !strings.HasSuffix(text, ":") && !strings.Contains(text, ": "):
		return text
	case length(text): // 8.1ms
		return text
	case utf8.ValidString(text) && strings.ContainsAny(text, `"\`) && !strings.ContainsFunc(text, func(r rune) bool { return !printable(r) || r == '\t' }):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return doubleQuoted(text)
}

var lengths = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(ms|s|m|h|µs)$`)

// length reports whether a text is a duration, which YAML reads as a text.
func length(text string) bool { return lengths.MatchString(text) }

// doubleQuoted returns a text in double quotes. Bytes that are not UTF-8 become U+FFFD, because a
// YAML file cannot contain them.
func doubleQuoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case printable(r):
			b.WriteRune(r)
		case r <= 0xFF:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// printable reports whether a character may be written unescaped in a line of YAML.
func printable(r rune) bool {
	switch {
	case r == '\t', ' ' <= r && r < 0x7F, 0xA0 <= r && r < 0xD800 && r != 0x2028 && r != 0x2029, 0xE000 <= r && r <= 0xFFFD && r != 0xFEFF:
		return true
	}
	return r >= 0x10000
}
