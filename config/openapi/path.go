package openapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// pathForm is a path of a document in the form used to match requests.
type pathForm struct {
	// plain has only the parameter names in its braces. Some documents also write a style of RFC
	// 6570 there: {.id} or {;id*}.
	plain string
	names []string
	query []queryPair // from a query in the path
	wrong []pathFault
}

// queryPair is one part of a query in a path: "a={b}", "a=1", or a parameter name from {?a}.
type queryPair struct{ key, parameter, value string }

type pathFault struct {
	what string
	fault
}

// readPath parses any path. It returns what is wrong with the path as part of the result.
func readPath(path string) pathForm {
	var f pathForm
	if !strings.HasPrefix(path, "/") {
		f.wrong = append(f.wrong, pathFault{" does not begin with /", noSlash})
		path = "/" + path
	}
	if i := strings.IndexByte(path, '?'); i >= 0 {
		at := i
		if path[i-1] == '{' {
			at--
		} else {
			f.wrong = append(f.wrong, pathFault{" contains a query", queryInPath})
		}
		f.query = pairsOf(path[at:])
		path = path[:at]
	}
	var b strings.Builder
	for rest := path; ; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			f.wrong = append(f.wrong, pathFault{": a } has no { before it", badBrace})
			f.plain = path
			return f
		}
		b.WriteString(literal)
		if !found {
			f.plain = b.String()
			return f
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed || strings.ContainsAny(name, "{/") {
			f.wrong = append(f.wrong, pathFault{": a { has no matching } in its segment", badBrace})
			f.plain = path
			return f
		}
		b.WriteString("{" + f.name(strings.TrimSuffix(strings.TrimLeft(name, ".;"), "*")) + "}")
		rest = after
	}
}

// name adds a parameter and returns a unique name for it.
func (f *pathForm) name(given string) string {
	name := strings.TrimSpace(given)
	if name == "" {
		name = "parameter" + strconv.Itoa(len(f.names)+1)
		f.wrong = append(f.wrong, pathFault{": a parameter has no name", unnamed})
	}
	for i, first := 2, name; slices.Contains(f.names, name); i++ {
		if i == 2 {
			f.wrong = append(f.wrong, pathFault{fmt.Sprintf(": the parameter %q occurs twice", wording.Clip(name)), namedTwice})
		}
		name = first + "_" + strconv.Itoa(i)
	}
	f.names = append(f.names, name)
	return name
}

// pairsOf parses the query in a path: "?a={b}&c=1", or "{?a,b}" of RFC 6570.
func pairsOf(text string) []queryPair {
	var all []queryPair
	for text != "" {
		if form, rest, ok := strings.Cut(text, "}"); ok && (strings.HasPrefix(form, "{?") || strings.HasPrefix(form, "{&")) {
			for name := range strings.SplitSeq(form[2:], ",") {
				name = strings.TrimSuffix(name, "*")
				all = append(all, queryPair{key: name, parameter: name})
			}
			text = rest
			continue
		}
		pair := strings.TrimLeft(text, "?&")
		text = ""
		if i := strings.IndexByte(pair, '&'); i >= 0 {
			pair, text = pair[:i], pair[i:]
		}
		if key, value, _ := strings.Cut(pair, "="); strings.HasPrefix(value, "{") {
			all = append(all, queryPair{key: key, parameter: strings.Trim(value, "{}")})
		} else if key != "" {
			all = append(all, queryPair{key: key, value: value})
		}
	}
	return all
}

// methodsOf is the set of those keys of a path item that are operations.
var methodsOf = map[string]bool{
	"get": true, "put": true, "post": true, "delete": true, "options": true, "head": true, "patch": true, "trace": true,
	"connect": true, "query": true,
}

