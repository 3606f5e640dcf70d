package generate

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/invent"
)

// someItems is the number of items in an array when nothing requires more.
const someItems = 2

// array generates an array. A bare array has as few items as allowed.
func (d *draft) array(g *merged, a ask, bare bool) (any, bool) {
	count, found := d.itemCount(g, a.room, bare)
	items := make([]any, 0, min(count, mostExtras))
	others := distinct{}
	first := count - len(found) // the last items are those that the keyword contains requires
	for i := range count {
		refs, banned := itemSchemas(g, i)
		if i >= first {
			refs = append(slices.Clone(refs), found[i-first])
		}
		item, ok, why := any(nil), !banned, d.why
		if ok {
			item, ok = d.item(g, ask{schemas: refs, name: singular(a.name), alone: true, room: max(0, (a.room-1)/count)}, others, len(items) >= g.minItems && len(found) == 0)
		}
		switch {
		case ok:
			items = append(items, item)
		case len(items) >= g.minItems && len(found) == 0:
			d.why = why
			return items, true
		default:
			d.blame("fewer items were found than it requires")
			return append(items, item), false
		}
	}
	return items, len(items) >= g.minItems
}

// item generates an item that differs from the others. When duplicates are allowed, a duplicate is
// rejected only if the item is optional.
func (d *draft) item(g *merged, a ask, others distinct, optional bool) (any, bool) {
	v, ok := d.value(a)
	if !ok || others.add(v) {
		return v, ok
	}
	if optional || !g.unique {
		return v, !optional
	}
	a.taken = others
	fresh, wide := d.fresh, d.wide
	d.fresh = true // examples are the same each time
	defer func() { d.fresh, d.wide = fresh, wide }()
	for try := range 4 * mostTries {
		d.wide = wide || try >= mostTries/4 || len(others) > invent.Width/4
		v, ok = d.value(a)
		if ok && others.add(v) {
			return v, true
		}
		if d.effort < 0 {
			break
		}
	}
	return v, false
}

// itemCount returns the number of items for an array, and the schemas of the items that the keyword
// contains requires.
func (d *draft) itemCount(g *merged, room int, bare bool) (count int, found []*openapi3.SchemaRef) {
	for _, s := range g.contains {
		for range min(leastContained(s), mostExtras) {
			found = append(found, s.Contains)
		}
	}
	prefix := 0
	for _, s := range g.schemas {
		prefix = max(prefix, len(s.PrefixItems))
	}
	count = someItems
	if d.fresh {
		count = 1 + d.random.IntN(someItems+1)
	}
	if prefix > 0 {
		count = prefix
	}
	if room <= count {
		count = min(count, max(0, room-1))
	}
	if bare {
		count = 0
	}
	count = max(count, g.minItems, len(found))
	if len(found) > 0 && !bare {
		count = max(count, prefix+len(found))
	}
	if g.maxItems >= 0 {
		count = min(count, g.maxItems)
	}
	if len(found) > count {
		found = found[:count]
	}
	return min(count, bodyEffort), found
}

func leastContained(s *openapi3.Schema) uint64 {
	if s.MinContains != nil {
		return *s.MinContains
	}
	return 1
}

// itemSchemas returns the schemas that item i must satisfy, and reports whether the item is
// forbidden.
func itemSchemas(g *merged, i int) (refs []*openapi3.SchemaRef, banned bool) {
	for _, s := range g.schemas {
		ref := s.Items
		if i < len(s.PrefixItems) {
			ref = s.PrefixItems[i]
		}
		if ref == nil || ref.Value == nil {
			continue
		}
		if always := ref.Value.Always; always != nil && !*always {
			return nil, true
		}
		refs = append(refs, ref)
	}
	return refs, false
}

// singular returns the singular of a name, as the name of an item.
func singular(name string) string {
	if n := len(name); n > 2 && name[n-1] == 's' && name[n-2] != 's' {
		return name[:n-1]
	}
	return name
}
