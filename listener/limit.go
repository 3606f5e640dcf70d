package listener

import "strconv"

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
	cut.static = o.document.List.Cut(n)
	return &cut
}
