// Package compile makes a specification into a snapshot: an immutable form from which requests are
// answered. Whatever can be wrong in a specification is found here.
package compile

import (
	"cmp"
	"slices"
	"strings"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/model"
	"mockserver/config/syntax"
	"mockserver/fetcher"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/memory/data"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/recording"
	"mockserver/listener/protocol/websocket"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
	"mockserver/renderer"
	"mockserver/renderer/llm"
)

// The content types of bodies whose response declares none.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// Compile builds the snapshot of a specification. The problems include those found when the spec
// was read. The snapshot is nil if any of them is an error. Until commit is called, the snapshot in
// service is not affected.
func (c *Compiler) Compile(spec *config.Spec) (*Snapshot, syntax.Problems) {
	if spec == nil {
		return nil, spec.Validate()
	}
	c.Carried.Begin()
	c.models = models{map[*model.Form]*llm.Model{}, map[*item.Endpoint]*ErrorForm{}}
	problems := append(slices.Clone(spec.Problems), c.Data.Begin(spec)...)
	problems = append(problems, c.compileUpstreams(spec, c.Env)...)
	sn := &Snapshot{Responses: make([]Response, len(spec.Endpoints)), Spec: spec}
	routes, steady := make([]matcher.Route, len(spec.Endpoints)), make([]bool, len(spec.Endpoints))
	for i := range spec.Endpoints {
		var wrong syntax.Problems
		routes[i], sn.Responses[i], wrong = c.endpoint(&spec.Endpoints[i])
		if e := &spec.Endpoints[i]; e.Resource != nil || e.LLM != nil { // its problems are the same for each of its operations
			wrong = slices.DeleteFunc(wrong, func(p syntax.Problem) bool { return slices.Contains(problems, p) })
		}
		problems = append(problems, wrong...)
		steady[i] = c.steady
		if f := sn.Responses[i].ErrorForm; f != nil && !slices.Contains(sn.errorForms, f) {
			sn.errorForms = append(sn.errorForms, f)
		}
	}
	if len(spec.Broken.Endpoints) > 0 {
		known := spec.Problems.Places()
		for i := range spec.Broken.Endpoints {
			_, _, wrong := c.endpoint(&spec.Broken.Endpoints[i])
			wrong = slices.DeleteFunc(known.LeaveOut(wrong), func(p syntax.Problem) bool { return slices.Contains(problems, p) })
			problems = append(problems, wrong...)
		}
	}
	sockets, wrong := c.sockets.Compile(spec.WebSockets)
	problems = append(problems, wrong...)
	if len(spec.Broken.WebSockets) > 0 {
		_, wrong := c.sockets.Compile(spec.Broken.WebSockets)
		problems = append(problems, spec.Problems.Places().LeaveOut(wrong)...)
	}
	if problems.Err() != nil {
		return nil, spec.InOrder(problems)
	}
	sn.Sockets = sockets
	table, shadowed := matcher.Compile(routes)
	sn.Table, sn.Index = table, nearest.New(routes)
	sn.forPreflights(routes, steady)
	sn.fix(routes)
	for i := range sn.Responses {
		a := &sn.Responses[i]
		a.Direct = a.isDirect()
		a.Template = a.Template.In(a.program[:])
		a.Immediate, a.Paced = a.isImmediate(), a.isPaced()
		a.Streams = a.may(func(a *Response) bool { return a.Stream != nil })
	}
	return sn, spec.InOrder(append(problems, shadowed...))
}

// Commit puts the sets, the upstreams and the traffic state of the snapshot that was compiled last
// into use.
func (c *Compiler) Commit() {
	c.Carried.Commit()
	c.Data.Commit()
	c.upstreams.Commit()
}

// Close ends what specifications have started, except for the loader.
func (c *Compiler) Close() {
	c.upstreams.Close()
	c.Recordings.Close()
	c.Data.Close() // no more webhooks of rows that change by themselves
}

