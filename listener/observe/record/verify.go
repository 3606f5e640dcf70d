package record

import (
	"errors"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Verified is the result of Verify: for how many requests in the journal a condition holds.
type Verified struct {
	Count int
	// Exact reports whether the journal has every request since it was started or reset, with every
	// part of it that the condition needs. If Exact is false, there may have been more such
	// requests than Count.
	Exact bool
	// Why says what is missing if Exact is false.
	Why     string
	Matches []*Exchange // the requests, the newest first
}

// ErrNotRecorded is the error returned if the server does not record requests.
var ErrNotRecorded = errors.New("the server does not record requests: Options.Record is not set")

// Verify counts the requests in the journal for which a condition holds. The condition is written
// as in endpoint.if; its path parameters are those of the endpoint that answered, and env returns
// the values of env.NAME. Texts that the condition renders are limited to maxText bytes. A request
// is not counted if the condition depends on what the journal has left out of it (the value of a
// secret header, or the end of a large body), or if its headers were invalid. Comparing a bare word
// with a literal is an error here, because the word may be a misspelt variable. The error is a
// config.Problems, or ErrNotRecorded.
func (j *Journal) Verify(condition string, env func(string) (string, bool), maxText int) (Verified, error) {
	v := Verified{Exact: true}
	unmatched, err := testOf(condition, env, route{})
	switch {
	case err != nil:
		return Verified{}, err
	case j == nil:
		return Verified{}, ErrNotRecorded
	}
	tests := map[route]test{{}: unmatched}
	undecided := 0
	for _, x := range j.All() {
		if tests[x.route] == nil {
			if tests[x.route], err = testOf(condition, env, x.route); err != nil {
				return v, err
			}
		}
		switch x.judge(tests[x.route], maxText) {
		case renderer.Undecided:
			undecided++
		case renderer.True:
			v.Count++
			v.Matches = append(v.Matches, x)
		}
	}
	if undecided > 0 {
		v.Exact, v.Why = false, "undecided for "+wording.Count(undecided, "request")+": the value of a secret header, or what follows the first 8 KiB, is not kept"
	}
	// This is checked last, so that requests dropped in the meantime count as missing.
	if missing := j.missing(); missing != "" {
		v.Exact, v.Why = false, missing
	}
	return v, nil
}

// test evaluates a condition for a request that may be partly unknown.
type test func(*matcher.Request, *renderer.Unknown) renderer.Truth

// judge applies a test to a request in the journal. As when the request was served, texts of at
// most maxText bytes are rendered.
func (x *Exchange) judge(t test, maxText int) renderer.Truth {
	switch {
	case x.Method == "":
		return renderer.False // it was not a valid request
	case x.short:
		return renderer.Undecided
	}
	r := matcher.Acquire(x.restore())
	defer matcher.Release(r)
	r.MaxText = maxText
	return t(r, x.unknown())
}

// testOf compiles a condition for a path, whose parameters it may use; the zero route stands for
// unmatched requests. Only one goroutine may use the test. The error is a config.Problems.
func testOf(condition string, env func(string) (string, bool), of route) (test, error) {
	var pattern matcher.Pattern
	if of.path != "" {
		pattern, _ = matcher.Path(&item.Endpoint{Path: syntax.Text{Value: of.path}, Template: of.template}) // it was served
	}
	// The compiled condition has its own counters, so that a test does not affect those of the
	// server.
	scope := &renderer.Scope{Params: pattern.Params(), Env: env, Counters: &renderer.Counters{}}
	when, problems := renderer.CompileCondition(syntax.Text{Value: condition}, scope)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if of.path == "" {
		return when.Judge, nil
	}
	// A request has path parameters only while it is matched.
	var unknown *renderer.Unknown
	var truth renderer.Truth
	table, _ := matcher.Compile([]matcher.Route{{Endpoint: &item.Endpoint{}, Pattern: pattern, If: func(r *matcher.Request) bool {
		truth = when.Judge(r, unknown)
		return true
	}}})
	return func(r *matcher.Request, u *renderer.Unknown) renderer.Truth {
		unknown, truth = u, renderer.False
		table.Match(r, fasthttp.MethodGet)
		return truth
	}, nil
}
