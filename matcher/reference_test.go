package matcher

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/ascii"
)

// refRoute is an endpoint of the reference matcher: the declared texts, not compiled.
type refRoute struct {
	method, host, path string
	cond               string // "", "query" (the query has q), "first" (the first parameter is 1)
}

// reference implements the specification literally, without optimization: it selects the best of
// all endpoints that match.
type reference []refRoute

var (
	refEscape = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
	refTypes  = map[string]func(string) bool{
		"int":    regexp.MustCompile(`^[+-]?[0-9]+$`).MatchString,
		"float":  regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`).MatchString,
		"bool":   regexp.MustCompile(`^(true|false)$`).MatchString,
		"uuid":   regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`).MatchString,
		"date":   refDate,
		"string": func(string) bool { return true },
	}
)

var refTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?$`)

func refDate(s string) bool {
	day, clock, timed := strings.Cut(s, "T")
	_, err := time.Parse("2006-01-02", day)
	return err == nil && (!timed || refTime.MatchString(clock))
}

func refType(name string) func(string) bool {
	switch name {
	case "double":
		name = "float"
	case "boolean":
		name = "bool"
	}
	return refTypes[name]
}

func refDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s // only to save time in the test
	}
	return refEscape.ReplaceAllStringFunc(s, func(e string) string {
		return string([]byte{ascii.Hex(e[1])<<4 | ascii.Hex(e[2])})
	})
}

func refSegments(path string) []string {
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if path == "/" {
		return nil
	}
	return strings.Split(path[1:], "/")
}

// shape returns the rank of each declared segment in the order of specificity, and the captures. ok
// is false if the path does not fit the route.
func (e refRoute) shape(path string) (rank []int, captures []string, ok bool) {
	got, declared := refSegments(path), refSegments(e.path)
	for i, s := range declared {
		if i == len(declared)-1 && strings.HasPrefix(s, "*") {
			rest := ""
			if i < len(got) {
				rest = strings.Join(got[i:], "/")
			}
			return append(rank, 3), append(captures, refDecode(rest)), true
		}
		if i >= len(got) {
			return nil, nil, false
		}
		value := refDecode(got[i])
		if !strings.HasPrefix(s, ":") {
			if value != refDecode(s) {
				return nil, nil, false
			}
			rank = append(rank, 0)
			continue
		}
		_, typeName, typed := strings.Cut(s, "|")
		if value == "" || typed && !refType(typeName)(value) {
			return nil, nil, false
		}
		class := 2
		if typed && typeName != "string" {
			class = 1
		}
		rank, captures = append(rank, class), append(captures, value)
	}
	return rank, captures, len(got) == len(declared)
}

// hostRank returns 0 for the exact host, a higher rank for a wildcard, which is lower for a longer
// wildcard, and the highest rank for an endpoint without a host. It returns -1 for a different
// host.
func (e refRoute) hostRank(host string) int {
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	host = strings.TrimSuffix(host, ".")
	switch {
	case e.host == "":
		return 1000
	case e.host == host:
		return 0
	case strings.HasPrefix(e.host, "*.") && strings.HasSuffix(host, e.host[1:]) && len(host) > len(e.host)-1:
		return 1000 - len(e.host)
	}
	return -1
}

func (e refRoute) holds(query string, captures []string) bool {
	switch e.cond {
	case "query":
		return query == "q"
	case "first":
		return len(captures) > 0 && captures[0] == "1"
	}
	return true
}

// match returns the endpoint that answers and its captures, or -1.
func (rs reference) match(method, host, target string) (int, []string) {
	path, query, _ := strings.Cut(target, "?")
	best, bestRank := -1, []int(nil)
	var bestCaptures []string
	for i, e := range rs {
		rank, captures, ok := e.shape(path)
		h := e.hostRank(host)
		if !ok || h < 0 || e.method != method || !e.holds(query, captures) {
			continue
		}
		rank = append([]int{h}, rank...)
		if best < 0 || slices.Compare(rank, bestRank) < 0 {
			best, bestRank, bestCaptures = i, rank, captures
		}
	}
	return best, bestCaptures
}

// methods returns the methods declared for a path, regardless of conditions.
func (rs reference) methods(host, target string) []string {
	path, _, _ := strings.Cut(target, "?")
	var out []string
	for _, e := range rs {
		if _, _, ok := e.shape(path); ok && e.hostRank(host) >= 0 && !slices.Contains(out, e.method) {
			out = append(out, e.method)
		}
	}
	slices.Sort(out)
	return out
}

// routes compiles the endpoints as the server does.
func (rs reference) routes() ([]Route, syntax.Problems) {
	var problems syntax.Problems
	routes := make([]Route, len(rs))
	for i, e := range rs {
		text := syntax.Text{Value: e.path}
		p, ps := ParsePattern(text)
		problems = append(problems, ps...)
		routes[i] = Route{
			Endpoint: &item.Endpoint{
				Method: e.method, Host: e.host, Path: text, If: syntax.Text{Value: e.cond},
				Pos: syntax.Pos{File: "f.yml", Line: i + 1},
			},
			Pattern: p,
		}
		switch e.cond {
		case "query":
			routes[i].If = func(r *Request) bool { return string(r.QueryString()) == "q" }
		case "first":
			routes[i].If = func(r *Request) bool { return string(r.Param(0)) == "1" }
		}
	}
	return routes, problems
}
