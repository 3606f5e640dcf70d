package item

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// Response is one answer.
type Response struct {
	Pos     syntax.Pos
	Status  int // 200..599; 0 means 200
	Headers []Header
	Body    syntax.Text
	// BodyJSON reports that Body is the JSON text of a map or list, so that its default
	// Content-Type is application/json, whatever its first character is.
	BodyJSON bool
	External *ExternalBody `key:"external-body"` // used instead of Body if not nil
	Proxy    *Proxy        // passes the request on if not nil
	Stream   `key:""`      // used instead of Body if it has items
	// Raw turns off templates in headers, body, external body and stream (response.template: false).
	Raw bool
}

const (
	minStatus = 200
	maxStatus = 599
)

// ResponseFields are the keys of a response. The slice must not be modified.
var ResponseFields = slices.Concat([]table.Field[Response]{
	table.Of[Response](table.Row{Key: "status", Doc: "the status; 200 by default", Kinds: table.Numbers, Min: minStatus, Max: maxStatus}),
	table.By[Response](table.Row{Key: "headers", Passed: true, Doc: "the headers, name: value, or a list of values", Kinds: table.Maps, Name: headerName, Value: headerValue}, decodeHeaders),
	table.With(table.Row{Key: "body", Doc: "the body: a text, or a map or list that is served as JSON", Kinds: table.Bodies},
		func(d *table.Decoder, v table.Value, r *Response) { r.Body, r.BodyJSON = decodeBody(d, v, r.Raw) }),
	table.Map[Response](table.Row{Key: "external-body", Doc: "a body from a file or a URL, instead of body"}, externalFields),
	table.By[Response](table.Row{Key: "proxy", Passed: true, Doc: "passes the request on to an upstream", Kinds: table.Texts | table.Maps, Filled: true,
		Form: "the name of an upstream, or a map with to", Table: table.Rows(proxyFields)}, decodeProxy),
	table.With(table.Row{Key: "template", Passed: true, Doc: "false switches placeholders off", Kinds: table.Bools},
		func(_ *table.Decoder, v table.Value, r *Response) { r.Raw = !v.Truth() }),
	table.With(table.Row{Key: "stream", Doc: "what is sent item by item, instead of body", Kinds: table.Lists, Form: "a list of items, each a map", Item: streamItemRow},
		func(d *table.Decoder, v table.Value, r *Response) {
			r.Stream.Items = decodeStreamItems(d, v, streamItemRow, nesting{raw: r.Raw, fields: streamItemFields})
		}),
}, lift(streamFields, func(r *Response) *Stream { return &r.Stream }))

// decode decodes a map that has only the keys of a response.
func (r *Response) decode(d *table.Decoder, v table.Value) {
	r.begin(v)
	table.Fill(d, v.Node, v.Key, ResponseFields, r)
}

// begin reads the settings that must be known before the keys of a response are read.
func (r *Response) begin(v table.Value) {
	r.Pos, r.Raw = v.Pos(), templatesOff(v)
}

// templatesOff reports whether a map has template: false. This determines how a body, which may
// come before that key, is converted to JSON text.
func templatesOff(v table.Value) bool {
	t := v.Get("template")
	return t != nil && t.Kind == syntax.BoolNode && !t.Truth()
}

// decodeBody returns a body, and whether it is the JSON text of a map or list. raw means that the
// body has no placeholders.
func decodeBody(d *table.Decoder, v table.Value, raw bool) (body syntax.Text, isJSON bool) {
	if table.Scalars.Has(v.Kind) {
		return v.AsText(), false
	}
	return decodeJSON(d, v, raw), true
}

// HasBody reports whether a body (even an empty one), an external body or a proxy is declared.
func (r *Response) HasBody() bool { return r.declaresBody() || r.External != nil || r.Proxy != nil }

// declaresBody reports whether Body is given, even if it is empty.
func (r *Response) declaresBody() bool {
	return r.Body.Value != "" || r.Body.Pos.Line > 0 || r.BodyJSON
}

