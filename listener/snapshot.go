package listener

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/fetcher"
	"mockserver/internal/tags"
	"mockserver/listener/record"
	"mockserver/listener/sentry"
	"mockserver/listener/traffic"
	"mockserver/listener/websocket"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
	"mockserver/renderer"
)

// snapshot is a specification compiled: what requests are answered from. It is
// immutable; a reload makes another.
type snapshot struct {
	table   *matcher.Table
	index   *nearest.Index   // of the routes of table
	answers []answer         // by the index the table gives
	sockets *websocket.Table // nil for none
	// fixed are the answers that are the same for every plain request, by path.
	fixed map[string]*fixed
	// fixedLengths has a bit for each length of such a path, up to maxLength: most other
	// paths are told from them by it.
	fixedLengths uint64
	// single means that requests of a connection are read one at a time: they may wait,
	// and what was answered before must not wait with them.
	single bool
	spec   *config.Spec // that it was made of
}

// answer is one endpoint, ready to be served. What a request with a template needs comes
// first, in two cache lines: with thousands of endpoints asked in turn they are in no cache.
type answer struct {
	template     renderer.Ready // of the body; none when it is static or source
	operation    *operation     // of an OpenAPI document; nil for none
	rules        *traffic.Rules // nil for most: what is here is the answer to every request then
	status       int
	direct       bool // it may be sent without fasthttp, see answerDirectly
	brief        bool // nothing about it takes long: no loop, no file, no webhook
	disturbed    bool // rules concern every request, and not only those that choose an answer of the operation
	bodiless     bool // 204 and 304
	typeDeclared bool // Content-Type is declared: a remote body's own does not count

	contentType string   // the value sent; "" for none, and where it is templated: it is in headers then
	program     [48]byte // room for that of template

	name    string // "GET /users/:id", as logs and messages call it
	headers []header
	hooks   []hook

	counters *record.Counters // nil when nothing is recorded
	static   []byte           // the body, when it is the same for every request
	source   *fetcher.Source  // or the external body
	outcomes []answer         // those that rules choose from; nil for the one above
}

// header is one line of an answer's headers.
type header struct {
	name     string
	value    string             // when it is the same for every request
	template *renderer.Template // else
}

// compiler is what a snapshot is compiled with: what outlives snapshots.
type compiler struct {
	loader   *fetcher.Loader
	counters *renderer.Counters
	env      func(string) (string, bool)
	log      *slog.Logger

	maxBody    int  // bytes of a request body
	noWebhooks bool // those of endpoints are compiled, and left out
	noLatency  bool // none is waited for
	noFaults   bool // none happens

	dynamic bool // operations of documents make their bodies anew for each request

	chance traffic.Seed
	kept   traffic.Carried

	trustForwarded bool // see Options

	sockets websocket.Compiler
}

// compile builds the snapshot of a specification. The problems are those of the
// spec's reading and of its compiling; the snapshot is of no use when any of them
// is an error.
func (c *compiler) compile(spec *config.Spec) (*snapshot, syntax.Problems) {
	spec = spec.Complete()
	c.kept.Begin()
	problems := slices.Clone(spec.Problems)
	sn := &snapshot{answers: make([]answer, len(spec.Endpoints)), spec: spec}
	routes := make([]matcher.Route, len(spec.Endpoints))
	for i := range spec.Endpoints {
		var wrong syntax.Problems
		routes[i], sn.answers[i], wrong = c.endpoint(&spec.Endpoints[i])
		problems = append(problems, wrong...)
		if r := sn.answers[i].rules; r != nil && r.Delay() {
			sn.single = true
		}
	}
	if len(spec.Broken) > 0 {
		known := keysOf(spec.Problems)
		for i := range spec.Broken {
			_, _, wrong := c.endpoint(&spec.Broken[i])
			problems = append(problems, known.leaveOut(wrong)...)
		}
	}
	sockets, wrong := c.sockets.Compile(spec.WebSockets)
	problems = append(problems, wrong...)
	if len(spec.BrokenWebSockets) > 0 {
		_, wrong := c.sockets.Compile(spec.BrokenWebSockets)
		problems = append(problems, keysOf(spec.Problems).leaveOut(wrong)...)
	}
	if problems.Err() != nil {
		return nil, spec.InOrder(problems)
	}
	sn.sockets = sockets
	table, shadowed := matcher.Compile(routes)
	sn.table, sn.index = table, nearest.New(routes)
	sn.fix(routes)
	for i := range sn.answers {
		a := &sn.answers[i]
		a.direct = a.isDirect()
		a.template = a.template.In(a.program[:])
		a.brief = a.source == nil && len(a.hooks) == 0 && a.template.IsBrief()
	}
	c.kept.Commit()
	return sn, spec.InOrder(append(problems, shadowed...))
}

