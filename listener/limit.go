package listener

import (
	"strconv"

	"mockserver/renderer"
)

// limit returns the number of list items that a request asks for, and whether it asks for any. The
// smallest of several numbers counts. Values that are not numbers are ignored.
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

// cut returns the answer of the endpoint with as many items as the request asks for. It returns nil
// for all items, and for an example that is requested by name.
func (o *operation) cut(c *call, p *preferences) *answer {
	n, ok := o.limit(c)
	if !ok || len(p.example) > 0 {
		return nil
	}
	cut := o.base
	cut.static, cut.template = o.fill(c, o.document.List.Cut(n)), renderer.Ready{}
	return &cut
}

// fill replaces members of a body with the path parameters of the request.
func (o *operation) fill(c *call, body []byte) []byte {
	if o.document.Asked == nil {
		return body
	}
	return o.document.Asked.Fill(body, c.Param)
}

// cutFresh returns a newly generated body with as many items as the request asks for.
func (o *operation) cutFresh(c *call, body []byte) []byte {
	if n, ok := o.limit(c); ok {
		return o.document.List.CutFresh(body, n)
	}
	return body
}
