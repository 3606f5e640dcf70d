package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// The client and the webhooks that are sent later get the same values.
func TestLet_IsSharedWithWebhooks(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, strings.ReplaceAll(`
- endpoint:
    method: POST
    path: /orders
    let: {id: "{{uuid}}", n: '{{counter("orders")}}', total: "{{json-params.total|add:1}}", order: "{{json-params}}"}
    response: {status: 201, headers: {Location: "/orders/{{id}}"}, body: '{"id": "{{id}}", "n": {{n}}, "total": {{total}}}'}
    webhooks:
      - {url: "TARGET/orders/{{id}}?n={{n}}", headers: {X-Id: "{{id}}"}, body: '{"id": "{{id}}", "n": {{n}}, "total": {{total}}}', sleep-time: 20ms, if: total > 1}
      - {url: "TARGET/never", sleep-time: 0, if: order.total > 100}
`, "TARGET", target.URL))
	for n := range 3 {
		a := p.Do("POST", "/orders", `{"total": 12.50}`)
		var got struct {
			ID    string
			N     int
			Total json.Number
		}
		if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != 201 || len(got.ID) != 36 || got.N != n+1 || got.Total != "13.50" || a.Header.Get("Location") != "/orders/"+got.ID {
			t.Fatalf("got %d %v %s", a.Status, a.Header, a.Body)
		}
		if r := target.Next(t); r.Body != a.Body || r.Header.Get("X-Id") != got.ID || !strings.HasPrefix(r.URI, "/orders/"+got.ID+"?n=") {
			t.Errorf("the webhook is %s %v %s, the answer %s", r.URI, r.Header, r.Body, a.Body)
		}
	}
	target.NothingMore(t, p)
}

// A mocks file declares values for operations of a document; the operations' own answers can also
// use them.
func TestLet_OfAnOperation(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	dir := t.TempDir()
	document := harness.WriteFile(t, dir, "api.yml", `openapi: 3.0.3
info: {title: A, version: '1'}
paths:
  /a: {get: {operationId: a, responses: {'200': {description: a, content: {application/json: {example: {ok: true}}}}, '202': {description: b}}}}
  /b: {get: {operationId: b, responses: {'200': {description: a}}}}
`)
	mocks := harness.WriteFile(t, dir, "mocks.yml", strings.ReplaceAll(`
a: {let: {id: "{{method|lower}}"}, webhook: {url: "TARGET/{{id}}", sleep-time: 0}}
b: {let: {id: "{{method|lower}}"}, status: 201, body: "{{id}}"}
`, "TARGET", target.URL))
	p := Start(t, "-c", document, "-m", mocks)
	for _, prefer := range []string{"", "code=202"} {
		p.Get("/a", "Prefer: "+prefer)
		if r := target.Next(t); r.URI != "/get" {
			t.Errorf("Prefer %s: got %s", prefer, r.URI)
		}
	}
	p.Get("/b").Want(t, 201, "get")
}
