package openapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/syntax"
)

// validate checks the document against the rules of OpenAPI that the library implements.
//
// At each use of a schema, the library checks everything reachable from the schema. For a document
// whose schemas refer to each other, this can take hours. So each schema is checked once, on its
// own, and the rest of the document is checked without its schemas.
func (d *decoding) validate(doc *openapi3.T) {
	options := []openapi3.ValidationOption{
		openapi3.EnableMultiError(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation(),
		openapi3.DisableSchemaPatternValidation(), // patterns are ECMAScript, not Go; generate.Maker reads them
	}
	ctx := context.Background()
	plain := &openapi3.Schema{}
	saved := make([]*openapi3.Schema, len(d.outer))
	for i, ref := range d.outer {
		if ref != nil {
			saved[i], ref.Value = ref.Value, plain
		}
	}
	var named openapi3.Schemas
	if doc.Components != nil {
		named, doc.Components.Schemas = doc.Components.Schemas, identifiers(doc.Components.Schemas, plain)
	}
	d.tell(guarded(func() error { return doc.Validate(ctx, options...) }))
	if doc.Components != nil {
		doc.Components.Schemas = named
	}
	for i, ref := range d.outer {
		if ref != nil {
			ref.Value = saved[i]
		}
	}
	if doc.IsOpenAPI31OrLater() {
		options = append(options, openapi3.IsOpenAPI31OrLater())
	}
	for _, s := range d.schemas {
		alone := alone(s)
		d.tell(guarded(func() error { return alone.Validate(ctx, options...) }))
	}
}

// identifiers returns empty schemas under the same names, so that only the names are checked.
func identifiers(schemas openapi3.Schemas, plain *openapi3.Schema) openapi3.Schemas {
	if schemas == nil {
		return nil
	}
	names := make(openapi3.Schemas, len(schemas))
	for name := range schemas {
		names[name] = &openapi3.SchemaRef{Value: plain}
	}
	return names
}

// alone returns a copy of a schema in which the nested schemas are replaced with empty ones.
func alone(s *openapi3.Schema) *openapi3.Schema {
	c := *s
	plain := &openapi3.SchemaRef{Value: &openapi3.Schema{}}
	for _, list := range []*openapi3.SchemaRefs{&c.OneOf, &c.AnyOf, &c.AllOf, &c.PrefixItems} {
		if len(*list) > 0 {
			*list = openapi3.SchemaRefs{plain}
		}
	}
	for _, one := range []**openapi3.SchemaRef{
		&c.Not, &c.Items, &c.Contains, &c.PropertyNames, &c.If, &c.Then, &c.Else, &c.ContentSchema,
		&c.AdditionalProperties.Schema, &c.UnevaluatedItems.Schema, &c.UnevaluatedProperties.Schema,
	} {
		if *one != nil {
			*one = plain
		}
	}
	for _, names := range []*openapi3.Schemas{&c.Properties, &c.PatternProperties, &c.DependentSchemas, &c.Defs} {
		if len(*names) > 0 {
			*names = openapi3.Schemas{"plain": plain}
		}
	}
	return &c
}

// guarded turns a panic of the library into an error: its cause is a problem of the document.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p}
		}
	}()
	return work()
}

// panicError reports that the library panicked.
type panicError struct{ value any }

func (e *panicError) Error() string {
	return fmt.Sprintf("the document cannot be understood: %v", e.value)
}

// tell records the library's errors as problems, except those that this package checks itself and
// those at objects whose dangling references were removed. It ignores a panic if the document
// already has an error.
func (d *decoding) tell(err error) {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		for _, one := range many {
			d.tell(one)
		}
		return
	}
	var panicked *panicError
	if err == nil || checkedHere(err) || errors.As(err, &panicked) && d.failed() {
		return
	}
	p, kind := d.told(err)
	if !d.emptied[p.Pos] {
		d.report(p, kind)
	}
}

// told converts an error of the library to a problem and its kind.
func (d *decoding) told(err error) (p problem, kind fault) {
	kind = otherRule
	var scope []string
	for e := err; e != nil; e = errors.Unwrap(e) {
		if o := originOf(e); o != nil && o.Key != nil && o.Key.Line > 0 {
			if o.Key.Line != d.first.Line || o.Key.Column != d.first.Column {
				scope = nil // the position is enough
			}
			p.Pos = syntax.Pos{File: o.Key.File, Line: o.Key.Line, Column: o.Key.Column}
		}
		if word := scopeOf(e); word != "" && (p.Pos.Line == 0 || p.Pos.Line == d.first.Line && p.Pos.Column == d.first.Column) {
			scope = append(scope, word)
		}
		if k := kindOf(e); k != otherRule {
			kind = k
		}
		if errors.Unwrap(e) == nil {
			p.What = strings.TrimSpace(e.Error())
		}
	}
	if len(scope) > 0 {
		p.What = strings.Join(scope, ": ") + ": " + p.What
	}
	p.What = plain(p.What)
	return p, kind
}

// plain rewords the library's messages about missing keys to match the other messages.
func plain(what string) string {
	if what == "a short description of the response is required" {
		return "description is missing; expected a text that says what the response means"
	}
	if name, ok := strings.CutSuffix(what, " must be required"); ok && strings.HasPrefix(name, "path parameter ") {
		return "the " + name + " lacks required: true"
	}
	for _, kind := range []string{"an object", "a non-empty string"} {
		if name, ok := strings.CutSuffix(what, " must be "+kind); ok {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "value of "), ":")
			if !strings.ContainsAny(name, ": ") {
				return name + " is missing or empty"
			}
		}
	}
	return what
}

// checkedHere reports whether this package itself reports an error, with a better place or for all
// places at once.
func checkedHere(err error) bool {
	var parameters *openapi3.PathParametersError
	var ids *openapi3.DuplicateOperationIDError
	var paths *openapi3.ConflictingPathsError
	var siblings *openapi3.ExtraSiblingFieldsError
	var refs *openapi3.UnresolvedRefError
	var slash *openapi3.PathMustStartWithSlashError
	if errors.As(err, &slash) {
		return true
	}
	return errors.As(err, &parameters) || errors.As(err, &ids) || errors.As(err, &paths) || errors.As(err, &siblings) || errors.As(err, &refs)
}

// originOf returns the place of an error of the library; nil when the error has none.
func originOf(err error) *openapi3.Origin {
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	f := v.Elem().FieldByName("Origin")
	if !f.IsValid() || f.Type() != typeOfOrigin {
		return nil
	}
	o, _ := f.Interface().(*openapi3.Origin)
	return o
}

// scopeOf returns the place that a wrapping error of the library names.
func scopeOf(err error) string {
	switch e := err.(type) {
	case *openapi3.PathValidationError:
		return e.Path
	case *openapi3.OperationValidationError:
		return e.Method
	case *openapi3.ComponentValidationError:
		return e.Section + " " + e.Name
	case *openapi3.SectionValidationError:
		return e.Section
	case *openapi3.WebhookValidationError:
		return "webhook " + e.Name
	}
	return ""
}
