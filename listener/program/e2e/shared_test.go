package e2e_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestLet_IsTheSameEverywhere expects one value in the answer, in the row that is written, and in
// the webhooks, which also know the answer.
func TestLet_IsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, strings.ReplaceAll(`
- data: {name: payments}
- endpoint:
    method: POST
    path: /payments
    let:
      id: "pay_{{random-text(14)}}"
      total: "{{json-params.amount|add:1}}"
      event: {id: "{{uuid}}", of: "{{id}}", total: "{{total}}"}
    do: [{insert: {in: payments, row: {id: "{{id}}"}, set: {amount: "{{total}}", event: "{{event.id}}"}}}]
    response:
      status: 201
      headers: {Location: "/payments/{{id}}", X-Total: "{{total}}"}
      body: '{"id": "{{id}}", "total": {{total}}, "event": {{event}}}'
    webhooks:
      - url: "TARGET/{{response.status}}/{{id}}"
        sleep-time: 0
        if: response.status = 201 and response.body.total > 3
        headers: {X-Location: "{{response.headers.location}}", X-Type: "{{response.headers.Content-Type}}", X-None: "{{response.headers.None|default:\"none\"}}"}
        body: '{"id": "{{response.body.id}}", "again": {{response.body.event}}, "none": {{response.body.none}}}'
      - {url: "TARGET/never", sleep-time: 0, if: response.body.total > 100}
- endpoint:
    path: /payments/:id
    find: {payment: {in: payments, key: path-params.id}}
    response: {body: "{{payment}}"}
`, "TARGET", target.URL))
	created := p.Do(http.MethodPost, "/payments", `{"amount": 4}`)
	_, path, _ := strings.Cut(created.Header.Get("Location"), "/payments/")
	if len(path) != len("pay_")+14 || created.Status != 201 || created.Header.Get("X-Total") != "5" {
		t.Fatalf("answered %d %v %s", created.Status, created.Header, created.Body)
	}
	_, event, _ := strings.Cut(created.Body, `"event": {"id":"`)
	event, _, _ = strings.Cut(event, `"`)
	whole := `{"id":"` + event + `","of":"` + path + `","total":5}`
	if want := `{"id": "` + path + `", "total": 5, "event": ` + whole + `}`; created.Body != want || len(event) != 36 {
		t.Errorf("answered %s, want %s", created.Body, want)
	}
	stored := p.Do(http.MethodGet, "/payments/"+path, "")
	if want := `{"id":"` + path + `","amount":5,"event":"` + event + `"}`; stored.Body != want {
		t.Errorf("stored %s, want %s", stored.Body, want)
	}
	hook := target.Next(t)
	if want := `{"id": "` + path + `", "again": ` + whole + `, "none": null}`; hook.URI != "/201/"+path || hook.Body != want {
		t.Errorf("the webhook is %s %s, want %s", hook.URI, hook.Body, want)
	}
	for name, want := range map[string]string{"X-Location": "/payments/" + path, "X-Type": "application/json", "X-None": "none"} {
		if got := hook.Header.Get(name); got != want {
			t.Errorf("the webhook has %s %q, want %q", name, got, want)
		}
	}
	target.NothingMore(t, p)
}
