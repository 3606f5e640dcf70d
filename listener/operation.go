package listener

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"mockserver/config"
	"mockserver/config/openapi"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// operation is an operation of an OpenAPI document: the answers that a request can choose from, and
// the checks of requests. Unless bodies are dynamic, requests without preferences get the answer of
// the endpoint and do not use it.
type operation struct {
	document *openapi.Operation
	base     answer // the answer of the endpoint
	// own means that the answer of the endpoint is from a mocks file, not from the document.
	own bool
	// dynamic means that requests get a newly generated body unless they prefer otherwise: see
	// Options.
	dynamic bool
	// limited means that query parameters can limit the list in the answer.
	limited bool
	// typed means that the answer has several media types, so that Accept matters.
	typed   bool
	maxBody int // the maximum size of a body without its content codings, in bytes, if requests are validated
	// answers are those of the document, each compiled when it is first chosen: most never are, and
	// a document may have tens of thousands.
	answers []atomic.Pointer[answer]
}

// operation compiles the operation of an endpoint with answer a; it returns nil for an endpoint
// without one.
func (c *compiler) operation(e *config.Endpoint, a answer) *operation {
	d := e.Operation
	if d == nil {
		return nil
	}
	o := &operation{document: d, base: a, maxBody: c.maxBody, own: len(d.Answers) == 0 || len(e.Responses) > 0, answers: make([]atomic.Pointer[answer], len(d.Answers))}
	if !o.own {
		byDefault := &d.Answers[d.Default]
		o.own = a.status != byDefault.Status || a.source != nil || e.Response.Body.Value != cmp.Or(d.Template, string(byDefault.Body))
		o.typed = !o.own && slices.ContainsFunc(d.Answers, func(x openapi.Answer) bool {
			return x.Declared == byDefault.Declared && x.MediaType != byDefault.MediaType
		})
	}
	o.limited = !o.own && d.List != nil
	o.dynamic = c.dynamic && !o.own && slices.ContainsFunc(d.Answers, func(x openapi.Answer) bool { return x.Fresh != nil })
	return o
}

// hasNoContent reports whether the document declares no content for the answer of an endpoint.
func hasNoContent(e *config.Endpoint) bool {
	return e.Operation != nil && e.Response.Raw && e.Response.External == nil && e.Response.Body.Value == ""
}

// asked reports whether a request may get an answer other than that of the endpoint.
func (o *operation) asked(c *call) bool {
	if query := c.QueryString(); o.document.Checked() || o.dynamic || len(query) > 0 && (o.limited || asks(query)) {
		return true
	}
	prefers, accepts := c.peer.Chooses()
	if prefers {
		if _, ok := c.Header(preferHeader); ok {
			return true
		}
	}
	return o.typed && accepts && !isIndifferent(c.In.Header)
}

// isFixed reports whether requests without preferences need no inspection.
func (o *operation) isFixed() bool { return !o.document.Checked() && !o.dynamic }

// choose returns the answer that a request asks for; nil for that of the endpoint. answered means
// that the request was answered already, because there is no such answer, or because the document
// does not allow the request.
func (o *operation) choose(c *call) (chosen *answer, answered bool) {
	if o.refuse(c) {
		return nil, true
	}
	p := readPreferences(&c.Request)
	p.imply(o.dynamic)
	if o.own && p.allow(o.base.status) {
		return nil, false
	}
	i, status, ok := o.picked(&p, c)
	if !ok {
		return nil, true
	}
	fresh := o.document.Answers[i].Fresh
	byDefault := i == o.document.Default && status == o.base.status && !o.own
	if byDefault && (!p.dynamic || p.implied && fresh == nil) {
		return o.cut(c, &p), false
	}
	chosen = o.answer(i)
	if status != chosen.status {
		other := *chosen
		chosen = &other
		chosen.setStatus(status)
	}
	// An example is preferred even if bodies are dynamic.
	if p.dynamic && fresh != nil && len(p.example) == 0 && !chosen.bodiless {
		other := *chosen
		other.static = fresh(c.Random.Uint64())
		if byDefault {
			other.static = o.fill(c, o.cutFresh(c, other.static))
		}
		chosen = &other
	}
	return chosen, false
}

