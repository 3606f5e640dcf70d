package generate

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/invent"
	"mockserver/config/openapi/jsonvalue"
)

const (
	// someItems is the number of items in an array when nothing requires more.
	someItems = 2
	// uniqueTries is how many values are tried for an item that must differ from the others.
	uniqueTries = 96
)

// distinct is a set of JSON values. With thousands of values, it avoids comparing each with all
// others.
type distinct map[string]bool

// add adds a value to the set. It returns false when an equal value was already there.
func (d distinct) add(v any) bool {
	known := d.has(v)
	d[string(jsonvalue.AppendIdentity(nil, v))] = true
	return !known
}

func (d distinct) has(v any) bool {
	return len(d) > 0 && d[string(jsonvalue.AppendIdentity(nil, v))]
}

// array generates an array. The last items are those that the keyword contains requires. A bare
// array has as few items as allowed.
func (d *draft) array(g *merged, a ask, bare bool) (any, bool) {
	var found []*openapi3.SchemaRef
	for _, s := range g.schemas {
		least := uint64(1)
		if s.MinContains != nil {
			least = *s.MinContains
		}
		for i := uint64(0); s.Contains != nil && i < min(least, mostExtras); i++ {
			found = append(found, s.Contains)
		}
	}
	unique := slices.ContainsFunc(g.schemas, func(s *openapi3.Schema) bool { return s.UniqueItems })
	low := g.least(func(s *openapi3.Schema) uint64 { return s.MinItems })
	count := d.itemCount(g, a.room, low, len(found), bare)
	items, others := []any{}, distinct{}
	for i := range count {
		refs := itemSchemas(g, i)
		for at := count - 1 - i; at < len(found); at += count { // one item may be several of them
			refs = append(refs, found[at])
		}
		optional, why := i >= low && len(found) == 0, d.why
		item, ok := d.item(ask{schemas: refs, name: singular(a.name), alone: true, room: max(0, (a.room-1)/count)}, others, unique, optional)
		switch {
		case ok:
			items = append(items, item)
		case optional:
			d.why = why
			return items, true
		default:
			d.blame("fewer items were found than it requires")
			return append(items, item), false
		}
	}
	return items, len(items) >= low
}

// item generates an item that differs from the others. When duplicates are allowed, a duplicate is
// rejected only if the item is optional.
func (d *draft) item(a ask, others distinct, unique, optional bool) (any, bool) {
	v, ok := d.value(a)
	if !ok || others.add(v) {
		return v, ok
	}
	if optional || !unique {
		return v, !optional
	}
	fresh, wild := d.fresh, d.wild
	defer func() { d.fresh, d.wild = fresh, wild }()
	a.taken, d.fresh = others, true // examples are the same each time
	for try := 0; try < uniqueTries && d.effort >= 0; try++ {
		d.wild = wild || try >= uniqueTries/16 || len(others) > invent.Width/4
		if v, ok = d.value(a); ok {
			others.add(v)
			return v, true
		}
	}
	return v, false
}

// itemCount returns the number of items for an array that requires at least low items, of which
// found are those that the keyword contains requires.
func (d *draft) itemCount(g *merged, room, low, found int, bare bool) int {
	prefix := 0
	for _, s := range g.schemas {
		prefix = max(prefix, len(s.PrefixItems))
	}
	count := someItems
	switch {
	case prefix > 0:
		count = prefix + found
	case d.wild:
		count = low + d.random.IntN(4*someItems)
	case d.fresh:
		count = 1 + d.random.IntN(someItems+1)
	}
	if bare {
		count = 0
	} else if room <= count {
		count = max(0, room-1)
	}
	most := g.most(func(s *openapi3.Schema) *uint64 { return s.MaxItems })
	return min(max(count, low, found), most, bodyEffort)
}

// itemSchemas returns the schemas that item i must satisfy.
func itemSchemas(g *merged, i int) (refs []*openapi3.SchemaRef) {
	for _, s := range g.schemas {
		ref := s.Items
		if i < len(s.PrefixItems) {
			ref = s.PrefixItems[i]
		}
		if ref != nil && ref.Value != nil {
			refs = append(refs, ref)
		}
	}
	return refs
}

// singular returns the singular of a name, as the name of an item.
func singular(name string) string {
	if n := len(name); n > 2 && name[n-1] == 's' && name[n-2] != 's' {
		return name[:n-1]
	}
	return name
}
