// Package negotiate decides which answer of an OpenAPI operation a request gets: by its preferences
// (RFC 7240), by media types (RFC 9110), by the parameters that limit lists, and by whether the
// document allows the request. It does not know about connections or compiled answers.
package negotiate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
	"mockserver/matcher"
)

// Operation is an operation of an OpenAPI document: it chooses one of its answers for a request,
// and checks requests. Unless requests are validated or bodies are dynamic, requests without
// preferences get the answer of the endpoint and do not use the Operation. It is immutable.
type Operation struct {
	// Typed means that the answer has several media types, so that Accept matters.
	Typed bool
	// Limited means that query parameters can limit the list in the answer.
	Limited bool

	document *openapi.Operation
	name     string // of the endpoint, for messages
	status   int    // of the answer of the endpoint
	// own means that the answer of the endpoint is from a mocks file, not from the document.
	own bool
	// dynamic means that requests get a newly generated body unless they prefer otherwise.
	dynamic bool
	maxBody int // the maximum size of a body without its content codings, in bytes, if requests are validated
}

// Options describe the endpoint of an operation.
type Options struct {
	Name     string // of the endpoint, for messages
	Status   int    // of its answer
	External bool   // its answer has an external body
	Dynamic  bool   // bodies are generated for each request
	MaxBody  int    // of requests, in bytes
}

// New returns the operation of an endpoint that has one.
func New(e *item.Endpoint, opts Options) *Operation {
	d := e.Operation
	o := &Operation{document: d, name: opts.Name, status: opts.Status, maxBody: opts.MaxBody, own: len(d.Responses) == 0 || len(e.Responses) > 0}
	if !o.own {
		byDefault := &d.Responses[d.Default]
		o.own = opts.Status != byDefault.Status || opts.External || e.Response.Body.Value != cmp.Or(d.Template, string(byDefault.Body))
		o.Typed = !o.own && slices.ContainsFunc(d.Responses, func(x openapi.Response) bool {
			return x.Declared == byDefault.Declared && x.MediaType != byDefault.MediaType
		})
	}
	o.Limited = !o.own && d.List != nil
	o.dynamic = opts.Dynamic && !o.own && slices.ContainsFunc(d.Responses, func(x openapi.Response) bool { return x.Fresh != nil })
	return o
}

// MayChoose reports whether a request may get an answer other than that of the endpoint for reasons
// other than its headers; for the headers, see Prefers and Accepts.
func (o *Operation) MayChoose(r *matcher.Request) bool {
	query := r.QueryString()
	return o.document.Checked() || o.dynamic || len(query) > 0 && (o.Limited || Asks(query))
}

// Prefers reports whether a request has a Prefer header.
func (o *Operation) Prefers(r *matcher.Request) bool {
	_, ok := r.Header(preferHeader)
	return ok
}

// Accepts reports whether the Accept header of a request may choose an answer.
func (o *Operation) Accepts(r *matcher.Request) bool {
	return o.Typed && !isIndifferent(r.In.Header)
}

// IsFixed reports whether requests without preferences need no inspection.
func (o *Operation) IsFixed() bool { return !o.document.Checked() && !o.dynamic }

// Head returns the Content-Type of a document's answer, "" for none, and its other header fields
// except those that the server sets.
func Head(d *openapi.Response) (contentType string, fields []openapi.Header) {
	contentType = d.MediaType
	for _, h := range d.Headers {
		switch {
		case semantics.ServerSets(h.Name):
		case strings.EqualFold(h.Name, "Content-Type"):
			contentType = h.Value
		default:
			fields = append(fields, h)
		}
	}
	return contentType, fields
}

