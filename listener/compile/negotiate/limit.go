package negotiate

import (
	"strconv"

	"mockserver/matcher"
)

// limit returns the number of list items that a request asks for, and whether it asks for any. Of
// several numbers, the smallest counts. Values that are not unsigned integers are ignored.
func (o *Operation) limit(r *matcher.Request) (n int, ok bool) {
	if !o.Limited {
		return 0, false
	}
	for _, name := range o.document.List.Limits {
		value, there := r.Query(name)
		if !there || len(value) == 0 || value[0] == '+' || value[0] == '-' {
			continue
		}
		if limit, err := strconv.Atoi(string(value)); err == nil && (!ok || limit < n) {
			n, ok = limit, true
		}
	}
	return n, ok
}

// cut returns the body of the endpoint with as many items as the request asks for. ok is false if
// the body is not limited, or if an example is requested by name.
func (o *Operation) cut(r *matcher.Request, p *preferences) (body []byte, ok bool) {
	n, ok := o.limit(r)
	if !ok || len(p.example) > 0 {
		return nil, false
	}
	return o.fill(r, o.document.List.Cut(n)), true
}

// fill replaces members of a body with the path parameters of the request.
func (o *Operation) fill(r *matcher.Request, body []byte) []byte {
	if o.document.Bound == nil {
		return body
	}
	return o.document.Bound.Fill(body, r.Param)
}
