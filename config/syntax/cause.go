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
	// openedQuote is a quote with which a value begins, or a comment.
	openedQuote = regexp.MustCompile(`(?m:(?:^|\s)#.*$)|(?:^|[:,-]\s+|[\[{])\s*(["'])`)
	// quotedText is a text in quotes.
	quotedText = regexp.MustCompile(`^(?:"(?s:\\.|[^"\\])*"|'(?:''|[^'])*')`)
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
	until := append(s.starts, len(s.text))[line]
	if begin, end := s.unclosedQuote(openedQuote, until); begin >= 0 && (end < len(s.text) || strings.Contains(words, "unexpected end")) {
		return begin, quoteSentence + " on its line: the text that begins here continues below"
	}
	if strings.Contains(words, "did not find expected ',' or") {
		return s.unquoted(line)
	}
	return 0, ""
}

func blanked(s string) string { return strings.Repeat(" ", len(s)) }

// unclosedQuote returns where a text in quotes begins that ends where the next one begins, so that more text follows its
// end, and that end, or the end of the file if it never ends; -1 if there is none up to an offset. opened matches a quote
// with which a text may begin, its submatch, and what hides quotes.
func (s *source) unclosedQuote(opened *regexp.Regexp, until int) (begin, end int) {
	for at := 0; at < until; {
		next := opened.FindStringSubmatchIndex(s.text[at:until])
		if next == nil {
			break
		}
		if begin = at + next[2]; next[2] < 0 {
			at += next[1]
			continue
		}
		end = begin + len(quotedText.FindString(s.text[begin:])) - 1
		if end < begin {
			return begin, len(s.text)
		}
		if at = end + 1; at < len(s.text) && strings.IndexByte(" \t\r\n,:;}])#", s.text[at]) < 0 {
			return begin, end
		}
	}
	return -1, 0
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