// rules reports problems that the library reports for one place only, or without a position: faults
// in paths and their parameters, and duplicate operation IDs. It also adapts the declared
// parameters to the paths, and fills d.twins.
func (d *decoding) rules(doc *openapi3.T, root *syntax.Node) {
	shapes := shapes{d: d, first: map[string]*syntax.Entry{}, open: map[string]*twin{}}
	ids := map[string]*syntax.Node{}
	paths := root.Get("paths")
	if paths == nil {
		return
	}
	for i := range paths.Entries {
		e := &paths.Entries[i]
		item := doc.Paths.Value(e.Name())
		if strings.HasPrefix(e.Name(), "x-") || item == nil {
			continue
		}
		for _, method := range e.Value.Entries {
			if id := method.Value.Get("operationId"); methodsOf[method.Name()] && id != nil {
				d.uniqueID(id, ids, operationOf(item, method.Name()))
			}
		}
		form := readPath(e.Name())
		for _, wrong := range form.wrong {
			d.atKey(e, wrong.fault, "the path %q%s", wording.Clip(e.Name()), wrong.what)
		}
		if len(form.wrong) > 0 && d.strict {
			continue
		}
		d.pathParameters(item, e.Value, &form)
		shapes.add(e, item, &form)
	}
}

// atKey reports a fault at the key of an entry.
func (d *decoding) atKey(e *syntax.Entry, f fault, format string, args ...any) {
	d.report(entryProblem(e, fmt.Sprintf(format, args...)), f)
}

func (d *decoding) uniqueID(id *syntax.Node, ids map[string]*syntax.Node, op *openapi3.Operation) {
	first := ids[id.Scalar()]
	if first == nil {
		ids[id.Scalar()] = id
		return
	}
	d.fault(id, sameID, "the operationId %q is already given at %s:%d; expected a unique operationId", wording.Clip(id.Scalar()), first.Pos().File, first.Pos().Line)
	op.OperationID = ""
}

// pathParameters compares the parameters in a path with those that its operations declare. It
// reports parameters that are not declared, and reports and removes those that are not in the path.
func (d *decoding) pathParameters(item *openapi3.PathItem, n *syntax.Node, form *pathForm) {
	item.Parameters = form.settled(item.Parameters)
	for _, method := range n.Entries {
		op := operationOf(item, method.Name())
		if op == nil {
			continue
		}
		op.Parameters = form.settled(op.Parameters)
		declared := map[string]*openapi3.Parameter{}
		for _, list := range []openapi3.Parameters{item.Parameters, op.Parameters} {
			for _, ref := range list {
				if p := ref.Value; p != nil && p.In == openapi3.ParameterInPath {
					declared[p.Name] = p
				}
			}
		}
		for _, name := range form.names {
			if declared[name] == nil {
				d.atKey(&method, undeclared, "the path parameter %q is not declared: an entry of parameters with name: %s and in: path is missing", wording.Clip(name), wording.Clip(name))
			}
			delete(declared, name)
		}
		for _, name := range jsonvalue.SortedNames(declared) {
			d.report(originProblem(declared[name].Origin,
				fmt.Sprintf("the path parameter %q is not in the path of %s", wording.Clip(name), strings.ToUpper(method.Name()))), notInPath)
		}
		op.Parameters = form.inPath(op.Parameters)
	}
	item.Parameters = form.inPath(item.Parameters)
}

// settled adapts path parameters to their path: it removes the style from their names, and turns
// parameters in the query of the path into query parameters.
func (f *pathForm) settled(list openapi3.Parameters) openapi3.Parameters {
	for i, ref := range list {
		p := ref.Value
		if p == nil || p.In != openapi3.ParameterInPath || slices.Contains(f.names, p.Name) {
			continue
		}
		other := *p
		other.Name = strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(p.Name, ".;"), "*"))
		if at := slices.IndexFunc(f.query, func(q queryPair) bool { return q.parameter == p.Name }); at >= 0 {
			other.Name, other.In, other.Required, other.Style = f.query[at].key, openapi3.ParameterInQuery, false, ""
		} else if !slices.Contains(f.names, other.Name) {
			continue
		}
		list[i] = &openapi3.ParameterRef{Value: &other}
	}
	return list
}

// inPath removes parameters that are declared as path parameters but are not in the path.
func (f *pathForm) inPath(list openapi3.Parameters) openapi3.Parameters {
	return slices.DeleteFunc(list, func(ref *openapi3.ParameterRef) bool {
		return ref.Value != nil && ref.Value.In == openapi3.ParameterInPath && !slices.Contains(f.names, ref.Value.Name)
	})
}

// operationOf returns the operation under a key of a path item; nil when there is none.
func operationOf(item *openapi3.PathItem, key string) *openapi3.Operation {
	if !methodsOf[key] {
		return nil
	}
	return item.GetOperation(strings.ToUpper(key))
}
