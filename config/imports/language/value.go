package language

import (
	"regexp"
	"strconv"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

// Get returns a member of a map; with several keys, the value at that path. It returns nil if there is
// none, or if it is null.
func Get(n *syntax.Node, path ...string) *syntax.Node {
	if v := n.Get(path...); v != nil && v.Kind != syntax.NullNode {
		return v
	}
	return nil
}

// Text returns a scalar as a text; "" for anything else.
func Text(n *syntax.Node) string {
	if n == nil || n.Kind == syntax.ListNode || n.Kind == syntax.MapNode {
		return ""
	}
	return n.Text.Value
}

// IsTrue reports whether a node is true, or the text "true".
func IsTrue(n *syntax.Node) bool { return n != nil && strings.EqualFold(n.Text.Value, "true") }

// JSON returns the JSON text of a node. A number that JSON does not have becomes null.
func JSON(n *syntax.Node) string {
	return n.JSON(true, func(*syntax.Node, string) {}).Value
}

// WholeList is the maximum number of rows in a list that is not split into pages.
const WholeList = item.MaxList

// Scalars returns the members by which rows can be filtered and ordered, a.b for nested ones, in the
// order of the file.
func Scalars(list *syntax.Node) []string {
	var names []string
	seen := map[string]bool{}
	var walk func(row *syntax.Node, before string, depth int)
	walk = func(row *syntax.Node, before string, depth int) {
		for _, e := range row.Entries {
			name := e.Key.Text.Value
			if name == "" || name != Name(name) {
				continue
			}
			switch name = before + name; {
			case e.Value.Kind == syntax.MapNode && depth < 2:
				walk(e.Value, name+".", depth+1)
			case e.Value.Kind != syntax.MapNode && e.Value.Kind != syntax.ListNode && !seen[name]:
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	for _, row := range list.Items {
		walk(row, "", 0)
	}
	return names
}

// Unique returns a name that is not among others, and adds it to them: base, or base with a number.
func Unique(base string, others map[string]bool) string {
	name := base
	for n := 2; others[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	others[name] = true
	return name
}

// singulars are the rules of json-server for the singular of a name; the first that applies counts.
var singulars = []struct {
	plural *regexp.Regexp
	with   string
}{
	{regexp.MustCompile(`(?i)(pe)ople$`), "${1}rson"}, {regexp.MustCompile(`(?i)(child)ren$`), "$1"}, {regexp.MustCompile(`(?i)(m)en$`), "${1}an"},
	{regexp.MustCompile(`(?i)(movie|cookie|e[mn]u)s$`), "$1"}, {regexp.MustCompile(`(?i)ies$`), "y"},
	{regexp.MustCompile(`(?i)(x|ch|ss|sh|zz|alias|[^aou]us|gas|(?:her|at|gr)o)(?:es)?$`), "$1"}, {regexp.MustCompile(`(?i)s$`), ""},
}

// Singular returns the singular of a plural word.
func Singular(name string) string {
	for _, rule := range singulars {
		if rule.plural.MatchString(name) {
			return rule.plural.ReplaceAllString(name, rule.with)
		}
	}
	return name
}
