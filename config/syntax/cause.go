package syntax

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	tabSentence   = "a tab where spaces are expected: YAML is indented with spaces"
	quoteSentence = "a quote is never closed"
)

// The patterns of frequent errors. They are only used after the library has failed, to find out why.
var (
	// hiddenText is what has no meaning: in quotes, or a comment.
	hiddenText = regexp.MustCompile(`"(?:\\.|[^"\\])*"|'[^']*'|(?m:(?:^|\s)#.*$)`)
	// endedText is a text inside brackets that { [ or ? ends.
	endedText = regexp.MustCompile(`[{\[,:]\s*([^\s{}\[\],:?#&*!](?:[^{}\[\],?:\n]|:\S)*)([{\[?])`)
	// indentTab is a tab in the indentation.
	indentTab = regexp.MustCompile(`^ *(\t)`)
	// reservedStart is a value that begins with a character that YAML reserves.
	reservedStart = regexp.MustCompile("(?:^|[:,-]\\s+|[\\[{])\\s*(([@`%])[^\\s,}\\]]*)")
	// valueStart is the text before a value, and continuation what follows a text in quotes that is not all of it.
	valueStart   = regexp.MustCompile(`(?:^|[:,-]\s+|[\[{]\s*)$`)
	continuation = regexp.MustCompile(`^[ \t]*[^\s,:}\]#"'][^,}\]]*`)
	// openedQuote is a quote with which a value begins.
	openedQuote = regexp.MustCompile(`(?:^|[:,-]\s+|[\[{])\s*(["'])`)
	// keyLine is a line that begins with a key, or an item that does.
	keyLine = regexp.MustCompile(`(?m)^\s*(?:- +)?[\w./-]+:(?:\s|$)`)
)

// cause finds the cause of an error that the library reports on a line, with the words of its message. It returns ""
// if the cause is unknown.
func (s *source) cause(words string, line int) (offset int, what string) {
	if len(s.text) > searchedSize {
		return 0, ""
	}
	text := s.lineText(line)
	if strings.Contains(words, "cannot start any token") || strings.Contains(words, "a tab") {
		if at := indentTab.FindStringSubmatchIndex(text); at != nil {
			return s.starts[line-1] + at[2], tabSentence
		}
		text = hiddenText.ReplaceAllStringFunc(text, blanked)
		if at := reservedStart.FindStringSubmatchIndex(text); at != nil {
			return s.starts[line-1] + at[2], fmt.Sprintf("a value cannot begin with %s; expected quotes around it, '%s'", text[at[4]:at[5]], text[at[2]:at[3]])
		}
		return 0, ""
	}
	for _, at := range hiddenText.FindAllStringIndex(text, -1) {
		rest := continuation.FindString(text[at[1]:])
		if rest == "" || !valueStart.MatchString(text[:at[0]]) || !strings.Contains(words, "did not find expected") {
			continue
		}
		what = fmt.Sprintf("the value begins with quotes, and continues after %s", text[at[0]:at[1]])
		what += "; expected quotes around all of it"
		if value := text[at[0]:at[1]] + strings.TrimRight(rest, " \t"); !strings.Contains(value, "'") {
			what += ", '" + value + "'"
		}
		if strings.Contains(words, "',' or") {
			what += ", or a comma"
		}
		return s.starts[line-1] + at[0], what
	}
	if offset := s.unclosedQuote(line); offset >= 0 {
		return offset, quoteSentence + " on its line: the text that begins here continues below"
	}
	if strings.Contains(words, "did not find expected ',' or") {
		return s.unquoted(line)
	}
	return 0, ""
}

func blanked(s string) string { return strings.Repeat(" ", len(s)) }

// unclosedQuote returns the offset of a quote in the lines up to a given one that its line does not close, so that it
// ends where the next text in quotes begins; -1 if there is none. If it were closed, the error would be further down.
func (s *source) unclosedQuote(line int) int {
	const tried = 4
	end := len(s.text)
	if line < len(s.starts) {
		end = s.starts[line]
	}
	for at, left := 0, tried; left > 0 && at <= end; { // a text may go on behind the end
		next := openedQuote.FindStringSubmatchIndex(s.text[at:end])
		if next == nil {
			return -1
		}
		quote := at + next[2]
		at = quote + 1
		if closed := hiddenText.FindStringIndex(s.text[quote:]); closed != nil && closed[0] == 0 {
			at = quote + closed[1]
		}
		opened := s.pos(quote).Line
		if s.pos(at-1).Line == opened && at > quote+1 {
			continue
		}
		left--
		rest := s.text[quote+1:]
		inside, after, _ := strings.Cut(rest, "\n")
		if at > quote+1 && !keyLine.MatchString(s.text[quote:at]) {
			continue
		}
		if closing := inside[len(strings.TrimRight(inside, " \t\r}],")):]; !s.failsUpTo(s.text[:quote]+"x"+closing+"\n"+after, line) {
			return quote
		}
	}
	return -1
}

// failsUpTo reports whether the first lines of another text in place of that of the file cause an error.
func (s *source) failsUpTo(text string, line int) bool {
	starts, _ := lineStarts(text, lineBreakOfYAML)
	return failsAlike(&source{text: text, starts: starts}, "", line)
}

// unquoted finds a text inside { } or [ ] that is ended too early by one of the characters { [ ?,
// as in {path: /search?q=x}. It searches from the line on, or from the line before it on which the
// brackets begin.
func (s *source) unquoted(line int) (offset int, what string) {
	for line > 1 && strings.HasSuffix(strings.TrimRight(s.lineText(line-1), " \t"), "{") {
		line--
	}
	begin := s.starts[line-1]
	text := hiddenText.ReplaceAllStringFunc(s.text[begin:], blanked)
	at := endedText.FindStringSubmatchIndex(text)
	if at == nil {
		return 0, ""
	}
	return begin + at[2], fmt.Sprintf("a %s ends this text: inside { } and [ ], a text that holds one of %s is written in quotes", text[at[4]:at[5]], flowSpecial)
}
