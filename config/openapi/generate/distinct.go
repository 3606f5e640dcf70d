package generate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/openapi/jsonvalue"
)

// distinct is a set of JSON values. With thousands of values, it avoids comparing each with all
// others.
type distinct map[string]bool

// add adds a value to the set. It returns false when an equal value was already there.
func (d distinct) add(v any) bool {
	key := string(appendIdentity(nil, v))
	if d[key] {
		return false
	}
	d[key] = true
	return true
}

func (d distinct) has(v any) bool {
	return len(d) > 0 && d[string(appendIdentity(nil, v))]
}

// appendIdentity appends a string that is the same for two values if and only if they are equal:
// numbers by their numeric value, names sorted.
func appendIdentity(dst []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return strconv.AppendInt(dst, i, 10)
		}
		if r := jsonvalue.Rational(v); r != nil {
			return append(dst, r.RatString()...)
		}
		return append(dst, v...)
	case []any:
		dst = append(dst, '[')
		for i := range v {
			dst = append(appendIdentity(dst, v[i]), ',')
		}
		return append(dst, ']')
	case *jsonvalue.Object:
		members := slices.Clone(v.Members)
		slices.SortFunc(members, func(a, b jsonvalue.Member) int { return strings.Compare(a.Name, b.Name) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(jsonvalue.AppendString(dst, m.Name), ':')
			dst = append(appendIdentity(dst, m.Value), ',')
		}
		return append(dst, '}')
	}
	return jsonvalue.Append(dst, v)
}
