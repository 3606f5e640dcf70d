package generate

import "mockserver/config/openapi/jsonvalue"

// distinct is a set of JSON values. With thousands of values, it avoids comparing each with all
// others.
type distinct map[string]bool

// add adds a value to the set. It returns false when an equal value was already there.
func (d distinct) add(v any) bool {
	key := string(jsonvalue.AppendIdentity(nil, v))
	if d[key] {
		return false
	}
	d[key] = true
	return true
}

func (d distinct) has(v any) bool {
	return len(d) > 0 && d[string(jsonvalue.AppendIdentity(nil, v))]
}
