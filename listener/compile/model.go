package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/config/model"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/listener/memory/data"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/llm"
)

// models are what is compiled once for all endpoints of a language model.
type models struct {
	byForm     map[*model.Form]*llm.Model
	errorForms map[*item.Endpoint]*ErrorForm
}

// ErrorForm is the form of the server's own errors for the paths of a language model.
type ErrorForm struct {
	Response // with the value failure, in addition to Lets
	of       *item.Endpoint
	paths    []string // of all endpoints of the model
}

// model compiles the language model of an endpoint.
func (c *Compiler) model(e *item.Endpoint, scope *renderer.Scope) (form *ErrorForm, problems syntax.Problems) {
	m := c.models.byForm[e.LLM.Form]
	if m == nil {
		m, problems = llm.New(e.LLM.LLM, e.LLM.Form, scope)
		c.models.byForm[e.LLM.Form] = m
	}
	scope.Model = m.Request
	declared := e.LLM.Failure
	if form = c.models.errorForms[declared]; form != nil {
		form.paths = append(form.paths, e.Path.Value)
		return form, problems
	}
	within := &renderer.Scope{Env: c.Env, Counters: c.counters}
	lets, _ := data.CompileLets(declared, within) // a test compiles the files of all providers
	within.Rows = append(within.Rows, "failure")
	form = &ErrorForm{of: e, paths: []string{e.Path.Value}}
	form.Response, _ = c.response(declared, within)
	form.Lets, c.models.errorForms[declared] = lets, form
	return form, problems
}

// ErrorForm returns the form of the server's own errors for a request that no endpoint matches; nil for the general one.
// Of several models below one path, it is that of the one that has the path of the request, or else of the first.
func (sn *Snapshot) ErrorForm(r *matcher.Request) (form *ErrorForm) {
	path := strings.TrimSuffix(string(r.Path()), "/")
	for _, f := range sn.errorForms {
		m := f.of.LLM
		if _, meant := r.Header(m.Among); !meant && m.LLM.Provider == model.AllProviders && m.Among != "" {
			continue
		}
		if matcher.HostCovers(f.of.Host, r.HostName()) && slices.ContainsFunc(m.Bases, func(base string) bool {
			return strings.HasPrefix(path, m.Path+base+"/")
		}) {
			if slices.Contains(f.paths, path) {
				return f
			}
			form = cmp.Or(form, f)
		}
	}
	return form
}

// Dress gives an error of the server the form of the provider's. The texts of values are appended to a buffer, which it
// returns.
func (f *ErrorForm) Dress(p *reply.Reply, r *matcher.Request, texts []byte) []byte {
	s, _ := f.of.LLM.Statuses.Of(p.Status)
	if s.Code == "" {
		s.Code = p.Refusal.Code
	}
	b := append(strconv.AppendInt([]byte(`{"param":null,"status":`), int64(p.Status), 10), `,"details":[`...)
	if wait, ok := p.HeaderValue(fasthttp.HeaderRetryAfter); ok && f.of.LLM.Retry != "" {
		b = fmt.Appendf(b, `{"@type":%q,"retryDelay":"%ss"}`, f.of.LLM.Retry, wait)
		p.Fields = slices.DeleteFunc(p.Fields, func(f reply.Field) bool { return f.Name == fasthttp.HeaderRetryAfter })
	}
	b = append(b, ']')
	for _, m := range [...][2]string{{"type", s.Type}, {"code", s.Code}, {"message", p.Refusal.Message}} {
		b = syntax.AppendJSON(append(syntax.AppendJSON(append(b, ','), m[0]), ':'), m[1])
	}
	rows := r.Rows
	r.Rows = nil
	texts = f.Lets.Make(texts, r)
	r.Rows = append(r.Rows, json.Parse(append(b, '}')))
	f.AddHeaders(p, r)
	p.Render(&f.Template, r)
	p.ContentType, r.Rows = f.ContentType, rows
	return texts
}
