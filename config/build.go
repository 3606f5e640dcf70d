package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/config/table"
)

// New returns a spec of endpoints that are declared in Go, in order:
//
//	spec := config.New(
//		config.Endpoint{
//			Path:     "/hello/:name",
//			Response: config.Response{Body: `{"hello": "{{path-params.name}}"}`},
//		},
//	)
//
// The endpoints are checked like those of a file; Problems has the errors. They are copied, so that
// they may be modified and used again afterwards. Other items are declared as a text: see Parse.
func New(endpoints ...Endpoint) *Spec {
	s := &Spec{}
	for i := range endpoints {
		d := &table.Decoder{Hint: foreignHint, Dir: endpoints[i].Dir}
		w := nodeWriter{d: d, pos: syntax.Pos{Column: i + 1}}
		key := fmt.Sprintf("[%d]", i)
		node := w.scalar(syntax.MapNode, "")
		w.add(node, "endpoint", w.node(reflect.ValueOf(&endpoints[i]), key+".endpoint"))
		it := item.Decode(d, node, key)
		s.keep(it, d.Dir, d.Reported == nil)
		s.Problems = append(s.Problems, it.Endpoint.Claim(d.Problems)...)
	}
	return s
}

// Join combines several specs into one, with all their problems. The order of endpoints is kept,
// except that endpoints of resources come after the declared ones, and those of OpenAPI documents
// come last: if two endpoints match the same requests, the first one answers.
func Join(specs ...*Spec) *Spec {
	joined := &Spec{}
	for _, s := range specs {
		s = s.orNone()
		joined.join(&s.Items)
		joined.Broken.join(&s.Broken)
		joined.Problems = append(joined.Problems, s.Problems...)
		joined.files = append(joined.files, s.files...)
		joined.leftOut = append(joined.leftOut, s.leftOut...)
		joined.documents = append(joined.documents, s.documents...)
		joined.referenced = append(joined.referenced, s.referenced...)
	}
	joined.inRank()
	return joined
}

// Without returns a copy of the spec without the endpoint at index i and its problems. If nothing
// else is declared in the file of the endpoint, the copy no longer contains that file either.
func (s *Spec) Without(i int) *Spec {
	e, c := &s.Endpoints[i], *s
	c.Endpoints = slices.Delete(slices.Clone(s.Endpoints), i, i+1)
	c.Problems = slices.DeleteFunc(slices.Clone(s.Problems), func(p syntax.Problem) bool {
		return p.Pos.File == e.Pos.File && (p.Key == e.Key || strings.HasPrefix(p.Key, e.Key+"."))
	})
	if !c.has(e.Pos.File) {
		c.files = slices.DeleteFunc(slices.Clone(s.files), func(file string) bool { return file == e.Pos.File })
	}
	return &c
}

// Validate returns all problems of the spec. It does not modify the spec.
func (s *Spec) Validate() syntax.Problems { return slices.Clone(s.orNone().Problems) }

// InOrder sorts problems into the order of the files of the spec; those of other files come last.
// It modifies ps and returns it.
func (s *Spec) InOrder(ps syntax.Problems) syntax.Problems {
	rank := make(map[string]int, len(s.files))
	for i, file := range slices.Backward(s.files) {
		rank[file] = i - len(s.files)
	}
	slices.SortStableFunc(ps, func(p, q syntax.Problem) int { return cmp.Compare(rank[p.Pos.File], rank[q.Pos.File]) })
	return ps
}