// endpoint compiles the route of one endpoint, and its answer.
func (c *Compiler) endpoint(e *item.Endpoint) (matcher.Route, Response, syntax.Problems) {
	pattern, problems := matcher.Path(e)
	scope := &renderer.Scope{Params: pattern.Params(), Env: c.Env, Counters: c.counters}
	scope.Later = data.LaterNames(e)
	var errors *ErrorForm
	if e.LLM != nil {
		var wrong syntax.Problems
		errors, wrong = c.model(e, scope)
		problems = append(problems, wrong...)
	}
	access, wrong := c.Data.Compile(e, scope)
	problems = append(problems, wrong...)
	var resource *data.Operation
	if e.Resource != nil {
		resource, wrong = c.Data.CompileOperation(e, scope)
		problems = append(problems, wrong...)
	}
	condition, wrong := renderer.CompileCondition(e.If, scope)
	problems = append(problems, wrong...)
	route := matcher.Route{Endpoint: e, Pattern: pattern}
	t := traffic.NewCounts(&c.Carried, e, c.Chance.Seeded)
	if access.Finds() {
		route.If = func(r *matcher.Request) bool {
			return access.Find(r) && (r.Stopped == data.ErrTooManyRows || condition.Holds(r))
		}
	} else if !condition.Always() {
		route.If = condition.Holds
	}
	c.steady = !access.Finds() && condition.Steady()
	if route.If != nil && c.Chance.Seeded {
		route.If = c.Chance.Conditional(t, route.If)
	}
	access.Names(scope)
	lets, wrong := data.CompileLets(e, scope)
	problems = append(problems, wrong...)
	a, wrong := c.response(e, scope)
	problems = append(problems, wrong...)
	a.access, a.ErrorForm = access, errors
	a.AnyMethod = e.Method == item.MethodAny
	a.Lets, a.Resource, a.Declared = lets, resource, e.Response.Status
	problems = append(problems, c.changes(&a, e, e.Do, scope)...)
	streamed := e.Response.HasStream() || len(e.Responses) > 0
	for i := range e.Responses {
		streamed = streamed && e.Responses[i].Response.HasStream()
	}
	a.Hooks, wrong = c.responseHooks(e.Webhooks, a.Name, streamed, scope)
	problems = append(problems, wrong...)
	wrong = c.rules(e, &a, t, scope)
	a.share(func(rate float64) *traffic.Clock { return traffic.NewClock(&c.Carried, e, rate) })
	return route, a, e.Claim(append(problems, wrong...))
}

// rules compiles the operation of an endpoint with answer a, and the rules for requests to the
// endpoint: limits, latency, faults and outcomes. With a seed, every endpoint whose answer differs
// between requests has rules, for its random numbers.
func (c *Compiler) rules(e *item.Endpoint, a *Response, counts *traffic.Counts, scope *renderer.Scope) (problems syntax.Problems) {
	a.Disturbed = traffic.Declared(e) || c.Chance.Seeded && !a.IsFixed()
	a.Operation = c.operation(e, *a)
	if !a.Disturbed && a.Operation == nil {
		return nil
	}
	a.Rules = traffic.NewRules(e, scope.Params, counts, traffic.Options{
		Carried: &c.Carried, Seed: &c.Chance, TrustForwarded: c.TrustForwarded, NoLatency: c.NoLatency, NoFaults: c.NoFaults, Log: c.Log,
	})
	within := *scope
	within.Rows = scope.Rows[:min(len(scope.Rows), len(e.Find)+len(e.State))] // the other rows are not known when an outcome is drawn
	if per, wrong := renderer.CompileOperand(e.Per, &within); per != nil || wrong != nil {
		problems = append(problems, wrong...)
		a.Rules.Per = func(r *matcher.Request) []byte {
			text, _ := per.Text(r)
			return text
		}
	}
	for i := range e.Responses {
		declared := &e.Responses[i]
		single := *e
		single.Response, single.Fault = declared.Response, cmp.Or(declared.Fault, e.Fault)
		o, wrong := c.response(&single, scope)
		problems = append(problems, wrong...)
		o.Name, o.Hooks = traffic.OutcomeName(a.Name, i), a.Hooks
		if a.Resource != nil && !declared.Response.HasBody() {
			o.Resource, o.Declared = a.Resource, declared.Response.Status
		}
		o.access, o.Changes, o.Elses, o.Lets = a.access, a.Changes, a.Elses, a.Lets
		if declared.Do != nil {
			problems = append(problems, c.changes(&o, e, declared.Do, scope)...)
		}
		if declared.Webhooks != nil {
			o.Hooks, wrong = c.responseHooks(declared.Webhooks, o.Name, declared.Response.HasStream(), scope)
			for k := range o.Hooks {
				o.Hooks[k].Own = true
			}
			problems = append(problems, wrong...)
		}
		a.Outcomes = append(a.Outcomes, o)
	}
	return problems
}