// dropServerSet removes the headers that the server writes itself.
func (r *Response) dropServerSet() {
	r.Headers = slices.DeleteFunc(r.Headers, func(h Header) bool { return semantics.ServerSets(h.Name) })
}

// checkResponse checks the response at the given keys. finds reports that the endpoint finds rows.
func checkResponse(c *table.Checker, r *Response, finds bool, at []string) {
	checkHeaders(c, r.Headers, semantics.ServerSets, table.Below(at, "headers")...)
	checkCharset(c, r.Headers, r.Body.Value, r.Raw, table.Below(at, "headers")...)
	checkBody(c, r, at)
	checkProxy(c, r, finds, at)
	if r.External != nil {
		checkExternal(c, r.External, !r.Raw, table.Below(at, "external-body"))
	}
}

func checkBody(c *table.Checker, r *Response, at []string) {
	if r.declaresBody() && r.External != nil {
		c.Wrong(table.BothGiven("body", "external-body"), table.Below(at, "external-body")...)
	}
	if semantics.HasNoContent(r.Status) {
		what := fmt.Sprintf("is left out: an answer with status %d has no body", r.Status)
		if r.External != nil {
			c.Warn(what, table.Below(at, "external-body")...)
		} else if r.Body.Value != "" {
			c.Warn(what, table.Below(at, "body")...)
		}
		return
	}
	checkJSONBody(c, r, table.Below(at, "body"))
}

// checkJSONBody warns about a fixed body that looks like JSON but is not valid.
func checkJSONBody(c *table.Checker, r *Response, at []string) {
	if r.BodyJSON || !looksFixedJSON(r.Body.Value, r.Raw) {
		return
	}
	many := false
	if declared, ok := contentType(r.Headers); ok {
		if !semantics.IsJSON(declared) {
			return
		}
		many = semantics.HoldsMany(semantics.MediaType(declared))
	}
	checkJSON(c, &r.Body, many, "the body looks like JSON but is not valid: %s", at)
}

// checkProxy checks the proxy of the response at the given keys.
func checkProxy(c *table.Checker, r *Response, finds bool, at []string) {
	p := r.Proxy
	if p == nil {
		return
	}
	if missing := p.When == ProxyMissing; missing && r.External == nil && !finds {
		c.Wrong("when: missing requires external-body, or find in the endpoint", table.Below(at, "proxy", "when")...)
	} else if !missing {
		for key := range given(c, at) {
			if key.Passed {
				continue
			}
			what := table.BothGiven("proxy", key.Key)
			if key.Key == "external-body" {
				what += ", or when: missing in proxy"
			}
			c.Wrong(what, table.Below(at, key.Key)...)
			break
		}
	}
	if path := p.Path.Value; path != "" && path[0] != '/' && !strings.HasPrefix(path, "{{") && !strings.HasPrefix(path, "{%") {
		c.Wrong(fmt.Sprintf("%q does not begin with /", wording.Clip(path)), table.Below(at, "proxy", "path")...)
	} else if i := strings.IndexAny(path, "# "); i >= 0 && !strings.Contains(path, "{") {
		c.Wrong(fmt.Sprintf("%q is not allowed in the path of a request", path[i]), table.Below(at, "proxy", "path")...)
	}
}

// checkUnseen warns about the first part of an answer that is never sent because of a fault.
func checkUnseen(c *table.Checker, f *policy.Fault, at []string) {
	if f == nil || f.EffectiveRate() != 1 || !f.SendsNothing() {
		return
	}
	for key := range given(c, at) {
		if key.Kinds != table.Bools { // a switch is not sent
			c.Warn(fmt.Sprintf("is never sent: requests with the fault %s get no answer", f.Type), table.Below(at, key.Key)...)
			return
		}
	}
}

// given returns the keys of the response at the given keys, in the order of their table.
func given(c *table.Checker, at []string) iter.Seq[table.Row] {
	return func(yield func(table.Row) bool) {
		for _, f := range ResponseFields {
			if c.Node(table.Below(at, f.Key)...) != nil && !yield(f.Row) {
				return
			}
		}
	}
}
