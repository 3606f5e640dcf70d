package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/tree"
	"mockserver/internal/wording"
)

// plainTemplate is a path with the names of its parameters alone in their braces: some
// write their style there too, {.id} or {;id*}, as RFC 6570 has it. names are those
// names; what says why the path is none, "" for nothing.
func plainTemplate(path string) (plain string, names []string, what string) {
	var b strings.Builder
	for rest := path; ; {
		literal, behind, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return "", nil, "a } has no { in front of it"
		}
		b.WriteString(literal)
		if !found {
			return b.String(), names, ""
		}
		name, after, closed := strings.Cut(behind, "}")
		if !closed || strings.ContainsAny(name, "{/") {
			return "", nil, "a { has no } behind it in its segment"
		}
		name = strings.TrimSuffix(strings.TrimLeft(name, ".;"), "*")
		switch {
		case name == "":
			return "", nil, "a parameter has no name"
		case slices.Contains(names, name):
			return "", nil, fmt.Sprintf("the parameter %q is there twice", wording.Clip(name))
		}
		names = append(names, name)
		b.WriteString("{" + name + "}")
		rest = after
	}
}

// shapeOf is a path without the names of its parameters: paths of one shape cannot be
// told apart.
func shapeOf(plain string, names []string) string {
	for _, name := range names {
		plain = strings.Replace(plain, "{"+name+"}", "{}", 1)
	}
	return plain
}

// methodsOf are the keys of a path item that are operations, as a set.
var methodsOf = map[string]bool{
	"get": true, "put": true, "post": true, "delete": true, "options": true, "head": true, "patch": true, "trace": true,
	"connect": true, "query": true,
}

// rules reports what the library tells of one place only, or without it: paths and their
// parameters, and operations of the same name.
func (d *decoding) rules(doc *openapi3.T, root *tree.Node) {
	shapes := map[string]*tree.Entry{}
	ids := map[string]*tree.Node{}
	paths := root.Get("paths")
	if paths == nil {
		return
	}
	for i := range paths.Entries {
		e := &paths.Entries[i]
		item := doc.Paths.Value(e.Key)
		if strings.HasPrefix(e.Key, "x-") || item == nil {
			continue
		}
		for _, method := range e.Value.Entries {
			if id := method.Value.Get("operationId"); methodsOf[method.Key] && id != nil {
				d.uniqueID(id, ids)
			}
		}
		if !strings.HasPrefix(e.Key, "/") {
			d.atKey(paths, e, "the path %q does not begin with /", wording.Clip(e.Key))
			continue
		}
		plain, names, what := plainTemplate(e.Key)
		if what != "" {
			d.atKey(paths, e, "the path %q: %s", wording.Clip(e.Key), what)
			continue
		}
		shape := shapeOf(plain, names)
		if first := shapes[shape]; first != nil {
			d.atKey(paths, e, "the path is of the same shape as %s on line %d: no request tells them apart", wording.Clip(first.Key), first.Line)
			continue
		}
		shapes[shape] = e
		d.pathParameters(item, e.Value, names)
	}
}

// atKey reports a mistake at a key of a map.
func (d *decoding) atKey(n *tree.Node, e *tree.Entry, format string, args ...any) {
	d.problems = append(d.problems, entryProblem(n, e, fmt.Sprintf(format, args...)))
}

func (d *decoding) uniqueID(id *tree.Node, ids map[string]*tree.Node) {
	first := ids[id.Text]
	if first == nil {
		ids[id.Text] = id
		return
	}
	d.wrong(id, "the operationId %q is already given at %s:%d; each operation has its own", wording.Clip(id.Text), first.File, first.Line)
}

// pathParameters compares the parameters in a path with those that its operations declare.
func (d *decoding) pathParameters(item *openapi3.PathItem, n *tree.Node, names []string) {
	for _, method := range n.Entries {
		op := operationOf(item, method.Key)
		if op == nil {
			continue
		}
		declared := map[string]*openapi3.Parameter{}
		for _, list := range []openapi3.Parameters{item.Parameters, op.Parameters} {
			for _, ref := range list {
				if p := ref.Value; p != nil && p.In == openapi3.ParameterInPath {
					declared[p.Name] = p
				}
			}
		}
		for _, name := range names {
			if declared[name] == nil {
				d.atKey(n, &method, "the path parameter %q is not declared: an entry of parameters with name: %s and in: path is missing", wording.Clip(name), wording.Clip(name))
			}
			delete(declared, name)
		}
		for _, name := range jsonvalue.SortedNames(declared) {
			d.problems = append(d.problems, originProblem(declared[name].Origin,
				fmt.Sprintf("the path parameter %q is not in the path of %s", wording.Clip(name), strings.ToUpper(method.Key))))
		}
	}
}

// operationOf is the operation of a key of a path item; nil when it is none.
func operationOf(item *openapi3.PathItem, key string) *openapi3.Operation {
	if !methodsOf[key] {
		return nil
	}
	return item.GetOperation(strings.ToUpper(key))
}
