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
	e := c.encoder
	return func(refusal Refusal) []byte {
		root, err := jsonvalue.Parse(body)
		object, ok := root.(*jsonvalue.Object)
		if err != nil || !ok {
			return body
		}
		t := detailer{refusal: refusal, root: object, valid: func(any) bool { return true }}
		check := validator{m: e.m, lenient: true}
		if e.schema != nil && check.accepts(e.schema, object) {
			t.valid = func(v any) bool { return check.accepts(e.schema, v) }
		}
		t.object(object, 0)
		return e.encode(object)
	}
}

// detailer writes the details of an error into a body, as long as the body stays valid.
type detailer struct {
	refusal Refusal
	root    *jsonvalue.Object
	valid   func(root any) bool
}

const (
	deepestTold = 4  // how deeply nested objects are searched
	mostTold    = 20 // how many violations are listed
)

// Names that show the purpose of a property, in lower case without punctuation.
var (
	messageNames = []string{"message", "detail", "details", "description", "errormessage", "errordescription", "reason", "msg", "developermessage", "usermessage"}
	placeNames   = []string{"field", "path", "pointer", "location", "param", "parameter", "property", "name", "source", "target", "propertyname", "fieldname", "loc", "key"}
	statusNames  = []string{"status", "statuscode", "code", "httpstatus", "httpcode"}
	listNames    = []string{"error", "violation", "detail", "issue", "field", "invalid", "problem", "message", "cause", "fault"}
)

// object writes the details into the properties of an object.
func (t *detailer) object(o *jsonvalue.Object, depth int) {
	for _, m := range slices.Clone(o.Members) {
		name, plain := m.Name, plainName(m.Name)
		switch value := m.Value.(type) {
		case string:
			switch {
			case slices.Contains(messageNames, plain):
				t.try(o, name, t.refusal.Message)
			case slices.Contains(statusNames, plain) && isStatus(value):
				t.try(o, name, strconv.Itoa(t.refusal.Status))
			}
		case json.Number:
			if slices.Contains(statusNames, plain) && (plain != "code" || isStatus(value.String())) {
				t.try(o, name, json.Number(strconv.Itoa(t.refusal.Status)))
			}
		case []any:
			if slices.ContainsFunc(listNames, func(part string) bool { return strings.Contains(plain, part) }) {
				t.try(o, name, t.list(value))
			}
		case *jsonvalue.Object:
			if depth < deepestTold {
				t.object(value, depth+1)
			}
		}
	}
}

// try sets a property, unless that makes the body invalid.
func (t *detailer) try(o *jsonvalue.Object, name string, value any) {
	before, _ := o.Get(name)
	o.Set(name, value)
	if !t.valid(t.root) {
		o.Set(name, before)
	}
}

// list returns the violations in the form of the first item of a list.
func (t *detailer) list(items []any) []any {
	var like any = ""
	if len(items) > 0 {
		like = items[0]
	}
	var all []any
	for i, v := range t.refusal.Violations {
		if i == mostTold {
			break
		}
		all = append(all, describe(like, v))
	}
	return all
}

// describe returns a violation in the form of an existing value.
func describe(like any, v validate.Violation) any {
	o, ok := like.(*jsonvalue.Object)
	if !ok {
		return v.Pointer + " " + v.Message
	}
	made := &jsonvalue.Object{}
	for _, m := range o.Members {
		value, plain := m.Value, plainName(m.Name)
		_, isText := value.(string)
		_, isList := value.([]any)
		switch {
		case isText && slices.Contains(messageNames, plain):
			value = v.Message
		case isText && plain == "in":
			value = v.In
		case isText && slices.Contains(placeNames, plain):
			value = v.Pointer
		case isList && slices.Contains(placeNames, plain):
			var tokens []any
			for token := range strings.SplitSeq(strings.TrimPrefix(v.Pointer, "/"), "/") {
				tokens = append(tokens, jsonvalue.UnescapePointer(token))
			}
			value = tokens
		}
		made.Set(m.Name, value)
	}
	return made
}

func isStatus(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 100 && n <= 599
}

// plainName returns a name in lower case, without the separators of its words.
func plainName(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")
