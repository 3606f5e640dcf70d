package listener

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/fetcher"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
	"mockserver/listener/memory/data"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/recording"
	"mockserver/listener/observe/sentry"
	"mockserver/listener/protocol/websocket"
	"mockserver/listener/serve/traffic"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
	"mockserver/renderer"
)

// The content types of bodies whose response declares none.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// compile builds the snapshot of a specification. The problems include those found when the spec
// was read. The snapshot is nil if any of them is an error. Until commit is called, the snapshot in
// service is not affected.
func (c *compiler) compile(spec *config.Spec) (*snapshot, syntax.Problems) {
	if spec == nil {
		return nil, spec.Validate()
	}
	c.carried.Begin()
	problems := append(slices.Clone(spec.Problems), c.data.Begin(spec)...)
	problems = append(problems, c.compileUpstreams(spec, c.env)...)
	sn := &snapshot{answers: make([]answer, len(spec.Endpoints)), spec: spec}
	routes, steady := make([]matcher.Route, len(spec.Endpoints)), make([]bool, len(spec.Endpoints))
	for i := range spec.Endpoints {
		var wrong syntax.Problems
		routes[i], sn.answers[i], wrong = c.endpoint(&spec.Endpoints[i])
		if spec.Endpoints[i].Resource != nil { // its problems are the same for each of its operations
			wrong = slices.DeleteFunc(wrong, func(p syntax.Problem) bool { return slices.Contains(problems, p) })
		}
		problems = append(problems, wrong...)
		steady[i] = c.steady
		if a := &sn.answers[i]; a.rules != nil && a.rules.Delay() || a.proxies() || a.waits {
			sn.single = true
		}
	}
	if len(spec.Broken) > 0 {
		known := spec.Problems.Places()
		for i := range spec.Broken {
			_, _, wrong := c.endpoint(&spec.Broken[i])
			problems = append(problems, known.LeaveOut(wrong)...)
		}
	}
	sockets, wrong := c.sockets.Compile(spec.WebSockets)
	problems = append(problems, wrong...)
	if len(spec.BrokenWebSockets) > 0 {
		_, wrong := c.sockets.Compile(spec.BrokenWebSockets)
		problems = append(problems, spec.Problems.Places().LeaveOut(wrong)...)
	}
	if problems.Err() != nil {
		return nil, spec.InOrder(problems)
	}
	sn.sockets = sockets
	table, shadowed := matcher.Compile(routes)
	sn.table, sn.index = table, nearest.New(routes)
	sn.forPreflights(routes, steady)
	sn.fix(routes)
	calm := !slices.ContainsFunc(sn.answers, func(a answer) bool { return a.may((*answer).isSlow) })
	for i := range sn.answers {
		a := &sn.answers[i]
		a.direct = a.isDirect(calm)
		a.template = a.template.In(a.program[:])
		a.prepareBlock()
		a.brief = a.source == nil && a.proxy == nil && len(a.hooks)+len(a.lets) == 0 && a.changes == nil && a.resource == nil && a.template.IsBrief()
	}
	return sn, spec.InOrder(append(problems, shadowed...))
}

// commit puts the sets, the upstreams and the traffic state of the snapshot that was compiled last
// into use.
func (c *compiler) commit() {
	c.carried.Commit()
	c.data.Commit()
	c.upstreams.Commit()
}

// close ends what specifications have started, except for the loader.
func (c *compiler) close() {
	c.upstreams.Close()
	c.recordings.Close()
	c.shared.Close()
	c.data.Close() // no more webhooks of rows that change by themselves
}

