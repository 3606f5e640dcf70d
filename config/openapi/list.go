package openapi

import (
	"bytes"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/validate"
	"mockserver/internal/json"
)

// List is the list in the default answer of an operation, with the query parameters that say how
// many of its items a request wants.
type List struct {
	Limits []string // the names of the parameters, at least one

	least int // the schema does not accept fewer items
	body  []byte
	place listPlace
}

// listPlace is the place of a list in a JSON text.
type listPlace struct {
	member        string // the key whose value it is; "" if it is the whole text
	before, after []byte
	items         [][]byte
}

// Cut returns the body of the answer with at most n items, but no fewer than its schema requires.
func (l *List) Cut(n int) []byte { return l.place.cut(l.body, max(n, l.least)) }

// CutFresh does the same as Cut with a newly generated body of the answer.
func (l *List) CutFresh(body []byte, n int) []byte {
	place, ok := findList(body)
	if !ok {
		return body
	}
	return place.cut(body, max(n, l.least))
}

func (p *listPlace) cut(body []byte, n int) []byte {
	if n >= len(p.items) {
		return body
	}
	return slices.Concat(p.before, []byte("["), bytes.Join(p.items[:n], []byte(",")), []byte("]"), p.after)
}

// limitNames are the names of parameters that limit lists, in lower case and without separators.
var limitNames = []string{"limit", "pagesize", "perpage", "size", "count", "maxresults", "top", "first", "take", "rows"}

var separators = strings.NewReplacer("-", "", "_", "", "$", "")

// list returns the list of an operation that requests may limit; nil for none.
func (c *compiler) list(item *openapi3.PathItem, op *openapi3.Operation, o *Operation) *List {
	limits := limitsOf(item, op)
	if len(limits) == 0 || o.Default >= len(o.Responses) {
		return nil
	}
	a := &o.Responses[o.Default]
	place, ok := findList(a.Body)
	if !ok || !jsonvalue.IsJSON(jsonvalue.BaseType(a.MediaType)) {
		return nil
	}
	l := &List{Limits: limits, body: a.Body, place: place}
	if ref := op.Responses.Value(a.Declared); ref != nil && ref.Value != nil {
		for name, media := range ref.Value.Content {
			if media != nil && jsonvalue.IsJSON(jsonvalue.BaseType(name)) {
				l.least = max(l.least, leastItems(media.Schema, place.member, 0))
			}
		}
	}
	return l
}

// limitsOf returns the query parameters of an operation that are integers and limit lists.
func limitsOf(item *openapi3.PathItem, op *openapi3.Operation) []string {
	var names []string
	for _, p := range validate.ParametersOf(item, op) {
		s := validate.SchemaOf(p)
		name := strings.ToLower(separators.Replace(p.Name))
		if p.In == openapi3.ParameterInQuery && slices.Contains(limitNames, name) && s != nil && s.Type.Includes("integer") {
			names = append(names, p.Name)
		}
	}
	return names
}

// maxLeastDepth limits the depth to which composed schemas are searched.
const maxLeastDepth = 20

// leastItems returns how many items the schema requires a list to have. For a list that is a
// member, s is the schema of the enclosing object. Of several alternatives, the largest number
// counts.
func leastItems(ref *openapi3.SchemaRef, member string, depth int) int {
	if ref == nil || ref.Value == nil || depth > maxLeastDepth {
		return 0
	}
	s := ref.Value
	least := 0
	if member == "" {
		least = int(min(s.MinItems, 1<<30)) //nolint:gosec // it is bounded
	} else if property := s.Properties[member]; property != nil {
		least = leastItems(property, "", depth+1)
	}
	for _, parts := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range parts {
			least = max(least, leastItems(part, member, depth+1))
		}
	}
	return least
}

// findList finds the list in a JSON text: the text itself, or the only member of an object that is a
// list.
func findList(body []byte) (place listPlace, ok bool) {
	root := json.Parse(body)
	at, list := bytes.Index(body, root.Raw), root
	if root.Kind == json.Object {
		for _, m := range root.AppendMembers(nil) {
			if m.Value.Kind != json.Array {
				continue
			}
			if list.Kind == json.Array || m.Key.Equals("") {
				return place, false // a second list, or one that place cannot name
			}
			place.member = string(m.Key.AppendText(nil))
			list = m.Value
		}
		from, _ := root.Place(place.member)
		at += from
	}
	if list.Kind != json.Array {
		return place, false
	}
	place.before, place.after = body[:at], body[at+len(list.Raw):]
	elements := list.Elements()
	for item, more := elements.Next(); more; item, more = elements.Next() {
		place.items = append(place.items, item.Raw)
	}
	return place, true
}
