package export

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/secret"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
)

// circumstance describes when an endpoint answers, and contains the summary of the endpoint.
type circumstance struct{ host, condition, summary string }

func circumstanceOf(e *item.Endpoint) circumstance {
	return circumstance{e.Host, secret.Condition(e.If.Value), e.Doc.Summary}
}

// always reports whether the endpoint answers every request for its path.
func (c circumstance) always() bool { return c.host == "" && c.condition == "" }

// String describes the circumstance; "" for always.
func (c circumstance) String() string {
	var parts []string
	if c.host != "" {
		parts = append(parts, "for the host "+c.host)
	}
	if c.condition != "" {
		parts = append(parts, "if "+c.condition)
	}
	return strings.Join(parts, ", ")
}

// mark records the circumstance next to an example.
func (c circumstance) mark(t *syntax.Node) *syntax.Node {
	return t.SetText("x-mockserver-host", c.host).SetText("x-mockserver-if", c.condition)
}

// writeResponses writes the responses of one endpoint.
func (x *exporter) writeResponses(responses *syntax.Node, e *item.Endpoint) {
	when := circumstanceOf(e)
	for _, r := range e.AllResponses() {
		writeResponse(responses, r, when)
	}
	ownResponses(responses, e)
}

// ownResponses adds the responses that the server itself may send for an endpoint, except those whose
// statuses already have responses.
func ownResponses(responses *syntax.Node, e *item.Endpoint) {
	for _, a := range e.Group.Replies() {
		if code := strconv.Itoa(a.Status); responses.Get(code) == nil {
			responses.Set(code, syntax.NewMap().SetText("description", a.Why))
		}
	}
}

// writeResponse adds a response to the responses. Several responses with the same status and media
// type become examples of one response.
func writeResponse(responses *syntax.Node, r *item.Response, when circumstance) {
	status := cmp.Or(r.Status, http.StatusOK)
	t := responses.Make(strconv.Itoa(status))
	description := cmp.Or(when.String(), http.StatusText(status), "status "+strconv.Itoa(status))
	switch before := t.Get("description"); {
	case before == nil:
		t.SetText("description", description)
	case !when.always() && !strings.Contains("\n"+before.AsText()+"\n", "\n"+description+"\n"):
		t.SetText("description", before.AsText()+"\n"+description)
	}
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			continue
		}
		header := syntax.NewMap().Set("schema", syntax.NewMap().SetText("type", "string"))
		if text := h.Value.Value; r.Raw || !tags.In(text) {
			header.Set("example", syntax.NewText(text))
		} else {
			header.SetText("x-mockserver-template", secret.Template(text))
		}
		if headers := t.Make("headers"); headers.Get(h.Name) == nil {
			headers.Set(h.Name, header)
		}
	}
	if semantics.HasNoContent(status) || r.Body.Value == "" && r.External == nil && !r.HasStream() {
		return
	}
	typ, json := mediaType(r)
	media := t.Make("content").Make(typ)
	if r.HasStream() { // what it sends is only in its original form
		return
	}
	switch text := r.Body.Value; {
	case r.External != nil:
		external := syntax.NewMap().SetText("provider", r.External.Provider).SetText("path", address.WithoutUsers(r.External.Path.Value))
		media.Set("x-mockserver-external-body", external.SetText("sheet-name", r.External.Sheet.Value))
	case !r.Raw && tags.In(text):
		addTemplate(media, text)
	default:
		addExample(media, bodyTree(text, json), when)
	}
}

// mediaType returns the media type of a response body, and whether it is JSON.
func mediaType(r *item.Response) (typ string, json bool) {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, "Content-Type") && (r.Raw || !tags.In(h.Value.Value)) {
			return h.Value.Value, semantics.IsJSON(h.Value.Value)
		}
	}
	if r.HasStream() {
		return r.Stream.MediaType(), false
	}
	if r.BodyJSON || r.External != nil || tags.LooksJSON(r.Body.Value, r.Raw) {
		return "application/json", true
	}
	return "text/plain; charset=utf-8", false
}

// bodyTree returns a fixed body in the form of an example.
func bodyTree(text string, json bool) *syntax.Node {
	if json {
		if t, err := syntax.ParseJSON([]byte(text)); err == nil {
			return t
		}
	}
	return syntax.NewText(text)
}

// addTemplate records the text of a template. Several templates become a list.
func addTemplate(media *syntax.Node, text string) {
	const key = "x-mockserver-template"
	text = secret.Template(text)
	before := media.Get(key)
	switch {
	case before == nil:
		media.SetText(key, text)
		return
	case before.Kind == syntax.TextNode:
		before = syntax.NewList(before)
	}
	if !slices.ContainsFunc(before.List(), func(t *syntax.Node) bool { return t.AsText() == text }) {
		before.Append(syntax.NewText(text))
	}
	if before.Len() > 1 {
		media.Set(key, before)
	}
}

// addExample adds an example to a media type. When there are several, each has a name and says when
// it is sent. Unconditional examples come first, because a request that does not ask for a
// particular one gets the first.
func addExample(media, value *syntax.Node, when circumstance) {
	const ifKey, hostKey = "x-mockserver-if", "x-mockserver-host"
	first, examples := media.Get("example"), media.Get("examples")
	if first == nil && examples == nil {
		when.mark(media.Set("example", value))
		return
	}
	if first != nil {
		entry := syntax.NewMap().Set("value", first)
		for _, key := range []string{hostKey, ifKey} {
			entry.SetText(key, media.Get(key).AsText())
			media.Delete(key)
		}
		media.Delete("example")
		examples = syntax.NewMap().Set("example1", entry)
	}
	name := ""
	for n := examples.Len() + 1; name == "" || examples.Get(name) != nil; n++ {
		name = "example" + strconv.Itoa(n)
	}
	added := when.mark(syntax.NewMap().SetText("summary", when.summary).Set("value", value))
	media.Set("examples", examples.Set(name, added))
	rank := func(e syntax.Entry) int {
		if e.Value.Get(ifKey) != nil || e.Value.Get(hostKey) != nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(examples.Entries, func(a, b syntax.Entry) int { return rank(a) - rank(b) })
}