// picked is pick, and answers a request that asks for an answer that does not exist.
func (o *operation) picked(p *preferences, c *call) (index, status int, ok bool) {
	f, why := reply.AnswerNotFound, ""
	switch {
	case p.wrong != "":
		f, why = reply.BadPreference, p.wrong
	case len(o.answers) == 0:
		why = o.base.name + " has one answer, which its document does not declare; none can be chosen"
	default:
		index, status, why = o.pick(p, c.In.Header)
	}
	if why != "" {
		f.Write(&c.reply, why)
	}
	return index, status, why == ""
}

// answer returns one of the document's answers, compiled.
func (o *operation) answer(i int) *answer {
	if a := o.answers[i].Load(); a != nil {
		return a
	}
	d := &o.document.Answers[i]
	a := &answer{name: o.base.name, contentType: d.MediaType, static: d.Body, hooks: o.base.hooks, lets: o.base.lets}
	for _, h := range d.Headers {
		switch {
		case config.ServerSets(h.Name):
		case strings.EqualFold(h.Name, "Content-Type"):
			a.contentType = h.Value
		default:
			a.headers = append(a.headers, header{name: h.Name, value: h.Value})
		}
	}
	a.setStatus(d.Status)
	o.answers[i].Store(a) // another goroutine may have stored the same
	return a
}

// setStatus sets the status of an answer. Webhooks follow what was done, so none follow an answer
// which says that nothing was.
func (a *answer) setStatus(status int) {
	a.status = status
	a.bodiless = status == 204 || status == 304
	if status >= 400 {
		a.hooks = nil
	}
}

// pick returns the index of the answer that the preferences and the Accept header ask for, and its
// status, or why there is none.
func (o *operation) pick(p *preferences, header matcher.Header) (index, status int, why string) {
	all := o.document.Answers
	byDefault := &all[o.document.Default]
	declared, status := byDefault.Declared, byDefault.Status
	if p.code != 0 {
		if declared = o.declaredFor(p.code); declared == "" {
			return 0, 0, o.base.name + " has no answer " + strconv.Itoa(p.code) + "; there are " + strings.Join(o.codes(), ", ")
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
		if candidates = o.fresh(candidates); len(candidates) == 0 {
			return 0, 0, "the answer " + declared + " of " + o.base.name + " has no schema, from which a dynamic one could be made"
		}
	}
	return o.best(candidates, header), status, ""
}

// declaredFor returns the key in the document for a status: 404 before 4XX before default; "" for
// none.
func (o *operation) declaredFor(code int) string {
	best, found := 0, ""
	for i := range o.document.Answers {
		declared := o.document.Answers[i].Declared
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
func (o *operation) codes() []string {
	var codes []string
	for _, a := range o.document.Answers {
		if !slices.Contains(codes, a.Declared) {
			codes = append(codes, a.Declared)
		}
	}
	return codes
}

// withoutExample returns the message that an answer has no example with a name. It lists the
// examples that the answer has, and other answers that have that example.
func (o *operation) withoutExample(declared, name string) string {
	var names, elsewhere []string
	for _, a := range o.document.Answers {
		switch {
		case a.Declared == declared && a.Example != "" && !slices.Contains(names, strconv.Quote(a.Example)):
			names = append(names, strconv.Quote(a.Example))
		case a.Example == name && !slices.Contains(elsewhere, a.Declared):
			elsewhere = append(elsewhere, a.Declared)
		}
	}
	why := "the answer " + declared + " of " + o.base.name + " has no example " + strconv.Quote(bounded(name))
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

// fresh keeps the candidates whose bodies can be generated, and those without a body.
func (o *operation) fresh(candidates []int) []int {
	return slices.DeleteFunc(candidates, func(i int) bool {
		a := &o.document.Answers[i]
		return a.Fresh == nil && a.MediaType != ""
	})
}

// best returns the candidate with the most acceptable media type. Among several with the same type
// it prefers the default, then the first.
func (o *operation) best(candidates []int, header matcher.Header) int {
	all := o.document.Answers
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
func (o *operation) rank(i int, header matcher.Header) rank {
	a := &o.document.Answers[i]
	r := rank{byDefault: i == o.document.Default, json: isJSONType(a.MediaType)}
	r.weight, r.specific = weigh(a.MediaType, header)
	return r
}
