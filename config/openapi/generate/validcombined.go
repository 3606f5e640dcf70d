package generate

import (
	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// combined asks the keywords that hold other schemas against the same value.
func (c *validator) combined(s *openapi3.Schema, v any) *mismatch {
	if v != nil || !c.m.nullable(s) {
		if wrong := c.composed(s, v); wrong != nil {
			return wrong
		}
	}
	if s.Not != nil && c.accepts(s.Not, v) {
		return c.fail("is what not refuses")
	}
	if s.If != nil {
		branch := s.Else
		if c.accepts(s.If, v) {
			branch = s.Then
		}
		if wrong := c.mismatch(branch, v); wrong != nil {
			return wrong
		}
	}
	o, isObject := v.(*jsonvalue.Object)
	if isObject {
		for _, name := range jsonvalue.SortedNames(s.DependentSchemas) {
			if _, ok := o.Get(name); !ok {
				continue
			}
			if wrong := c.mismatch(s.DependentSchemas[name], v); wrong != nil {
				return wrong
			}
		}
	}
	return c.unevaluated(s, v)
}

// composed asks what a schema is composed of.
func (c *validator) composed(s *openapi3.Schema, v any) *mismatch {
	for _, ref := range s.AllOf {
		if wrong := c.mismatch(ref, v); wrong != nil {
			return wrong
		}
	}
	if len(s.AnyOf) > 0 {
		if wrong := c.anyOf(s.AnyOf, v); wrong != nil {
			return wrong
		}
	}
	if len(s.OneOf) > 0 {
		return c.oneOf(s, v)
	}
	return nil
}

func (c *validator) anyOf(branches openapi3.SchemaRefs, v any) *mismatch {
	var first *mismatch
	for _, ref := range branches {
		wrong := c.mismatch(ref, v)
		if wrong == nil {
			return nil
		}
		if first == nil {
			first = wrong
		}
	}
	return &mismatch{first.pointer, first.what + ", and nothing else of anyOf fits"}
}

func (c *validator) oneOf(s *openapi3.Schema, v any) *mismatch {
	if c.lenient && s.Discriminator != nil {
		if o, ok := v.(*jsonvalue.Object); ok {
			if ref := named(s, o); ref != nil {
				return c.mismatch(ref, v)
			}
		}
	}
	var first *mismatch
	holds := 0
	for _, ref := range s.OneOf {
		if wrong := c.mismatch(ref, v); wrong == nil {
			holds++
		} else if first == nil {
			first = wrong
		}
	}
	switch {
	case holds == 0:
		return &mismatch{first.pointer, first.what + ", and nothing else of oneOf fits"}
	case holds > 1:
		return c.fail("fits %d schemas of oneOf, where one is accepted", holds)
	}
	return nil
}

// named is the branch of oneOf that a discriminator names; nil for none.
func named(s *openapi3.Schema, o *jsonvalue.Object) *openapi3.SchemaRef {
	value, _ := o.Get(s.Discriminator.PropertyName)
	name, ok := value.(string)
	if !ok {
		return nil
	}
	if mapped, ok := s.Discriminator.Mapping[name]; ok {
		name = refName(mapped.Ref)
	}
	for _, ref := range s.OneOf {
		if ref.Ref != "" && refName(ref.Ref) == name {
			return ref
		}
	}
	return nil
}

// unevaluated asks unevaluatedProperties and unevaluatedItems.
func (c *validator) unevaluated(s *openapi3.Schema, v any) *mismatch {
	switch v := v.(type) {
	case *jsonvalue.Object:
		if s.UnevaluatedProperties.Has == nil && s.UnevaluatedProperties.Schema == nil {
			return nil
		}
		for _, m := range v.Members {
			if c.looksAt(s, v, m.Name, deepestSchema) {
				continue
			}
			if has := s.UnevaluatedProperties.Has; has != nil && !*has {
				return c.fail("has the property %q, which is not evaluated", m.Name)
			}
			if wrong := c.under(m.Name, s.UnevaluatedProperties.Schema, m.Value); wrong != nil {
				return wrong
			}
		}
	case []any:
		if has := s.UnevaluatedItems.Has; has == nil && s.UnevaluatedItems.Schema == nil || has != nil && *has {
			return nil
		}
		for i := c.itemsSeen(s, v, deepestSchema); i < len(v); i++ {
			if s.UnevaluatedItems.Schema == nil {
				return c.fail("has the item %d, which is not evaluated", i)
			}
			if wrong := c.under("", s.UnevaluatedItems.Schema, v[i]); wrong != nil {
				return wrong
			}
		}
	}
	return nil
}

// looksAt reports whether a schema, or one that holds for the same value, says something
// of a property.
func (c *validator) looksAt(s *openapi3.Schema, o *jsonvalue.Object, name string, depth int) bool {
	if s == nil || depth == 0 {
		return false
	}
	if _, ok := s.Properties[name]; ok || s.AdditionalProperties.Has != nil || s.AdditionalProperties.Schema != nil {
		return true
	}
	for source := range s.PatternProperties {
		if p, err := c.m.pattern(source); err == nil && p.Matches(name) {
			return true
		}
	}
	for _, ref := range c.holding(s, o) {
		if c.looksAt(ref.Value, o, name, depth-1) {
			return true
		}
		if has := ref.Value.UnevaluatedProperties.Has; has != nil && *has {
			return true
		}
	}
	return false
}

// itemsSeen is how many items, from the first, a schema says something of.
func (c *validator) itemsSeen(s *openapi3.Schema, items []any, depth int) int {
	if s == nil || depth == 0 {
		return 0
	}
	if s.Items != nil {
		return len(items)
	}
	seen := len(s.PrefixItems)
	for _, ref := range c.holding(s, items) {
		seen = max(seen, c.itemsSeen(ref.Value, items, depth-1))
	}
	return seen
}

// holding are the schemas within another that hold for the same value.
func (c *validator) holding(s *openapi3.Schema, v any) []*openapi3.SchemaRef {
	var all []*openapi3.SchemaRef
	add := func(ref *openapi3.SchemaRef, checked bool) {
		if ref != nil && ref.Value != nil && (!checked || c.accepts(ref, v)) {
			all = append(all, ref)
		}
	}
	for _, ref := range s.AllOf {
		add(ref, false)
	}
	for _, branches := range []openapi3.SchemaRefs{s.AnyOf, s.OneOf} {
		for _, ref := range branches {
			add(ref, true)
		}
	}
	if s.If != nil {
		if c.accepts(s.If, v) {
			add(s.If, false)
			add(s.Then, false)
		} else {
			add(s.Else, false)
		}
	}
	if o, ok := v.(*jsonvalue.Object); ok {
		for name, ref := range s.DependentSchemas {
			if _, ok := o.Get(name); ok {
				add(ref, false)
			}
		}
	}
	return all
}
