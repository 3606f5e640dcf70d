package listener_test

import (
	"fmt"
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// A field keeps its value when other fields are added, and no part of a reply is left in the next
// one.
func TestReply_FieldsStandByThemselves(t *testing.T) {
	template, problems := renderer.Compile(syntax.Text{Value: "{{path}}"}, renderer.Header, &renderer.Scope{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	r := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: []byte("/" + strings.Repeat("x", 100))})
	defer matcher.Release(r)
	var p reply.Reply
	p.Begin()
	for i := range 300 {
		p.AddNumber("X-N", int64(i))
		p.AddTemplate("X-Path", template, r)
	}
	for i := range 300 {
		if n, path := p.Fields[2*i], p.Fields[2*i+1]; n.Value != fmt.Sprint(i) || path.Value != string(r.Path()) {
			t.Fatalf("%d: got %q and %q", i, n, path)
		}
	}
	if !p.Has("x-PATH") || p.Has("X-Pat") {
		t.Error("a name is not found in another case, or is found in part")
	}
	p.Body = []byte("x")
	reply.NotImplemented.Write(&p, "why")
	if p.Status != 501 || len(p.Fields) > 0 || p.Refusal.Message != "why" || !strings.Contains(string(p.Body), `"code":"not_implemented"`) {
		t.Errorf("got %+v", p)
	}
	p.Add("Allow", "GET")
	var all []string
	for name, value := range p.Header() {
		all = append(all, string(name)+": "+string(value))
	}
	if got := strings.Join(all, ", "); got != "Content-Type: application/json, Allow: GET" {
		t.Errorf("got %s", got)
	}
	if p.Begin(); p.Status != 200 || len(p.Fields)+len(p.Body) > 0 || p.Refusal != nil || p.ContentType != "" {
		t.Errorf("after Begin: %+v", p)
	}
}
