package config

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/files"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// operation is an operation of a document, with the directory for relative file names.
type operation struct {
	*openapi.Operation
	dir string
}

// endpoint returns the endpoint of an operation without its mocks. It adds a problem for each
// callback that cannot be sent.
func (o operation) endpoint(problems *syntax.Problems) item.Endpoint {
	e := item.Endpoint{
		Pos: o.Pos, Key: o.Pointer, Dir: o.dir, Method: o.Method, Template: true, Operation: o.Operation,
		Path: syntax.Text{Value: o.Path, Pos: o.Pos, Key: o.Pointer, Folded: true},
		Doc:  item.Doc{Tags: o.Tags, Summary: o.Summary, Description: o.Description, RouterName: o.ID},
	}
	if o.When != "" {
		e.If = syntax.Text{Value: o.When, Pos: o.Pos, Key: o.Pointer, Folded: true}
	}
	e.Response = item.Response{Pos: e.Pos, Raw: true}
	if o.Default < len(o.Responses) {
		e.Response = o.response(&o.Responses[o.Default])
		if o.Template != "" {
			e.Response.Raw, e.Response.Body.Value = false, o.Template
		}
	}
	for i := range o.Callbacks {
		w, wrong := o.webhook(&o.Callbacks[i])
		if wrong != nil {
			*problems = append(*problems, *wrong)
			continue
		}
		e.Webhooks = append(e.Webhooks, w)
	}
	return e
}

// response returns the response for an answer of a document. Its texts are not templates.
func (o operation) response(a *openapi.Response) item.Response {
	r := item.Response{Pos: o.Pos, Raw: true, Status: a.Status}
	if a.MediaType != "" {
		r.Headers = append(r.Headers, o.header("Content-Type", a.MediaType))
	}
	for _, h := range a.Headers {
		r.Headers = append(r.Headers, o.header(h.Name, h.Value))
	}
	r.Body = syntax.Text{Value: string(a.Body), Pos: o.Pos, Key: o.Pointer, Folded: true}
	return r
}

func (o operation) header(name, value string) item.Header {
	return item.Header{Name: name, Value: syntax.Text{Value: value, Pos: o.Pos, Key: o.Pointer, Folded: true}}
}

// webhook returns a callback of an operation as a webhook, or why it cannot be sent.
func (o operation) webhook(cb *openapi.Callback) (item.Webhook, *syntax.Problem) {
	pos := cb.Pos
	var response *openapi.Response
	if o.Default < len(o.Responses) {
		response = &o.Responses[o.Default]
	}
	target, what := openapi.CallbackURL(cb.URL, response)
	if what == "" && !strings.Contains(target, "{{") {
		if fault := address.URLFault([]byte(target)); fault != "" {
			what = fmt.Sprintf("%q is not a valid URL: %s", address.Shown(target), fault)
		}
	}
	if what == "" && !slices.Contains(semantics.Methods, cb.Method) {
		what = "requests with the method " + wording.Label(cb.Method) + " are not sent"
	}
	if what != "" {
		return item.Webhook{}, &syntax.Problem{Pos: pos, Key: openapi.PointerLabel(cb.Pointer), What: "the callback is not sent: " + what, Warning: true, Kind: "callbacks are not sent"}
	}
	w := item.Webhook{
		Pos: pos, Key: cb.Pointer, Method: cb.Method, Raw: true, Delay: cb.Delay,
		URL:  syntax.Text{Value: target, Pos: pos, Key: cb.Pointer, Folded: true},
		Body: syntax.Text{Value: string(cb.Body), Pos: pos, Key: cb.Pointer, Folded: true},
	}
	if cb.Delayed && cb.Delay == 0 {
		w.Delay = item.AtOnce
	}
	if cb.MediaType != "" {
		w.Headers = append(w.Headers, o.header("Content-Type", cb.MediaType))
	}
	for _, h := range cb.Headers {
		if semantics.IsToken(h.Name) && !strings.ContainsFunc(h.Value, semantics.ForbiddenInValue) && http.CanonicalHeaderKey(h.Name) != "Content-Type" {
			w.Headers = append(w.Headers, o.header(h.Name, h.Value))
		}
	}
	return w, nil
}

// options returns the options for reading documents.
func (l Loader) options() openapi.Options {
	return openapi.Options{
		Seed: l.Seed, AllowRemoteRefs: l.AllowRemoteRefs, Checks: l.Validate, Samples: l.SampleRequests,
		Strict: l.StrictDocuments, BasePath: l.BasePath,
		Open:    OpenDocument,
		Parse:   ReadDocument,
		Suggest: wording.DidYouMean,
	}
}

// OpenDocument reads an OpenAPI document or a JSON Schema, or a part of one, from a file. A problem
// without a line concerns the whole file.
func OpenDocument(name string) (*syntax.Node, syntax.Problems) {
	data, err := files.Read(name)
	if err != nil {
		return nil, syntax.Problems{fileProblem(name, err.Error())}
	}
	return ReadDocument(name, data)
}

// ReadDocument parses such a file: YAML (which includes JSON), or EDN if the name has that extension.
func ReadDocument(name string, data []byte) (*syntax.Node, syntax.Problems) {
	docs, problems := syntax.Read(name, data)
	docs = slices.DeleteFunc(docs, func(doc *syntax.Node) bool { return doc.Kind == syntax.NullNode })
	if len(docs) == 0 {
		if len(problems) == 0 {
			problems = syntax.Problems{fileProblem(name, "the file is empty")}
		}
		return nil, problems
	}
	return docs[0].Document(), problems
}
