package generate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/validate"
)

// Refusal is what an error response says about a request.
type Refusal struct {
	Status     int
	Message    string // everything in a single string
	Violations []validate.Violation
}

// ErrorWriter returns a function that writes into a body of the content what is wrong with a request,
// as far as property names and the schema allow. It returns nil when nothing can be written. The
// function is safe for concurrent use.
func (c *Content) ErrorWriter(body []byte) func(Refusal) []byte {
	if !jsonvalue.IsJSON(jsonvalue.BaseType(c.Media)) || !strings.HasPrefix(strings.TrimSpace(string(body)), "{") {
		return nil
	}
	return func(refusal Refusal) []byte {
		root, err := jsonvalue.Parse(body)
		object, ok := root.(*jsonvalue.Object)
		if err != nil || !ok {
			return body
		}
		check := validator{m: c.m, lenient: true}
		mayBreak := !check.accepts(c.schema, object)
		d := detail{Violation: validate.Violation{Message: refusal.Message}, refusal: &refusal}
		d.write(object, 0, func() bool { return mayBreak || check.accepts(c.schema, object) })
		return c.encode(object)
	}
}

// detail is what an object in an error response says: about a request, or about one violation.
type detail struct {
	validate.Violation
	refusal *Refusal // nil for one violation
}

const (
	maxDepth  = 4  // how deeply nested objects are searched
	maxListed = 20 // how many violations are listed
)

// Names that show the purpose of a property, in lower case without punctuation.
var (
	messageNames = []string{"message", "detail", "details", "description", "errormessage", "errordescription", "reason", "msg", "developermessage", "usermessage"}
	placeNames   = []string{"field", "path", "pointer", "location", "param", "parameter", "property", "name", "source", "target", "propertyname", "fieldname", "loc", "key"}
	statusNames  = []string{"status", "statuscode", "code", "httpstatus", "httpcode"}
	listNames    = []string{"error", "violation", "detail", "issue", "field", "invalid", "problem", "message", "cause", "fault"}
)

// write writes the details into the members of an object, as long as the body stays valid.
func (d *detail) write(o *jsonvalue.Object, depth int, isValid func() bool) {
	for i := range o.Members {
		m := &o.Members[i]
		if inner, ok := m.Value.(*jsonvalue.Object); ok && depth < maxDepth {
			d.write(inner, depth+1, isValid)
		}
		if v, ok := d.value(m.Name, m.Value); ok {
			before := m.Value
			if m.Value = v; !isValid() {
				m.Value = before
			}
		}
	}
}

// value returns the value of a member that says something about the error.
func (d *detail) value(name string, before any) (v any, ok bool) {
	plain := plainName(name)
	of := func(names []string) bool { return slices.Contains(names, plain) }
	isRefusal := d.refusal != nil
	text, isText := before.(string)
	number, isNumber := before.(json.Number)
	items, isList := before.([]any)
	switch {
	case isText && of(messageNames):
		return d.Message, true
	case isRefusal && isText && of(statusNames) && isStatus(text):
		return strconv.Itoa(d.refusal.Status), true
	case isRefusal && isNumber && of(statusNames) && (plain != "code" || isStatus(string(number))):
		return json.Number(strconv.Itoa(d.refusal.Status)), true
	case isRefusal && isList:
		mentions := func(part string) bool { return strings.Contains(plain, part) }
		return d.list(append(items, "")[0]), slices.ContainsFunc(listNames, mentions)
	case isRefusal:
		return nil, false
	case isText && plain == "in":
		return d.In, true
	case isText:
		return d.Pointer, of(placeNames)
	case isList:
		var tokens []any
		for token := range strings.SplitSeq(strings.TrimPrefix(d.Pointer, "/"), "/") {
			tokens = append(tokens, jsonvalue.UnescapePointer(token))
		}
		return tokens, of(placeNames)
	}
	return nil, false
}

// list returns the violations in the form of an existing item.
func (d *detail) list(like any) (all []any) {
	o, isObject := like.(*jsonvalue.Object)
	for _, v := range d.refusal.Violations[:min(maxListed, len(d.refusal.Violations))] {
		if !isObject {
			all = append(all, v.Pointer+" "+v.Message)
			continue
		}
		made, of := &jsonvalue.Object{Members: slices.Clone(o.Members)}, detail{Violation: v}
		of.write(made, maxDepth, func() bool { return true })
		all = append(all, made)
	}
	return all
}

func isStatus(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 100 && n <= 599
}

// plainName returns a name in lower case, without the separators of its words.
func plainName(name string) string { return strings.ToLower(punctuation.Replace(name)) }

var punctuation = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")
