package language

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// ExpressionPath returns the most specific path that matches all paths that a regular expression
// over whole paths matches. condition expresses the remaining restrictions; "" if there are none.
func ExpressionPath(expression string) (p Path, condition string, err error) {
	expression = strings.TrimSuffix(strings.TrimPrefix(Expression(expression), "^"), "$")
	whole, err := Matches("path", expression, true)
	if err != nil {
		return nil, "", err
	}
	described := true
	for i, part := range splitTop(expression, '/') {
		text, literal := literalOf(part)
		switch {
		case i == 0 && part == "":
		case i == 0 || strings.HasPrefix(part, "?") && part != "?" || strings.HasPrefix(part, "*") || strings.HasPrefix(part, "+") || strings.HasPrefix(part, "{"):
			return append(p, Segment{Rest, "rest"}), whole, nil
		case part == "?" || part == "":
			return p, whole, nil // nothing follows in splitTop, or an empty segment
		case literal:
			p = append(p, Segment{Literal, text})
		case !CanMatch(part, '/') && !MatchesEmpty(part): // every match is one segment
			described = described && part == "[^/]+"
			p = append(p, Segment{Param, "p" + strconv.Itoa(len(p)+1)})
		default:
			return append(p, Segment{Rest, "rest"}), whole, nil
		}
	}
	if described {
		whole = ""
	}
	return p, whole, nil
}

// splitTop splits an expression at an unescaped character outside groups and classes. An expression
// with alternatives outside groups is one part.
func splitTop(expression string, at byte) []string {
	var parts []string
	from := 0
	outside(expression, func(i int) bool {
		switch expression[i] {
		case '|':
			parts, from = nil, 0
			return false
		case at:
			parts = append(parts, expression[from:i])
			from = i + 1
		}
		return true
	})
	return append(parts, expression[from:])
}

// outside calls visit with the index of each element of an expression outside groups and classes,
// such as a character or the backslash of an escape, until it returns false.
func outside(expression string, visit func(i int) bool) {
	depth, class := 0, false
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case class && c != '\\':
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && !class && !visit(i):
			return
		}
		if expression[i] == '\\' {
			i++
		}
	}
}

// literalOf returns the only text that an expression matches. ok is false if it matches others, or
// if the text has a slash, a percent sign or a character that clients encode.
func literalOf(part string) (text string, ok bool) {
	re, err := syntax.Parse(part, syntax.Perl)
	if err != nil || re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 {
		return "", false
	}
	text = string(re.Rune)
	return text, !strings.ContainsAny(text, "%/") && !strings.ContainsFunc(text, PercentEncoded)
}

// MatchesEmpty reports whether a valid expression matches an empty text as a whole.
func MatchesEmpty(expression string) bool {
	re, err := regexp.Compile("^(?:" + Expression(expression) + ")$")
	return err == nil && re.MatchString("")
}

// CanMatch reports whether a text that an expression matches may contain a character. It reports
// true for an invalid expression.
func CanMatch(expression string, r rune) bool {
	re, err := syntax.Parse(expression, syntax.Perl)
	return err != nil || canMatch(re, r)
}

func canMatch(re *syntax.Regexp, r rune) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return strings.ContainsRune(string(re.Rune), r)
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= r && r <= re.Rune[i+1] {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return canMatch(sub, r) })
}

// optionalQuery matches the endings by which expressions say that a query may follow.
var optionalQuery = regexp.MustCompile(`(\(\?:|\()\\\?\.[*+]\)\?\$?$|\\\?\?\.\*\$?$`)

// ExpressionURL returns the path and the condition of a regular expression over paths with their
// queries. narrower says why they may match fewer requests; "" if they match the same requests.
func ExpressionURL(expression string) (p Path, condition, narrower string, err error) {
	expression = strings.TrimSuffix(strings.TrimPrefix(Expression(expression), "^"), "$")
	if _, err := regexp.Compile(expression); err != nil {
		return nil, "", "", fmt.Errorf("the regular expression %q cannot be expressed in RE2", expression)
	}
	if at := optionalQuery.FindStringIndex(expression); at != nil {
		expression = expression[:at[0]]
		p, condition, err = ExpressionPath(expression)
	} else if before, after, ok := cutQuery(expression); ok {
		expression = before
		query, e := Matches("query-string", after, true)
		if p, condition, err = ExpressionPath(before); e != nil {
			err = e
		}
		condition = And(condition, query)
	} else {
		p, condition, err = ExpressionPath(expression)
		if strings.HasSuffix(expression, ".*") {
			expression = strings.TrimSuffix(expression, ".*")
		} else {
			condition = And(condition, Query(""))
		}
	}
	if CanMatch(expression, '?') {
		narrower = "the expression may match parts of a query, but only the path is compared"
	}
	return p, condition, narrower, err
}

// cutQuery cuts an expression at an escaped question mark outside groups and classes. ok is false
// if there is none, if it is repeated or optional, or if the expression has alternatives outside
// groups.
func cutQuery(expression string) (before, after string, ok bool) {
	alternatives := false
	outside(expression, func(i int) bool {
		if !ok && strings.HasPrefix(expression[i:], `\?`) {
			before, after, ok = expression[:i], expression[i+2:], true
		}
		alternatives = alternatives || expression[i] == '|'
		return true
	})
	repeated := after != "" && strings.IndexByte("?*+{", after[0]) >= 0
	return before, after, ok && !alternatives && !repeated
}
