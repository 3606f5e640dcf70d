package generate

import (
	"iter"

	"mockserver/config/openapi/invent"
)

// factsOf returns the facts from which a value is invented: those of its object, so that its values
// agree with each other, or separate facts for a value that need not agree with others.
func (d *draft) factsOf(a ask) *invent.Facts {
	if d.beside == nil || a.alone || a.taken != nil {
		return &invent.Facts{Rand: d.random, Today: d.m.Today, Name: a.name, Wide: d.wild}
	}
	d.beside.Name, d.beside.Wide = a.name, d.wild
	return d.beside
}

// besides yields the properties of an object, each with a function that returns its text in the
// document.
func (d *draft) besides(properties []property) iter.Seq2[string, func() (string, bool)] {
	return func(yield func(string, func() (string, bool)) bool) {
		for _, p := range properties {
			if !yield(p.name, func() (string, bool) { return d.said(p) }) {
				return
			}
		}
	}
}

// said returns the text that the document has for a property, if the body will contain it.
func (d *draft) said(p property) (string, bool) {
	for _, ref := range p.schemas {
		s := ref.Value
		var values []any
		if !d.fresh {
			values = append(append([]any{s.Example}, s.Examples...), s.Default)
		}
		if values = append(values, s.Const); !d.fresh || len(s.Enum) == 1 {
			values = append(values, s.Enum...)
		}
		for _, v := range values {
			if text, ok := v.(string); ok && d.fits(ask{schemas: p.schemas}, text) {
				return text, true
			}
		}
	}
	return "", false
}