// count has the endpoints and WebSockets counted, in the order of the specification.
func (sn *snapshot) count(all []*record.Counters) {
	for i := range sn.answers {
		sn.answers[i].counters = all[i]
	}
	sn.sockets.Count(all[len(sn.answers):])
	for _, f := range sn.fixed {
		if f != nil {
			f.counters = f.answer.counters
		}
	}
}

// keys are the places that problems are known of: keys, and all that they are in.
type keys map[place]struct{}

type place struct{ file, key string }

func keysOf(problems syntax.Problems) keys {
	known := keys{}
	for _, p := range problems {
		for key := p.Key; key != ""; {
			known[place{p.Pos.File, key}] = struct{}{}
			key = key[:max(strings.LastIndexByte(key, '.'), 0)]
		}
	}
	return known
}

// leaveOut leaves the errors of a broken endpoint that are not known: those of a
// text that could not be decoded, and of a key that has an error itself or
// inside, are. Warnings say nothing there: what they miss may be what is broken.
func (known keys) leaveOut(problems syntax.Problems) syntax.Problems {
	return slices.DeleteFunc(problems, func(p syntax.Problem) bool {
		_, ok := known[place{p.Pos.File, p.Key}]
		return ok || p.Key == "" || p.Warning
	})
}

// endpoint compiles one endpoint: when it answers, and what.
func (c *compiler) endpoint(e *config.Endpoint) (matcher.Route, answer, syntax.Problems) {
	pattern, problems := matcher.Path(e)
	scope := &renderer.Scope{Params: pattern.Params(), Env: c.env, Counters: c.counters}
	condition, wrong := renderer.CompileCondition(e.If, scope)
	problems = append(problems, wrong...)
	route := matcher.Route{Endpoint: e, Pattern: pattern}
	t := traffic.NewCounts(&c.kept, e, c.chance.Seeded)
	if !condition.Always() {
		route.If = condition.Holds
		if c.chance.Seeded {
			route.If = c.chance.Conditional(t, condition.Holds)
		}
	}
	a, wrong := c.answer(e, scope)
	problems = append(problems, wrong...)
	a.hooks, wrong = c.hooks(e, a.name, scope)
	problems = append(problems, wrong...)
	wrong = c.rules(e, &a, t, scope)
	return route, a, e.Claim(append(problems, wrong...))
}

// rules compiles what requests to an endpoint meet beside its answer a. With a seed,
// whatever is not the same for every request has them, for its random numbers.
func (c *compiler) rules(e *config.Endpoint, a *answer, counts *traffic.Counts, scope *renderer.Scope) (problems syntax.Problems) {
	a.disturbed = traffic.Declared(e) || c.chance.Seeded && !a.isFixed()
	a.operation = c.operation(e, *a)
	if !a.disturbed && a.operation == nil {
		return nil
	}
	a.rules = traffic.NewRules(e, scope.Params, counts, traffic.Options{
		Carried: &c.kept, Seed: &c.chance, TrustForwarded: c.trustForwarded, NoLatency: c.noLatency, NoFaults: c.noFaults, Log: c.log,
	})
	for i := range e.Responses {
		declared := &e.Responses[i]
		single := *e
		single.Response = declared.Response
		o, wrong := c.answer(&single, scope)
		problems = append(problems, wrong...)
		o.name, o.hooks = traffic.OutcomeName(a.name, i), a.hooks
		if declared.Webhooks != nil {
			single.Webhooks = declared.Webhooks
			o.hooks, wrong = c.hooks(&single, o.name, scope)
			problems = append(problems, wrong...)
		}
		a.outcomes = append(a.outcomes, o)
	}
	return problems
}

