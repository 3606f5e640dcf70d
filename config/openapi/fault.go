package openapi

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// fault is a kind of error that does not prevent a document from being served.
type fault struct {
	kind string // describes all warnings of this kind, in the plural
	done string // says how one such fault was handled
}

// The kinds of faults.
var (
	brokenReference = fault{"references do not resolve, and what they refer to is left out", "what it refers to is left out, so a schema accepts anything"}
	strayReference  = fault{"references are where OpenAPI has none, and are followed", "it is followed"}
	badFile         = fault{"referenced files cannot be read", "what it refers to is left out"}
	badValue        = fault{"values have the wrong type for their place, and are left out", "it is left out"}
	endless         = fault{"schemas contain themselves, and the parts that lead back are left out", "the part that leads back is left out"}
	badServer       = fault{"servers have no usable URL", "paths are served without a base"}

	noSlash       = fault{"paths do not begin with /, which is added", "a / is added"}
	badBrace      = fault{"paths have braces that are not parameters", "the path is taken literally"}
	unnamed       = fault{"path parameters have no name", "it is named after its position"}
	namedTwice    = fault{"path parameters have the name of another", "a number is added to the second name"}
	queryInPath   = fault{"paths contain a query, whose parameters are taken as query parameters", "the path ends there, and what follows are query parameters"}
	undeclared    = fault{"path parameters are not declared, and accept any text", "any text is accepted"}
	notInPath     = fault{"path parameters are not in their path, and are left out", "it is left out"}
	sameOperation = fault{"paths are of the same shape as others, and are not reached", "the first one answers, and this one is not reached"}
	sameShape     = fault{"paths are of the same shape as others, and are told apart by their methods", "they have no method in common"}
	sameID        = fault{"operationIds are given twice", "this operation is served without one"}

	badParameter    = fault{"parameters have no usable name or place, and are left out", "it is left out"}
	missingText     = fault{"texts that serve only as documentation are missing", "nothing that is served depends on it"}
	emptyExample    = fault{"examples have no value, and are left out", "it is left out"}
	unknownType     = fault{"schemas have unknown types", "it is ignored"}
	missingResponse = fault{"operations declare no responses, and answer 200 without a body", "the answer is 200, without a body"}
	otherRule       = fault{"rules of OpenAPI that serving does not depend on are broken", "it is served unchanged"}
)

// served returns a problem of this kind as it is reported: a warning that says how the fault was
// handled, or an error when the document is read strictly.
func (f fault) served(p problem, strict bool) problem {
	if !strict && !p.Warning {
		p.Warning, p.Kind, p.What = true, f.kind, p.What+"; "+f.done
	}
	return p
}

// usable removes what cannot be served: unknown types, and parameters without a name or a valid
// location. They have been reported.
func (d *decoding) usable(doc *openapi3.T) {
	for _, s := range d.schemas {
		if s.Type == nil {
			continue
		}
		*s.Type = slices.DeleteFunc(*s.Type, func(name string) bool { return !isType(name) })
		if len(*s.Type) == 0 {
			s.Type = nil
		}
	}
	for _, item := range doc.Paths.Map() {
		item.Parameters = named(item.Parameters)
		for _, op := range item.Operations() {
			op.Parameters = named(op.Parameters)
		}
	}
}

// isType reports whether schemas have a type of that name.
func isType(name string) bool {
	return slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object", "null"}, name)
}

// named returns the parameters that have a name and a valid location.
func named(list openapi3.Parameters) openapi3.Parameters {
	return slices.DeleteFunc(list, func(ref *openapi3.ParameterRef) bool {
		return ref.Value == nil || ref.Value.Name == "" || !isLocation(ref.Value.In)
	})
}

// isLocation reports whether parameters may be at a location.
func isLocation(in string) bool {
	return slices.Contains([]string{"path", "query", "header", "cookie"}, in)
}
