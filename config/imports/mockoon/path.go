package mockoon

import (
	"fmt"
	"regexp"
	"strings"

	"mockserver/config/imports/language"
)

var (
	parameter  = regexp.MustCompile(`^:([A-Za-z0-9_]+)(\([^()]+\))?(\?)?$`)
	wildcard   = regexp.MustCompile(`^(?:\*[A-Za-z0-9_]*|\(\.\*\)|\{\*[A-Za-z0-9_]+\})$`)
	plainChars = regexp.MustCompile(`^[^:*?+()\[\]{}|^$\\]*$`)
	expression = regexp.MustCompile(`:?\w*\([^()]*\)`)
)

// optional reports whether a name is that of the optional parameter that a path lacks.
func (e *endpoint) optional(name string) bool {
	return !e.own.Has(name) && e.full.Has(name)
}

// routePaths returns the paths of a route of Express: two if its last parameter is optional. needs
// are the conditions that the paths do not express, such as the regular expressions of parameters.
func routePaths(endpoint string) (paths []language.Path, needs []string, err error) {
	var p language.Path
	parts := language.Parts(endpoint)
	for i, part := range parts {
		last := i == len(parts)-1
		m := parameter.FindStringSubmatch(part)
		switch {
		case part == "": // several slashes count as one
		case m != nil && p.Has(m[1]), m != nil && m[3] != "" && !last, wildcard.MatchString(part) && !last:
			return nil, nil, fmt.Errorf("the segment %q cannot be expressed", part)
		case wildcard.MatchString(part):
			needs = append(needs, "path matches "+language.Quote(fmt.Sprintf("^(?:/+[^/]+){%d}/+[^/]", len(p)))) // not empty
			p = append(p, language.Segment{Kind: language.Rest, Text: "rest"})
		case m != nil:
			if m[3] != "" {
				paths = append(paths, p)
			}
			if m[2] != "" {
				condition, err := language.Matches(language.Member("path-params", m[1]), strings.Trim(m[2], "()"), true)
				if err != nil || m[3] != "" {
					return nil, nil, fmt.Errorf("the segment %q cannot be expressed", part)
				}
				needs = append(needs, condition)
			}
			p = append(p[:len(p):len(p)], language.Segment{Kind: language.Param, Text: m[1]})
		case strings.Contains(part, "!"):
			return nil, nil, fmt.Errorf("the ! of the segment %q matches no request in Mockoon", part)
		case !plainChars.MatchString(part):
			return nil, nil, fmt.Errorf("the segment %q cannot be expressed", part)
		case strings.ContainsFunc(strings.ReplaceAll(part, " ", ""), language.PercentEncoded):
			return nil, nil, fmt.Errorf("the segment %q matches no request: clients send some of its characters percent-encoded", part)
		default:
			p = append(p, language.Segment{Text: language.Decoded(part)})
		}
	}
	return append([]language.Path{p}, paths...), needs, nil
}