// answer compiles what one endpoint answers.
func (c *compiler) answer(e *config.Endpoint, scope *renderer.Scope) (answer, syntax.Problems) {
	resp := &e.Response
	a := answer{
		name:   record.Name(e),
		status: resp.Status,
	}
	if a.status == 0 {
		a.status = 200
	}
	_, a.typeDeclared = declared(resp, "Content-Type")
	a.bodiless = a.status == 204 || a.status == 304
	form, problems := c.headers(&a, resp, scope)
	if a.bodiless {
		return a, problems
	}
	if !a.typeDeclared && !hasNoContent(e) {
		a.contentType = defaultContentType(resp)
	}
	var wrong syntax.Problems
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
			}
		}
	}
	return a, append(problems, wrong...)
}

// headers compiles the declared headers, and returns the form of the body, which their
// Content-Type decides; a file is JSON where it says nothing.
func (c *compiler) headers(a *answer, resp *config.Response, scope *renderer.Scope) (form renderer.Form, problems syntax.Problems) {
	form = renderer.FormOf(defaultContentType(resp))
	for i := range resp.Headers {
		declared := &resp.Headers[i]
		if config.ServerSets(declared.Name) {
			continue
		}
		t := renderer.Literal(declared.Value.Value)
		if !resp.Raw {
			var wrong syntax.Problems
			t, wrong = renderer.Compile(declared.Value, renderer.Header, scope)
			problems = append(problems, wrong...)
			if t == nil {
				continue
			}
		}
		if strings.EqualFold(declared.Name, "Content-Type") && (resp.External == nil || t.BodyForm() != renderer.Inferred) {
			form = t.BodyForm()
		}
		text, static := t.Static()
		switch {
		case static && strings.EqualFold(declared.Name, "Content-Type"):
			a.contentType = text
		case static:
			a.headers = append(a.headers, header{name: declared.Name, value: text})
		default:
			a.headers = append(a.headers, header{name: declared.Name, template: t})
		}
	}
	return form, problems
}

// declared returns the first declared value of a header, as written.
func declared(resp *config.Response, name string) (string, bool) {
	for i := range resp.Headers {
		if strings.EqualFold(resp.Headers[i].Name, name) {
			return resp.Headers[i].Value.Value, true
		}
	}
	return "", false
}

// The types of bodies that declare none.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

func defaultContentType(resp *config.Response) string {
	if resp.External != nil || resp.BodyJSON || looksJSON(resp) {
		return typeJSON
	}
	return typeText
}

// looksJSON reports whether a text begins as JSON does, past the tags of blocks.
func looksJSON(resp *config.Response) bool {
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

// Check compiles a specification without serving it and returns everything that
// is wrong with it, warnings included, and of the options the DSN.
func Check(spec *config.Spec, opts Options) syntax.Problems {
	c := newCompiler(opts)
	defer c.loader.Close(context.Background())
	_, problems := c.compile(spec)
	if _, err := sentry.ParseDSN(opts.SentryDSN); err != nil {
		problems = append(problems, syntax.Problem{What: err.Error(), Warning: true})
	}
	return problems
}

func newCompiler(opts Options) *compiler {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &compiler{
		loader:   fetcher.NewLoader(fetcher.Options{}),
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
	}
	c.sockets = websocket.Compiler{Env: c.env, Counters: c.counters, MaxMessage: opts.MaxMessage, Seed: c.socketSeed}
	return c
}

// externalFiles returns the files that fixed external bodies of a specification
// may be read from, whether they are there or not: a specification that was
// refused may be fine once one of them changes. Of the options only Env counts.
func externalFiles(spec *config.Spec, opts Options) []string {
	if spec == nil {
		return nil
	}
	var files []string
	for _, endpoints := range [][]config.Endpoint{spec.Endpoints, spec.Broken} {
		for i := range endpoints {
			for _, resp := range endpoints[i].Answers() {
				if ext := resp.External; ext != nil {
					files = append(files, fetcher.Files(ext, endpoints[i].Dir, opts.Env)...)
				}
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
