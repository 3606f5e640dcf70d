//go:build !race

package renderer_test

import (
	"testing"

	"mockserver/config/model"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Once its memory has grown, reading a request and a value of it costs an allocation at most, and an answer a few,
// however many tokens it has.
func TestAllocations_Model(t *testing.T) {
	r := matcher.Acquire(matcher.Input{Method: []byte("POST"), Target: []byte("/"), Body: []byte(`{"model":"m","stream":true,"max_tokens":500,"messages":[{"role":"user","content":"hello"}]}`)})
	defer matcher.Release(r)
	m := modelOf(t, model.Answer{Tokens: fixedCount(400)})
	condition, problems := renderer.CompileCondition(syntax.Text{Value: "llm.stream"}, &renderer.Scope{Model: m.Request})
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	if got := testing.AllocsPerRun(100, func() {
		if r.Model.By = nil; !condition.Holds(r) {
			t.Fatal("no stream")
		}
	}); got > 1 {
		t.Errorf("%v allocations to read, want at most 1", got)
	}
	if got := testing.AllocsPerRun(100, func() {
		r.Model.By = nil
		m.Answer(r)
	}); got > 4 {
		t.Errorf("%v allocations to answer, want at most 4", got)
	}
}
