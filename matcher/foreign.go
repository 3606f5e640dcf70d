package matcher

import (
	"regexp"
	"strconv"
	"strings"
)

// bracketed matches a parameter in the syntax of other tools: {id}, {id:[0-9]{4}} or <int:id>.
var bracketed = regexp.MustCompile(`\{+((?:[^{}]|\{[^{}]*\})*)\}+|<([^<>]*)>`)

// warnForeign warns about a path that contains parameters in the syntax of other tools. They are
// literal text here, so the warning shows the correct syntax. The path must not contain a query.
func (p *patternParser) warnForeign(path string) {
	if !strings.ContainsAny(path, "{<*") {
		return
	}
	segments := strings.Split(path, "/")
	first, instead, at, offset, nameless := "", "", 0, 0, 0
	for i, segment := range segments {
		form := ourForm(segment, i == len(segments)-1)
		if form == ":" {
			nameless++
			form += "any" + strings.TrimPrefix(strconv.Itoa(nameless), "1")
		}
		if form != segment && first == "" {
			first, instead, at = segment, form, offset
		}
		segments[i] = form
		offset += len(segment) + 1
	}
	const longest = 200 // maximum length of a path that is shown completely
	if len(path) <= longest {
		instead = strings.Join(segments, "/")
	}
	if first != "" {
		p.report(at, true, "%q is literal text; for a parameter write %q", first, instead)
	}
}

// ourForm converts a segment with a parameter in the syntax of other tools to the syntax of this
// package, ":" if the parameter has no name. It returns the segment itself if it contains no such
// parameter.
func ourForm(segment string, last bool) string {
	m := bracketed.FindStringSubmatch(segment)
	switch {
	case strings.HasPrefix(segment, ":"), m == nil && last && strings.HasPrefix(segment, "*"):
		return segment // already in the syntax of this package
	case m == nil && (strings.HasPrefix(segment, "*") || strings.HasSuffix(segment, "*")): // /a/2*3 is meant literally
		return ":" + nameIn(segment)
	case m == nil:
		return segment
	}
	name, kind, _ := strings.Cut(m[1], ":") // {id:int}
	if before, after, ok := strings.Cut(m[2], ":"); ok {
		name, kind = after, before // <int:id>
	} else {
		name += m[2]
	}
	rest := kind == "path" || strings.HasPrefix(name, "*") || strings.HasSuffix(name, "*") || strings.HasSuffix(name, "...")
	name = nameIn(name)
	if typ, ok := typeNames[kind]; ok && typ != anyText && name != "" {
		return ":" + name + "|" + kind
	}
	if rest && last {
		return "*" + name
	}
	return ":" + name
}

// nameIn returns the characters of a text that are allowed in the name of a parameter.
func nameIn(text string) string {
	return strings.Map(func(c rune) rune {
		if isNameByte(c) {
			return c
		}
		return -1
	}, text)
}