// changes compiles the changes of an answer, and the answers to send when a change is not possible.
func (c *Compiler) changes(a *Response, e *item.Endpoint, do []item.Do, scope *renderer.Scope) (problems syntax.Problems) {
	a.Changes, a.Elses = nil, nil
	if a.access == nil {
		return nil
	}
	a.Changes, problems = a.access.CompileChanges(do, scope)
	for i := range do {
		var instead Response
		if do[i].Else != nil {
			var wrong syntax.Problems
			single := *e
			single.Response = *do[i].Else
			instead, wrong = c.response(&single, scope)
			problems = append(problems, wrong...)
		}
		a.Elses = append(a.Elses, instead)
	}
	return problems
}

// response compiles the answer of one endpoint.
func (c *Compiler) response(e *item.Endpoint, scope *renderer.Scope) (Response, syntax.Problems) {
	resp := &e.Response
	a := Response{
		Name:   record.Name(e),
		Status: cmp.Or(resp.Status, 200),
	}
	a.TypeDeclared = slices.ContainsFunc(resp.Headers, func(h item.Header) bool { return strings.EqualFold(h.Name, "Content-Type") })
	form, problems := c.headers(&a, resp, scope)
	var wrong syntax.Problems
	a.Proxy, wrong = c.proxy(e, scope)
	problems = append(problems, wrong...)
	if a.Proxy != nil {
		a.Proxy.set = a.fieldNames()
		problems = append(problems, c.spoiling(&a, e, -1, form, scope)...)
	}
	if a.Proxy != nil && !a.Proxy.missing || semantics.HasNoContent(a.Status) { // then Content-Type is sent only if declared
		return a, problems
	}
	if !a.TypeDeclared && !hasNoContent(e) {
		a.ContentType = defaultContentType(resp)
	}
	switch {
	case resp.HasStream():
		wrong = c.stream(&a, e, form, scope)
	case resp.External != nil:
		a.Source, wrong = c.Loader.Source(resp.External, e.Dir, form, resp.Raw, scope)
	case resp.Raw:
		a.Static = []byte(resp.Body.Value)
	default:
		var t *renderer.Template
		if t, wrong = renderer.Compile(resp.Body, form, scope); t != nil {
			if text, ok := t.Static(); ok {
				a.Static = []byte(text)
			} else {
				a.Template = t.Ready()
				if !a.TypeDeclared && t.IsRow() {
					a.ContentType = typeJSON
				}
			}
		}
	}
	return a, append(problems, wrong...)
}

func defaultContentType(resp *item.Response) string {
	if resp.External != nil || resp.BodyJSON || tags.LooksJSON(resp.Body.Value, resp.Raw) {
		return typeJSON
	}
	return typeText
}

// New returns a compiler. Close ends what it has started.
func New(opts Options) *Compiler {
	c := &Compiler{
		Options:  opts,
		Loader:   fetcher.NewLoader(int64(min(opts.MaxResponse, matcher.DefaultMaxText))),
		counters: &renderer.Counters{},
		Chance:   traffic.NewSeed(opts.Seed),
	}
	c.Data = data.New(data.Options{
		Memory: int64(opts.StateMemory), Log: opts.Log, Seed: opts.Seed,
		Scope: renderer.Scope{Env: c.Env, Counters: c.counters}, Webhooks: c.moved,
	})
	c.Recordings = recording.NewSet(opts.Log, c.Env)
	c.sockets = websocket.Compiler{Env: c.Env, Counters: c.counters, MaxMessage: opts.MaxMessage, Seed: c.socketSeed}
	return c
}
