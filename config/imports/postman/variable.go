package postman

import (
	"cmp"
	"maps"
	"regexp"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// vars are the values of variables by name. Variables of the command line and of the environment
// take precedence over variables of folders, and these over variables of the collection.
type vars struct {
	fixed  map[string]string
	scoped map[string]string
}

// variables returns the variables of a collection, of the environment file and of the command line.
func variables(root *syntax.Node, opts draft.Options) (vars, error) {
	v := vars{fixed: map[string]string{}}
	if opts.EnvFile != "" {
		s, err := draft.OpenSource(opts.EnvFile)
		if err != nil {
			return v, syntax.Problems{{Pos: syntax.Pos{File: opts.EnvFile}, What: err.Error()}}
		}
		env, err := s.Nodes()
		if err != nil {
			return v, err
		}
		values := get(env, "values")
		if values == nil || values.Kind != syntax.ListNode {
			return v, s.ProblemAt(env, "has no list of values; expected an environment of Postman")
		}
		maps.Copy(v.fixed, named(values))
	}
	maps.Copy(v.fixed, opts.Variables)
	return v.with(get(root, "variable")), nil
}

// with returns the variables together with those of a collection, folder or item.
func (v vars) with(list *syntax.Node) vars {
	if list == nil {
		return v
	}
	scoped := map[string]string{}
	maps.Copy(scoped, v.scoped)
	maps.Copy(scoped, named(list))
	return vars{v.fixed, scoped}
}

// named returns the values of a list of variables.
func named(list *syntax.Node) map[string]string {
	all := map[string]string{}
	for _, n := range list.Items {
		name := cmp.Or(text(get(n, "key")), text(get(n, "id")))
		if value := get(n, "value"); name != "" && value != nil && !off(n) {
			all[name] = text(value)
		}
	}
	return all
}

// off reports whether a parameter, header or variable is switched off.
func off(n *syntax.Node) bool {
	enabled := get(n, "enabled")
	return language.IsTrue(get(n, "disabled")) || enabled != nil && enabled.Kind == syntax.BoolNode && !enabled.Truth()
}

var reference = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// maxNesting limits how deeply values refer to other variables, and maxValue limits how many bytes
// the values of each level add to a text.
const (
	maxNesting = 10
	maxValue   = 1 << 20
)

// fill replaces the variables that have a value.
func (v vars) fill(s string) string {
	for range maxNesting {
		size := len(s)
		filled := reference.ReplaceAllStringFunc(s, func(ref string) string {
			name := strings.TrimSpace(ref[2 : len(ref)-2])
			value, ok := v.fixed[name]
			if !ok {
				value, ok = v.scoped[name]
			}
			if !ok || size+len(value) > maxValue+len(s) {
				return ref
			}
			size += len(value)
			return value
		})
		if filled == s {
			return s
		}
		s = filled
	}
	return s
}

// template returns a text of an answer as a template: dynamic variables become placeholders.
// unknown is the first dynamic variable that has no equivalent; such variables stay unchanged.
func (v vars) template(s string) (t *language.Template, unknown string) {
	t, s = &language.Template{}, v.fill(s)
	at := 0
	for _, ref := range reference.FindAllStringIndex(s, -1) {
		name := strings.TrimSpace(s[ref[0]+2 : ref[1]-2])
		expression := language.ExpressionFor("postman", name)
		if expression == "" {
			if strings.HasPrefix(name, "$") && unknown == "" {
				unknown = name
			}
			continue
		}
		t.Text(s[at:ref[0]])
		t.Value(expression)
		at = ref[1]
	}
	t.Text(s[at:])
	return t, unknown
}