// endpoint compiles the route of one endpoint, and its answer.
func (c *compiler) endpoint(e *item.Endpoint) (matcher.Route, answer, syntax.Problems) {
	pattern, problems := matcher.Path(e)
	scope := &renderer.Scope{Params: pattern.Params(), Env: c.env, Counters: c.counters}
	scope.Later = data.LaterNames(e)
	access, wrong := c.data.Compile(e, scope)
	problems = append(problems, wrong...)
	var resource *data.Operation
	if e.Resource != nil {
		resource, wrong = c.data.CompileOperation(e, scope)
		problems = append(problems, wrong...)
	}
	condition, wrong := renderer.CompileCondition(e.If, scope)
	problems = append(problems, wrong...)
	route := matcher.Route{Endpoint: e, Pattern: pattern}
	t := traffic.NewCounts(&c.carried, e, c.chance.Seeded)
	if access.Finds() {
		route.If = func(r *matcher.Request) bool {
			return access.Find(r) && (r.Stopped == data.ErrTooManyRows || condition.Holds(r))
		}
	} else if !condition.Always() {
		route.If = condition.Holds
	}
	c.steady = !access.Finds() && condition.Steady()
	if route.If != nil && c.chance.Seeded {
		route.If = c.chance.Conditional(t, route.If)
	}
	if c.waits = false; c.sharedState {
		scope.Shared = c.sharedNumbers
	}
	access.Names(scope)
	lets, wrong := data.CompileLets(e, scope)
	problems = append(problems, wrong...)
	a, wrong := c.answer(e, scope)
	problems = append(problems, wrong...)
	a.access = access
	a.anyMethod = e.Method == item.MethodAny
	a.lets, a.resource, a.declared = lets, resource, e.Response.Status
	problems = append(problems, c.changes(&a, e, e.Do, scope)...)
	a.hooks, wrong = c.answerHooks(e.Webhooks, a.name, scope)
	problems = append(problems, wrong...)
	wrong = c.rules(e, &a, t, scope)
	a.waits = c.waits
	return route, a, e.Claim(append(problems, wrong...))
}

// rules compiles the operation of an endpoint with answer a, and the rules for requests to the
// endpoint: limits, latency, faults and outcomes. With a seed, every endpoint whose answer differs
// between requests has rules, for its random numbers.
func (c *compiler) rules(e *item.Endpoint, a *answer, counts *traffic.Counts, scope *renderer.Scope) (problems syntax.Problems) {
	a.disturbed = traffic.Declared(e) || c.chance.Seeded && !a.isFixed()
	a.operation = c.operation(e, *a)
	if !a.disturbed && a.operation == nil {
		return nil
	}
	if !c.sharedState {
		problems = append(problems, traffic.Unshared(e)...)
	}
	a.rules = traffic.NewRules(e, scope.Params, counts, traffic.Options{
		Carried: &c.carried, Shared: c.shared, Seed: &c.chance, TrustForwarded: c.trustForwarded, NoLatency: c.noLatency, NoFaults: c.noFaults, Log: c.log,
	})
	within := *scope
	within.Rows = scope.Rows[:min(len(scope.Rows), len(e.Find)+len(e.State))] // the other rows are not known when an outcome is drawn
	if per, wrong := renderer.CompileOperand(e.Per, &within); per != nil || wrong != nil {
		problems = append(problems, wrong...)
		a.rules.Per = func(r *matcher.Request) []byte {
			text, _ := per.Text(r)
			return text
		}
	}
	for i := range e.Responses {
		declared := &e.Responses[i]
		single := *e
		single.Response = declared.Response
		o, wrong := c.answer(&single, scope)
		problems = append(problems, wrong...)
		o.name, o.hooks = traffic.OutcomeName(a.name, i), a.hooks
		if a.resource != nil && !declared.Response.HasBody() {
			o.resource, o.declared = a.resource, declared.Response.Status
		}
		o.access, o.changes, o.elses, o.lets = a.access, a.changes, a.elses, a.lets
		if declared.Do != nil {
			problems = append(problems, c.changes(&o, e, declared.Do, scope)...)
		}
		if declared.Webhooks != nil {
			o.hooks, wrong = c.answerHooks(declared.Webhooks, o.name, scope)
			problems = append(problems, wrong...)
		}
		a.outcomes = append(a.outcomes, o)
	}
	return problems
}

// changes compiles the changes of an answer, and the answers to send when a change is not possible.
func (c *compiler) changes(a *answer, e *item.Endpoint, do []item.Do, scope *renderer.Scope) (problems syntax.Problems) {
	a.changes, a.elses = nil, nil
	if a.access == nil {
		return nil
	}
	a.changes, problems = a.access.CompileChanges(do, scope)
	for i := range do {
		var instead answer
		if do[i].Else != nil {
			var wrong syntax.Problems
			single := *e
			single.Response = *do[i].Else
			instead, wrong = c.answer(&single, scope)
			problems = append(problems, wrong...)
		}
		a.elses = append(a.elses, instead)
	}
	return problems
}

