package matcher

import (
	"regexp"
	"strconv"
	"strings"
)

// bracketed is a parameter as other tools write it: {id}, {id:[0-9]{4}} or <int:id>.
var bracketed = regexp.MustCompile(`\{+((?:[^{}]|\{[^{}]*\})*)\}+|<([^<>]*)>`)

// warnForeign warns of a path that has parameters of other tools in it, which are literal
// text here, and shows how they are written. The path has no query.
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
	const longest = 200 // of a path that is shown as a whole
	if len(path) <= longest {
		instead = strings.Join(segments, "/")
	}
	if first != "" {
		p.report(at, true, "%q is literal text; for a parameter write %q", first, instead)
	}
}

// ourForm is the parameter that a segment of other tools means, ":" for one without a name;
// the segment itself where there is none in it.
func ourForm(segment string, last bool) string {
	m := bracketed.FindStringSubmatch(segment)
	switch {
	case strings.HasPrefix(segment, ":"), m == nil && last && strings.HasPrefix(segment, "*"):
		return segment // ours
	case m == nil && (strings.HasPrefix(segment, "*") || strings.HasSuffix(segment, "*")): // /a/2*3 is meant as it is
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

// nameIn is what of a text may be the name of a parameter.
func nameIn(text string) string {
	return strings.Map(func(c rune) rune {
		if isNameByte(c) {
			return c
		}
		return -1
	}, text)
}
