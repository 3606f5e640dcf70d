package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
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
	member string // the key whose value it is; "" if it is the whole text
	open   int    // after "["
	ends   []int  // after each item
	shut   int    // at "]"
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
	if n >= len(p.ends) {
		return body
	}
	end := p.open
	if n > 0 {
		end = p.ends[n-1]
	}
	return slices.Concat(body[:end], body[p.shut:])
}

// limitNames are the names of parameters that limit lists, in the form that limitName returns.
var limitNames = []string{"limit", "pagesize", "perpage", "size", "count", "maxresults", "top", "first", "take", "rows"}

// limitName returns a name in a form that is the same for all its spellings.
func limitName(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("-", "", "_", "", "$", "")

// list returns the list of an operation that requests may limit; nil for none.
func (c *compiler) list(item *openapi3.PathItem, op *openapi3.Operation, o *Operation) *List {
	limits := limitsOf(item, op)
	if len(limits) == 0 || o.Default >= len(o.Answers) {
		return nil
	}
	a := &o.Answers[o.Default]
	if !jsonvalue.IsJSON(jsonvalue.BaseType(a.MediaType)) || !json.Valid(a.Body) {
		return nil
	}
	place, ok := findList(a.Body)
	if !ok {
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
	for _, list := range []openapi3.Parameters{op.Parameters, item.Parameters} {
		for _, ref := range list {
			p := ref.Value
			if p == nil || p.In != openapi3.ParameterInQuery || !slices.Contains(limitNames, limitName(p.Name)) || slices.Contains(names, p.Name) {
				continue
			}
			if p.Schema != nil && p.Schema.Value != nil && p.Schema.Value.Type.Includes("integer") {
				names = append(names, p.Name)
			}
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

// findList finds the list in a valid JSON text: the text itself, or the only member of an object
// that is a list.
func findList(body []byte) (place listPlace, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	first, err := d.Token()
	if err != nil || first != json.Delim('{') {
		return itemsOf(body, 0), first == json.Delim('[')
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return listPlace{}, false
		}
		if value[0] != '[' {
			continue
		}
		if ok || key == "" {
			return listPlace{}, false // a second list, or one that place cannot name
		}
		place, ok = itemsOf(value, int(d.InputOffset())-len(value)), true
		place.member, _ = key.(string)
	}
	return place, ok
}

// itemsOf finds the items of a list that begins at start in the whole text.
func itemsOf(list []byte, start int) listPlace {
	d := json.NewDecoder(bytes.NewReader(list))
	_, err := d.Token() // "["
	p := listPlace{open: start + int(d.InputOffset())}
	for item := json.RawMessage(nil); err == nil && d.More(); {
		err = d.Decode(&item)
		p.ends = append(p.ends, start+int(d.InputOffset()))
	}
	_, _ = d.Token()
	p.shut = start + int(d.InputOffset()) - 1
	return p
}