// pick returns the index of the answer that the preferences and the Accept header ask for, and its
// status, or the reason why there is none.
func (o *Operation) pick(p *preferences, header matcher.Header) (index, status int, why string) {
	all := o.document.Responses
	byDefault := &all[o.document.Default]
	declared, status := byDefault.Declared, byDefault.Status
	if p.code != 0 {
		if declared = o.declaredFor(p.code); declared == "" {
			return 0, 0, o.name + " has no answer " + strconv.Itoa(p.code) + "; there are " + strings.Join(o.codes(), ", ")
		}
		status = p.code
	}
	candidates := make([]int, 0, 16) // on the stack
	for i := range all {
		if all[i].Declared == declared && (len(p.example) == 0 || all[i].Example == string(p.example)) {
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 {
		return 0, 0, o.withoutExample(declared, string(p.example))
	}
	if p.dynamic && !p.implied && len(p.example) == 0 {
		candidates = slices.DeleteFunc(candidates, func(i int) bool { return all[i].Fresh == nil && all[i].MediaType != "" })
		if len(candidates) == 0 {
			return 0, 0, "the answer " + declared + " of " + o.name + " has no schema to generate a dynamic one from"
		}
	}
	return o.best(candidates, header), status, ""
}

// declaredFor returns the key in the document for a status: 404 before 4XX before default; "" for
// none.
func (o *Operation) declaredFor(code int) string {
	best, found := 0, ""
	for i := range o.document.Responses {
		declared := o.document.Responses[i].Declared
		rank := 0
		switch {
		case declared == "default":
			rank = 1
		case len(declared) == 3 && declared[0] == byte('0'+code/100) && strings.EqualFold(declared[1:], "XX"):
			rank = 2
		case len(declared) == 3:
			if n, err := strconv.Atoi(declared); err == nil && n == code {
				rank = 3
			}
		}
		if rank > best {
			best, found = rank, declared
		}
	}
	return found
}

// codes returns the statuses of the answers as written in the document.
func (o *Operation) codes() []string {
	var codes []string
	for _, a := range o.document.Responses {
		if !slices.Contains(codes, a.Declared) {
			codes = append(codes, a.Declared)
		}
	}
	return codes
}

// withoutExample returns the message that an answer has no example with the given name. It lists
// the examples that the answer has, and other answers that have that example.
func (o *Operation) withoutExample(declared, name string) string {
	var names, elsewhere []string
	for _, a := range o.document.Responses {
		switch {
		case a.Declared == declared && a.Example != "" && !slices.Contains(names, strconv.Quote(a.Example)):
			names = append(names, strconv.Quote(a.Example))
		case a.Example == name && !slices.Contains(elsewhere, a.Declared):
			elsewhere = append(elsewhere, a.Declared)
		}
	}
	why := "the answer " + declared + " of " + o.name + " has no example " + strconv.Quote(wording.Bounded(name))
	if len(names) > 0 {
		why += "; there are " + strings.Join(names, ", ")
	} else {
		why += ", nor any other that has a name"
	}
	if len(elsewhere) > 0 {
		why += " (with code=" + strings.Join(elsewhere, " or code=") + " there is one)"
	}
	return why
}

// best returns the candidate with the most acceptable media type. Among several with the same type,
// it prefers the default one, then the first.
func (o *Operation) best(candidates []int, header matcher.Header) int {
	all := o.document.Responses
	chosen, rank := candidates[0], o.rank(candidates[0], header)
	for _, i := range candidates[1:] {
		if all[i].MediaType == all[chosen].MediaType && i != o.document.Default {
			continue
		}
		if r := o.rank(i, header); r.above(rank) {
			chosen, rank = i, r
		}
	}
	return chosen
}

// rank returns how well an answer fits the Accept header.
func (o *Operation) rank(i int, header matcher.Header) rank {
	a := &o.document.Responses[i]
	r := rank{byDefault: i == o.document.Default, json: semantics.IsJSON(a.MediaType) && !semantics.HoldsMany(semantics.MediaType(a.MediaType))}
	r.weight, r.specific = weigh(a.MediaType, header)
	return r
}
