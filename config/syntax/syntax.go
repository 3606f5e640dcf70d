package syntax

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// searchedSize is the largest file for which the position of a syntax error is found by reading
// parts of the file again.
const searchedSize = 512 << 10

// yamlMessage matches a message of the YAML library: "yaml: line 3: did not find …".
var yamlMessage = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// flowSpecial are the characters with a meaning inside { } and [ ].
const flowSpecial = "{ } [ ] , : ? #"

// yamlSentences explain the messages of the library. The first whose words are contained in a
// message is used.
var yamlSentences = []struct{ words, sentence string }{
	{"did not find expected key", "this line fits no map above it: its indentation differs from the keys before, or a \":\" is missing"},
	{"did not find expected '-' indicator", "this line fits no list above it: an item begins with \"- \" at the indentation of the items before"},
	{"did not find expected ',' or ']'", "a [ is never closed: a comma or a ] is missing, or a text inside that holds one of " + flowSpecial + " is not in quotes"},
	{"did not find expected ',' or '}'", "a { is never closed: a comma or a } is missing, or a text inside that holds one of " + flowSpecial + " is not in quotes"},
	{"did not find expected node content", "a value is missing here"},
	{"did not find expected <document start>", "the document ends before this line: another one begins with ---"},
	{"could not find expected ':'", "a key without a \":\" after it, or a line that is indented too little for the text above"},
	{"mapping values are not allowed", "a \":\" where no key is allowed: a text that holds \": \" is written in quotes, keys of one map have the same indentation, and a blank follows the \":\" of the key before"},
	{"mapping keys are not allowed", "a key where none is allowed: the keys of one map have the same indentation"},
	{"block sequence entries are not allowed", "a \"- \" where no list can begin: put it on a line of its own"},
	{"found character that cannot start any token", "a value cannot begin with this character: @, ` and % are written in quotes, and lines are indented with spaces, not tabs"},
	{"found a tab character", tabSentence},
	{"found unexpected end of stream", quoteSentence},
	{"found unexpected document indicator", "a quote is not closed before the document ends"},
	{"found unknown escape character", "an unknown \\ escape in double quotes: \\\\ is a backslash, and single quotes take it as it is"},
	{"found invalid Unicode character escape code", "a \\u escape that is not a character by itself: in YAML, a character beyond \\uFFFF is written \\U0001F600, and single quotes take JSON's escapes as they are"},
	{"did not find expected hexdecimal number", "an escape \\x, \\u or \\U in double quotes has too few hexadecimal digits"},
	{"unknown anchor", "an alias without an anchor: &name must come before *name"},
	{"exceeded max depth", "values are nested more than " + strconv.Itoa(MaxDepth) + " deep"},
	{"found undefined tag handle", "an unknown tag: a text that begins with ! is written in quotes"},
	{"did not find expected alphabetic or numeric character", "an & or * without a name: a text that begins with one is written in quotes"},
}

// yamlProblem converts an error of the YAML library to a problem with a position.
func yamlProblem(src *source, err error) Problem {
	message := err.Error()
	found := yamlMessage.FindStringSubmatch(message)
	words := message[len(found[0]):]
	line, _ := strconv.Atoi(found[1]) // 0 if the library does not know it
	line = errorLine(src, words, min(max(line, 1), len(src.starts)))
	if offset, what := src.cause(words, line); what != "" {
		return Problem{Pos: src.pos(offset), What: what}
	}
	what := "the YAML cannot be read: " + words
	for _, s := range yamlSentences {
		if strings.Contains(words, s.words) {
			what = s.sentence
			break
		}
	}
	text := src.lineText(line)
	blanks := len(text) - len(strings.TrimLeft(text, " \t"))
	return Problem{Pos: Pos{File: src.file, Line: line, Column: blanks + 1}, What: what}
}

// errorLine finds the line that causes a syntax error: the last line of the shortest beginning of
// the file with the same error. The library names the line where the surrounding map or list begins
// instead, or none.
func errorLine(src *source, words string, hint int) int {
	if len(src.text) > searchedSize {
		return hint
	}
	last := len(src.starts)
	low, high, stride := 0, hint, 1 // no error up to low; an error up to high
	for !failsAlike(src, words, high) {
		if high == last {
			return hint
		}
		low, high, stride = high, min(high+stride, last), stride*2
	}
	for high-low > 1 {
		if middle := (low + high) / 2; failsAlike(src, words, middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// failsAlike reports whether the first lines of a file alone cause an error whose message ends with
// words, or any error for "".
func failsAlike(src *source, words string, lines int) bool {
	text := src.text
	if lines < len(src.starts) {
		text = text[:src.starts[lines]]
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		err := decodeYAML(decoder, &doc)
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			return words == "" || strings.HasSuffix(err.Error(), words)
		}
	}
}
