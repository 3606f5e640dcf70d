package listener

import (
	"strconv"

	"mockserver/renderer"
)

// limit is how many items of a list a request wants at most, and whether it says so. Of
// several numbers the smallest counts; what is no number counts for nothing.
func (o *operation) limit(c *call) (n int, ok bool) {
	if !o.limited {
		return 0, false
	}
	for _, name := range o.document.List.Limits {
		value, there := c.Query(name)
		if !there || len(value) == 0 || value[0] == '+' || value[0] == '-' {
			continue
		}
		if limit, err := strconv.Atoi(string(value)); err == nil && (!ok || limit < n) {
			n, ok = limit, true
		}
	}
	return n, ok
}

// cut is the answer of the endpoint with as many items as a request wants; nil for all,
// and for an example that it asks for by name.
func (o *operation) cut(c *call, p *preferences) *answer {
	n, ok := o.limit(c)
	if !ok || len(p.example) > 0 {
		return nil
	}
	cut := o.base
	cut.static, cut.template = o.fill(c, o.document.List.Cut(n)), renderer.Ready{}
	return &cut
}

// fill returns a body with the values that a request's path has for it.
func (o *operation) fill(c *call, body []byte) []byte {
	if o.document.Asked == nil {
		return body
	}
	return o.document.Asked.Fill(body, c.Param)
}

// cutFresh returns a body that was made anew with as many items as a request wants.
func (o *operation) cutFresh(c *call, body []byte) []byte {
	if n, ok := o.limit(c); ok {
		return o.document.List.CutFresh(body, n)
	}
	return body
}
