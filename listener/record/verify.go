package record

import (
	"errors"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Verified is how many requests of the journal a condition holds for.
type Verified struct {
	Count int
	// Exact tells that the journal has every request since it was begun, or since it
	// was reset, and all that the condition asks of them: otherwise there may have been
	// more.
	Exact bool
	// Why says what is missing, when it is not exact.
	Why      string
	Examples []*Exchange // the newest, ten at most
}

// ErrNotRecorded is the error of what asks a server for requests that it does not record.
var ErrNotRecorded = errors.New("the server does not record requests: Options.Record is not set")

// verifiedShown is how many requests are shown of those that were found.
const verifiedShown = 10

// Verify counts the requests of the journal that a condition holds for: one of the
// language of endpoint.if, in which the path parameters are those of the endpoint that
// answered, and env what env.NAME is. A text that it asks for may have maxText bytes. A
// request is not counted when the condition depends on what the journal has left out of it,
// the value of a secret header or the end of a large body; nor is one whose headers were
// not understood. A bare word that is compared with a literal, as a misspelt variable is, is
// an error here. The error is a config.Problems, or ErrNotRecorded.
func (j *Journal) Verify(condition string, env func(string) (string, bool), maxText int) (Verified, error) {
	v := Verified{Exact: true}
	p := probe{env: env, condition: condition, tests: map[route]func(*matcher.Request, *renderer.Unknown) renderer.Truth{}}
	if _, err := p.test(nil); err != nil {
		return Verified{}, err
	}
	if j == nil {
		return Verified{}, ErrNotRecorded
	}
	all := j.All()
	undecided := 0
	for _, x := range all {
		test, err := p.test(x.route)
		if err != nil {
			return v, err
		}
		switch x.judge(test, maxText) {
		case renderer.Undecided:
			undecided++
		case renderer.True:
			if v.Count++; len(v.Examples) < verifiedShown {
				v.Examples = append(v.Examples, x)
			}
		}
	}
	if undecided > 0 {
		v.Exact, v.Why = false, "of "+wording.Count(undecided, "request")+" what decides is not kept: the value of a secret header, or what follows the first 8 KiB"
	}
	// Behind all: what is dropped meanwhile counts as missing.
	if missing := j.missing(); missing != "" {
		v.Exact, v.Why = false, missing
	}
	return v, nil
}

// judge applies a test to a kept request. Texts of at most maxText bytes are rendered for
// it, as when it was served.
func (x *Exchange) judge(test func(*matcher.Request, *renderer.Unknown) renderer.Truth, maxText int) renderer.Truth {
	switch {
	case x.Method == "":
		return renderer.False // it was not a valid request
	case x.short:
		return renderer.Undecided
	}
	r := matcher.Acquire(x.restore())
	defer matcher.Release(r)
	r.MaxText = maxText
	return test(r, x.unknown())
}

// probe compiles a condition once for each path, whose parameters it may use. It is for one
// goroutine.
type probe struct {
	env       func(string) (string, bool)
	condition string
	tests     map[route]func(*matcher.Request, *renderer.Unknown) renderer.Truth
}

// test returns the condition compiled for a path; nil is the path of unmatched requests.
// The error is a config.Problems.
func (p *probe) test(of *route) (func(*matcher.Request, *renderer.Unknown) renderer.Truth, error) {
	var key route
	if of != nil {
		key = *of
	}
	if known := p.tests[key]; known != nil {
		return known, nil
	}
	var pattern matcher.Pattern
	if of != nil {
		pattern, _ = matcher.Path(&config.Endpoint{Path: config.Plain(of.path), Template: of.template}) // it was served
	}
	// With counters of its own, so that testing counts nothing.
	scope := &renderer.Scope{Params: pattern.Params(), Env: p.env, Counters: &renderer.Counters{}}
	when, problems := renderer.CompileCondition(config.Plain(p.condition), scope)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	test := when.Judge
	if of != nil {
		test = judged(when, pattern)
	}
	p.tests[key] = test
	return test, nil
}

// judged is Judge with the parameters of a path, which a request has only while it is
// matched.
func judged(when *renderer.Condition, pattern matcher.Pattern) func(*matcher.Request, *renderer.Unknown) renderer.Truth {
	var unknown *renderer.Unknown
	var truth renderer.Truth
	table, _ := matcher.Compile([]matcher.Route{{Endpoint: &config.Endpoint{}, Pattern: pattern, If: func(r *matcher.Request) bool {
		truth = when.Judge(r, unknown)
		return true
	}}})
	return func(r *matcher.Request, u *renderer.Unknown) renderer.Truth {
		unknown, truth = u, renderer.False
		table.Match(r, fasthttp.MethodGet)
		return truth
	}
}