// answer compiles the answer of one endpoint.
func (c *compiler) answer(e *item.Endpoint, scope *renderer.Scope) (answer, syntax.Problems) {
	resp := &e.Response
	a := answer{
		name:   record.Name(e),
		status: resp.Status,
	}
	if a.status == 0 {
		a.status = 200
	}
	_, a.typeDeclared = declaredHeader(resp, "Content-Type")
	form, problems := c.headers(&a, resp, scope)
	var wrong syntax.Problems
	a.proxy, wrong = c.proxy(e, scope)
	problems = append(problems, wrong...)
	if a.proxy != nil {
		a.proxy.set = a.fieldNames()
	}
	if a.proxy != nil && !a.proxy.missing {
		return a, problems
	}
	if semantics.HasNoContent(a.status) { // of the headers, Content-Type is sent only if declared
		return a, problems
	}
	if !a.typeDeclared && !hasNoContent(e) {
		a.contentType = defaultContentType(resp)
	}
	switch {
	case resp.External != nil:
		a.source, wrong = c.loader.Source(resp.External, e.Dir, form, resp.Raw, scope)
	case resp.Raw:
		a.static = []byte(resp.Body.Value)
	default:
		var t *renderer.Template
		if t, wrong = renderer.Compile(resp.Body, form, scope); t != nil {
			if text, ok := t.Static(); ok {
				a.static = []byte(text)
			} else {
				a.template = t.Ready()
				if !a.typeDeclared && t.IsRow() {
					a.contentType = typeJSON
				}
			}
		}
	}
	return a, append(problems, wrong...)
}

func defaultContentType(resp *item.Response) string {
	if resp.External != nil || resp.BodyJSON || looksJSON(resp) {
		return typeJSON
	}
	return typeText
}

// looksJSON reports whether the body of a response begins like a JSON object or array, after any
// block tags of a template.
func looksJSON(resp *item.Response) bool {
	s := strings.TrimLeft(resp.Body.Value, " \t\r\n")
	for !resp.Raw && (strings.HasPrefix(s, "{%") || strings.HasPrefix(s, "{{#")) {
		_, end := tags.Next(s)
		s = strings.TrimLeft(s[end:], " \t\r\n")
	}
	if !resp.Raw && strings.HasPrefix(s, "{{") {
		return false // a placeholder, not an object
	}
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")
}

func newCompiler(opts Options) *compiler {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &compiler{
		loader:   fetcher.NewLoader(fetcher.Options{MaxRemote: int64(min(cmp.Or(opts.MaxResponse, matcher.DefaultMaxText), matcher.DefaultMaxText))}),
		counters: &renderer.Counters{},
		env:      opts.Env,
		log:      log,

		maxBody:    cmp.Or(opts.MaxBody, defaultMaxBody),
		noWebhooks: opts.NoWebhooks,
		noLatency:  opts.NoLatency,
		noFaults:   opts.NoFaults,
		dynamic:    opts.Dynamic,
		chance:     traffic.NewSeed(opts.Seed),

		trustForwarded: opts.TrustForwarded,
		sharedState:    opts.SharedState != "",
	}
	c.data = data.New(data.Options{
		Memory: int64(cmp.Or(opts.StateMemory, defaultStateMemory)), Log: log, Seed: opts.Seed,
		Scope: renderer.Scope{Env: c.env, Counters: c.counters}, Webhooks: c.moved,
	})
	c.recordings = recording.NewSet(log, c.env)
	c.sockets = websocket.Compiler{Env: c.env, Counters: c.counters, MaxMessage: opts.MaxMessage, Seed: c.socketSeed}
	return c
}

// Check compiles a specification without serving it and returns all its problems, including
// warnings and problems with the DSN in the options.
func Check(spec *config.Spec, opts Options) syntax.Problems {
	c := newCompiler(opts)
	defer c.close()
	defer c.loader.Close(context.Background())
	_, problems := c.compile(spec)
	if _, err := sentry.ParseDSN(opts.SentryDSN); err != nil {
		problems = append(problems, syntax.Problem{What: err.Error(), Warning: true})
	}
	return problems
}
