package bench

import (
	"fmt"
	"io"
	"os"
)

// progress shows the progress of a run: on a terminal in one line that changes, otherwise in a line
// for each subject.
type progress struct {
	w        io.Writer
	terminal bool
	shown    bool // a line is on the terminal
}

// say shows the current activity.
func (p *progress) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !p.terminal {
		fmt.Fprintln(p.w, text)
		return
	}
	const width = 79 // a longer line could not be erased
	fmt.Fprintf(p.w, "\r\x1b[K%s", clipped(text, width))
	p.shown = true
}

// round shows a round, on a terminal only.
func (p *progress) round(name string, n, of int) {
	if p.terminal {
		p.say("%s: round %d of %d", name, n, of)
	}
}

// end erases the line.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// clipped truncates a text to a number of characters.
func clipped(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
