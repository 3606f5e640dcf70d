package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Objects of examples/payments.yml that exist from the beginning, or that are created with only the
// required fields.
const (
	ann = `{"id": "cus_ann", "object": "customer", "created": 1705314600, "description": null, "email": "ann@example.com",
		"livemode": false, "metadata": {"order": null}, "name": "Ann", "phone": null}`
	pi = `{"id": "pi_new", "object": "payment_intent", "amount": 2000, "amount_capturable": 0, "amount_received": 0,
		"canceled_at": null, "cancellation_reason": null, "capture_method": "automatic", "client_secret": "pi_new_secret_mock",
		"created": 1705314600, "currency": "eur", "customer": "cus_ann", "description": null, "last_payment_error": null,
		"livemode": false, "metadata": {"order": "6735"}, "next_action": null, "payment_method": null, "status": "requires_payment_method"}`
	created = `{"id": "<text>", "client_secret": "<text>", "created": "<integer>", "currency": "usd", "customer": null, "metadata": {"order": null}}`
	sub     = `{"id": "sub_ann", "object": "subscription", "canceled_at": null, "created": 1705314600, "current_period_start": 1705314600,
		"current_period_end": 1707906600, "customer": "cus_ann", "items": {"object": "list", "data": [{"id": "si_sub_ann",
		"object": "subscription_item", "price": {"id": "price_basic", "object": "price"}, "quantity": 1}]}, "livemode": false, "status": "active"}`
	expired       = `{"type": "card_error", "code": "expired_card", "decline_code": "expired_card", "message": "Your card has expired."}`
	authenticated = `{"type": "card_error", "code": "authentication_required", "decline_code": "authentication_required",
		"message": "Your card was declined. This transaction requires authentication."}`
	action    = `{"next_action": {"type": "use_stripe_sdk", "use_stripe_sdk": {"type": "three_d_secure_redirect"}}, "status": "requires_action"}`
	intents   = "/v1/payment_intents"
	rateLimit = `{"error": {"type": "invalid_request_error", "code": "rate_limit", "message": "Request rate limit exceeded."}}`
	apiError  = `{"error": {"type": "api_error", "message": "An unknown error occurred."}}`
)

// with returns a JSON object with the fields of a second one added.
func with(object, fields string) string {
	var all map[string]any
	for _, text := range []string{object, fields} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&all); err != nil { // into the same map, field by field
			panic(text + ": " + err.Error())
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// requestError returns the answer for an invalid request.
func requestError(code, message, param string) string {
	return fmt.Sprintf(`{"error": {"type": "invalid_request_error", "code": %q, "message": %q, "param": %q}}`, code, message, param)
}

// stateError returns the answer to a call that the state of an intent does not allow.
func stateError(intent, message string) string {
	return fmt.Sprintf(`{"error": {"type": "invalid_request_error", "code": "payment_intent_unexpected_state", "message": %q, "payment_intent": %s}}`, message, intent)
}

// unexpected returns a stateError that is caused by a status.
func unexpected(intent, status string) string {
	return stateError(intent, "This PaymentIntent has a status of "+status+", in which that is not possible.")
}

// declined returns the answer when a card is declined.
func declined(why, intent string) string {
	return `{"error": ` + with(why, `{"payment_intent": `+intent+`}`) + `}`
}

// listOf returns the answer that contains a list.
func listOf(path, more string, rows ...string) string {
	return fmt.Sprintf(`{"object": "list", "url": %q, "has_more": %s, "data": [%s]}`, path, more, strings.Join(rows, ", "))
}

// paymentCalls returns calls to every endpoint of examples/payments.yml, in order.
func paymentCalls() []exampleCall {
	const confirm, capture, cancel = intents + "/pi_new/confirm", "/capture", "/cancel"
	customer := with(ann, `{"id": "<text>", "created": "<integer>", "email": "b@example.com", "name": null, "metadata": {"order": "7"}}`)
	refused := with(pi, `{"last_payment_error": `+expired+`}`)
	absent := with(pi, `{"last_payment_error": `+authenticated+`}`)
	asked := with(absent, with(action, `{"payment_method": "pm_card_authenticationRequired"}`))
	paid := with(asked, `{"last_payment_error": null, "next_action": null, "amount_received": 2000, "status": "succeeded"}`)
	manual := with(pi, `{"id": "pi_manual", "client_secret": "pi_manual_secret_mock", "capture_method": "manual", "payment_method": "pm_card_visa", "amount_capturable": 2000, "status": "requires_capture"}`)
	canceled := with(manual, `{"amount_capturable": 0, "canceled_at": "<integer>", "cancellation_reason": "duplicate", "status": "canceled"}`)
	held := with(manual, `{"id": "pi_held", "client_secret": "pi_held_secret_mock", "amount_capturable": 0, "amount_received": 2000, "status": "succeeded"}`)
	debit := with(pi, `{"id": "pi_debit", "client_secret": "pi_debit_secret_mock", "payment_method": "pm_sepaDebit_success", "status": "processing"}`)
	intent := with(pi, created)
	made := func(method, fields string) string {
		return with(with(intent, `{"payment_method": "`+method+`"}`), fields)
	}
	subscription := with(sub, `{"id": "<text>", "created": "<integer>", "current_period_start": "<integer>", "current_period_end": "<integer>", "status": "trialing",
		"items": {"object": "list", "data": [{"id": "<text>", "object": "subscription_item", "price": {"id": "price_gold", "object": "price"}, "quantity": 3}]}}`)
	missing := func(what, id, param string) string {
		return requestError("resource_missing", "No such "+what+": '"+id+"'", param)
	}
	return []exampleCall{
		{"", "GET", "/v1/customers", "", 200, listOf("/v1/customers", "false", ann)},
		{"Create a customer", "POST", "/v1/customers", "email=b@example.com&metadata[order]=7", 200, customer},
		{"Create a customer again, with the same key", "POST", "/v1/customers", "", 200, customer},
		{"Get a customer", "GET", "/v1/customers/cus_ann", "", 200, ann},
		{"Update a customer", "POST", "/v1/customers/cus_ann", `{"name": "Anna", "metadata": {"order": "8"}}`, 200, with(ann, `{"name": "Anna", "metadata": {"order": "8"}}`)},
		{"Get a missing customer", "GET", "/v1/customers/cus_0", "", 404, missing("customer", "cus_0", "id")},
		{"Update a missing customer", "POST", "/v1/customers/cus_0", "name=x", 404, missing("customer", "cus_0", "id")},
		{"Delete a missing customer", "DELETE", "/v1/customers/cus_0", "", 404, missing("customer", "cus_0", "id")},

		{"Create an intent too often", "POST", intents, "customer=cus_rate_limit", 429, rateLimit},
		{"Create an intent while Stripe is out of order", "POST", intents, "customer=cus_api_error", 500, apiError},
		{"Create an intent of too little, or of nothing", "POST", intents, "amount=49", 400, requestError("amount_too_small", "Amount must be at least $0.50 usd", "amount")},
		{"Create an intent of too little, or of nothing", "POST", intents, "", 400, requestError("amount_too_small", "Amount must be at least $0.50 usd", "amount")},
		{"Create an intent of too much, or of no number", "POST", intents, "amount=100000000", 400, requestError("amount_too_large", "Amount must be no more than $999,999.99", "amount")},
		{"Create an intent of too much, or of no number", "POST", intents, "amount=many", 400, requestError("amount_too_large", "Amount must be no more than $999,999.99", "amount")},
		{"Create an intent for a missing customer", "POST", intents, "amount=2000&customer=cus_0", 400, missing("customer", "cus_0", "customer")},
		{"Create an intent", "POST", intents, "amount=2000&currency=GBP", 200, with(intent, `{"currency": "gbp"}`)},
		{"Create an intent again, with the same key", "POST", intents, "", 200, with(intent, `{"currency": "gbp"}`)},
		{"Create and confirm with a card that is declined", "POST", intents, "amount=2000&confirm=true&payment_method=pm_card_chargeDeclinedExpiredCard", 402,
			declined(expired, with(intent, `{"last_payment_error": `+expired+`}`))},
		{"Create and confirm off session with a card that needs authentication", "POST", intents, "amount=2000&confirm=true&off_session=true&payment_method=pm_card_threeDSecure2Required", 402,
			declined(authenticated, made("pm_card_threeDSecure2Required", `{"last_payment_error": `+authenticated+`}`))},
		{"Create and confirm with a card that needs authentication", "POST", intents, "amount=2000&confirm=true&payment_method=pm_card_threeDSecure2Required", 200, made("pm_card_threeDSecure2Required", action)},
		{"Create and confirm a bank debit", "POST", intents, "amount=2000&confirm=true&payment_method=pm_usBankAccount_success", 200, made("pm_usBankAccount_success", `{"status": "processing"}`)},
		{"Create and confirm an intent that is captured later", "POST", intents, `{"amount": 2000, "confirm": true, "payment_method": "pm_card_visa", "capture_method": "manual"}`, 200,
			made("pm_card_visa", `{"capture_method": "manual", "amount_capturable": 2000, "status": "requires_capture"}`)},
		{"Create and confirm an intent", "POST", intents, `{"amount": 2000, "confirm": true, "payment_method": "pm_card_visa", "metadata": {"order": "9"}}`, 200,
			made("pm_card_visa", `{"amount_received": 2000, "status": "succeeded", "metadata": {"order": "9"}}`)},

		{"Get an intent", "GET", intents + "/pi_new", "", 200, pi},
		{"Get a missing intent", "GET", intents + "/pi_0", "", 404, missing("payment_intent", "pi_0", "intent")},
		{"", "GET", intents + "?customer=cus_ann&limit=1", "", 200, listOf(intents, "true", pi)},
		{"Confirm a missing intent", "POST", intents + "/pi_0/confirm", "", 404, missing("payment_intent", "pi_0", "intent")},
		{"Confirm without a payment method", "POST", confirm, "", 400, stateError(pi, "The PaymentIntent is missing a payment method.")},
		{"Confirm with a card that is declined", "POST", confirm, "payment_method=pm_card_visa_chargeDeclinedExpiredCard", 402, declined(expired, refused)},
		{"Confirm off session with a card that needs authentication", "POST", confirm, "off_session=true&payment_method=pm_card_authenticationRequired", 402, declined(authenticated, absent)},
		{"Confirm with a card that needs authentication", "POST", confirm, "payment_method=pm_card_authenticationRequired", 200, asked},
		{"Confirm an intent", "POST", confirm, "", 200, paid},
		{"Confirm what is past confirming", "POST", confirm, "", 400, unexpected(paid, "succeeded")},
		{"Confirm a bank debit", "POST", intents + "/pi_debit/confirm", "", 200, debit},
		{"Confirm an intent that is captured later", "POST", intents + "/pi_manual/confirm", "", 200, with(manual, `{"status": "requires_capture"}`)},
		{"Capture a missing intent", "POST", intents + "/pi_0" + capture, "", 404, missing("payment_intent", "pi_0", "intent")},
		{"Capture what cannot be captured", "POST", intents + "/pi_new" + capture, "", 400, unexpected(paid, "succeeded")},
		{"Capture an intent", "POST", intents + "/pi_held" + capture, "", 200, held},
		{"Cancel a missing intent", "POST", intents + "/pi_0" + cancel, "", 404, missing("payment_intent", "pi_0", "intent")},
		{"Cancel an intent", "POST", intents + "/pi_manual" + cancel, "cancellation_reason=duplicate", 200, canceled},
		{"Cancel what has ended", "POST", intents + "/pi_held" + cancel, "", 400, unexpected(held, "succeeded")},

		{"Subscribe too often", "POST", "/v1/subscriptions", "customer=cus_rate_limit", 429, rateLimit},
		{"Subscribe while Stripe is out of order", "POST", "/v1/subscriptions", "customer=cus_api_error", 500, apiError},
		{"Subscribe a missing customer", "POST", "/v1/subscriptions", "customer=cus_0", 400, missing("customer", "cus_0", "customer")},
		{"Create a subscription", "POST", "/v1/subscriptions", "customer=cus_ann&trial_period_days=7&items[0][price]=price_gold&items[0][quantity]=3", 200, subscription},
		{"Subscribe again with the same key", "POST", "/v1/subscriptions", "", 200, subscription},
		{"Get a subscription", "GET", "/v1/subscriptions/sub_ann", "", 200, sub},
		{"Get a missing subscription", "GET", "/v1/subscriptions/sub_0", "", 404, missing("subscription", "sub_0", "id")},
		{"", "GET", "/v1/subscriptions?limit=1", "", 200, listOf("/v1/subscriptions", "true", sub)},
		{"Cancel a subscription", "DELETE", "/v1/subscriptions/sub_ann", "", 200, with(sub, `{"canceled_at": "<integer>", "status": "canceled"}`)},
		{"Cancel a subscription that is missing, or canceled already", "DELETE", "/v1/subscriptions/sub_ann", "", 404, missing("subscription", "sub_ann", "id")},
		{"Delete a customer", "DELETE", "/v1/customers/cus_ann", "", 200, `{"id": "cus_ann", "object": "customer", "deleted": true}`},
		{"", "GET", "/v1/events?type=customer.deleted", "", 200, listOf("/v1/events", "false",
			`{"id": "<text>", "object": "event", "created": "<integer>", "livemode": false, "type": "customer.deleted", "data": {"object": `+with(ann, `{"name": "Anna", "metadata": {"order": "8"}}`)+`}}`)},
		{"Receive an event", "POST", "/v1/webhook", "{}", 200, `{"received": true}`},
	}
}

// api calls the endpoints of examples/payments.yml and keeps the last answer.
type api struct {
	*Process
	last   Response
	object map[string]any // the answer's body
}

// call makes a call and expects the status and a JSON object as the answer.
func (a *api) call(status int, method, path, body string, headers ...string) map[string]any {
	a.T.Helper()
	a.last = a.Do(method, path, body, append(bodyType(body), headers...)...)
	object, ok := exampleDecode(a.T, a.last.Body).(map[string]any)
	if a.last.Status != status || !ok || a.last.Header.Get("Content-Type") != "application/json" {
		a.T.Fatalf("%s %s %.200s: got %d %.1000s, want %d and a JSON object", method, path, body, a.last.Status, a.last.Body, status)
	}
	a.object = object
	return object
}

// text returns a field of the last answer, by a path such as "error.code".
func (a *api) text(path string) string {
	a.T.Helper()
	var v any = a.object
	for _, key := range strings.Split(path, ".") {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return fmt.Sprint(v)
}

// is compares fields of the last answer.
func (a *api) is(fields map[string]string) {
	a.T.Helper()
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if got := a.text(path); got != fields[path] {
			a.T.Errorf("%s: got %q, want %q, in %s", path, got, fields[path], a.last.Body)
		}
	}
}

// TestPayments_ACheckout runs a complete checkout: a customer, an intent, a declined card, another
// card, and the events sent to the shop. It uses the ids from the answers.
func TestPayments_ACheckout(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.call(200, "POST", "/v1/customers", "email=ann@example.com&name=Ann")
	customer := s.text("id")
	s.notified("customer.created", customer, "")
	s.call(200, "POST", intents, "amount=1999&currency=eur&customer="+customer)
	id := s.text("id")
	s.notified("payment_intent.created", id, "requires_payment_method")
	s.call(402, "POST", intents+"/"+id+"/confirm", "payment_method=pm_card_chargeDeclined")
	s.is(map[string]string{"error.payment_intent.id": id, "error.decline_code": "generic_decline"})
	s.notified("payment_intent.payment_failed", id, "requires_payment_method")
	s.call(200, "POST", intents+"/"+id+"/confirm", "payment_method=pm_card_visa")
	s.notified("payment_intent.succeeded", id, "succeeded")
	s.call(200, "GET", intents+"/"+id, "")
	s.is(map[string]string{"status": "succeeded", "amount": "1999", "amount_received": "1999", "customer": customer, "last_payment_error": "<nil>", "payment_method": "pm_card_visa"})
	s.call(200, "GET", intents+"?customer="+customer, "")
	if list, _ := s.object["data"].([]any); len(list) != 1 {
		t.Errorf("the customer has the intents %s", s.last.Body)
	}
	s.call(200, "GET", "/v1/events?limit=100", "")
	if list, _ := s.object["data"].([]any); len(list) != len(s.ids) {
		t.Errorf("%d events are kept, %d were sent", len(list), len(s.ids))
	}
	for _, event := range s.object["data"].([]any) {
		if id := fmt.Sprint(event.(map[string]any)["id"]); !s.ids[id] {
			t.Errorf("the event %s is kept, and was not sent", id)
		}
	}
	s.target.NothingMore(t, s.Process)
}

// TestPayments_ABankDebitSucceedsLater expects a client that polls to see the status that the
// webhook reports.
func TestPayments_ABankDebitSucceedsLater(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.call(200, "POST", intents, "amount=1999&confirm=true&payment_method=pm_sepaDebit_success")
	id := s.text("id")
	s.is(map[string]string{"status": "processing", "amount_received": "0"})
	notified := map[string]any{}
	for range 2 { // one may overtake the other
		_, kind, object := s.event()
		notified[kind] = object["status"]
	}
	if want := map[string]any{"payment_intent.processing": "processing", "payment_intent.succeeded": "succeeded"}; !maps.Equal(notified, want) {
		t.Errorf("got the events %v, want %v", notified, want)
	}
	s.call(200, "GET", intents+"/"+id, "")
	s.is(map[string]string{"status": "succeeded", "amount_received": "1999"})
}

// TestPayments_OneKeyIsOneIntent sends requests with one key from many clients at once.
func TestPayments_OneKeyIsOneIntent(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "payments.yml"), "--no-webhooks")
	for _, path := range []string{intents, "/v1/customers", "/v1/subscriptions"} {
		var all sync.WaitGroup
		responses := make([]string, 20)
		for i := range responses {
			all.Go(func() {
				responses[i] = p.Do("POST", path, "amount=1999&customer=cus_ann", "Idempotency-Key: key of "+path, "Content-Type: application/x-www-form-urlencoded").Body
			})
		}
		all.Wait()
		if len(slices.Compact(responses)) != 1 {
			t.Errorf("POST %s: one key has the answers %q", path, responses)
		}
	}
}

// TestPayments_EachCardDoesWhatItsFileSays confirms with each card, at creation and later.
func TestPayments_EachCardDoesWhatItsFileSays(t *testing.T) {
	t.Parallel()
	f, err := os.Open(File("examples", "data", "cards.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cards, err := csv.NewReader(f).ReadAll()
	if err != nil || len(cards) < 20 {
		t.Fatalf("%d cards: %v", len(cards), err)
	}
	a := &api{Process: Start(t, "-c", File("examples", "payments.yml"), "--no-webhooks")}
	for _, card := range cards[1:] {
		method, outcome := card[0], card[2]
		status := map[string]int{"declined": 402}[outcome]
		if status == 0 {
			status = 200
		}
		want := map[string]string{"status": map[string]string{"action": "requires_action", "slow": "processing"}[outcome]}
		if status == 402 {
			want = map[string]string{"error.code": card[3], "error.decline_code": card[4], "error.message": card[5], "error.payment_intent.status": "requires_payment_method"}
		}
		a.call(status, "POST", intents, "amount=1999&confirm=true&payment_method="+method)
		a.is(want)
		a.call(200, "POST", intents, "amount=1999&payment_method="+method)
		a.is(map[string]string{"status": "requires_confirmation"})
		a.call(status, "POST", intents+"/"+a.text("id")+"/confirm", "")
		a.is(want)
	}
}

// hostileValues contains values with which a careless mock would produce broken JSON, headers or
// ids.
var hostileValues = []string{
	`"`, `\`, `","status":"succeeded`, "a\nb\tc\x01", "é漢😀\u2028", "{{uuid}}", "{% if %}", "</script>", "%22%00", "&a=b", "007", "1e999",
	"true", "null", "[1", " ", "_", strings.Repeat(`x"`, 50_000),
}

// TestPayments_AnyInputIsKeptAndEchoed sends texts that break careless mocks, as forms and as JSON,
// and expects them unchanged in the answer and when they are read later.
func TestPayments_AnyInputIsKeptAndEchoed(t *testing.T) {
	t.Parallel()
	a := &api{Process: Start(t, "-c", File("examples", "payments.yml"), "--no-webhooks")}
	for _, value := range hostileValues {
		form, object, want := url.Values{}, map[string]string{}, map[string]string{}
		for _, name := range []string{"email", "name", "phone", "description"} {
			form.Set(name, value)
			object[name], want[name] = value, value
		}
		b, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{form.Encode(), string(b)} {
			a.call(200, "POST", "/v1/customers", body)
			a.is(want)
			path := "/v1/customers/" + a.text("id")
			a.call(200, "GET", path, "")
			a.is(want)
			a.call(200, "POST", path, body)
			a.is(want)
		}
	}
}

// shop is examples/payments.yml with its events sent to a target of the test.
type shop struct {
	*api
	target *HookTarget
	ids    map[string]bool // of the events received
}

func newShop(t *testing.T, response func(n int, w http.ResponseWriter, r *http.Request)) *shop {
	t.Helper()
	target := NewHookTarget(t, response)
	p := Launch(t, []string{"WEBHOOK_URL=" + target.URL + "/stripe"}, "-c", File("examples", "payments.yml")).Listening()
	return &shop{api: &api{Process: p}, target: target, ids: map[string]bool{}}
}

// notified waits for the next event and compares its kind and its object; with status "" the status is
// not compared.
func (s *shop) notified(kind, id, status string) {
	s.T.Helper()
	event, got, object := s.event()
	s.ids[event] = true
	if got != kind || object["id"] != id || status != "" && object["status"] != status {
		s.T.Errorf("got event %s of %v, want %s of %s, %s", got, object, kind, id, status)
	}
}

// event waits for the next event, checks its signature, and returns its id, kind and object.
func (s *shop) event() (id, kind string, object map[string]any) {
	s.T.Helper()
	r := s.target.Next(s.T)
	if fault := stripeFault(r.Body, r.Header.Get("Stripe-Signature"), "whsec_mock", time.Now()); fault != "" {
		s.T.Errorf("signature %q: %s", r.Header.Get("Stripe-Signature"), fault)
	}
	if r.Method != "POST" || r.URI != "/stripe" || r.Header.Get("Content-Type") != "application/json" {
		s.T.Errorf("got %s %s of type %q, want a POST of JSON to /stripe", r.Method, r.URI, r.Header.Get("Content-Type"))
	}
	event, _ := exampleDecode(s.T, r.Body).(map[string]any)
	const want = `{"id": "<text>", "object": "event", "type": "<text>", "created": "<integer>", "livemode": false}`
	data, _ := event["data"].(map[string]any)
	delete(event, "data")
	if diff := exampleDiff("event", exampleDecode(s.T, want), event, time.Time{}); diff != "" {
		s.T.Fatalf("%s in %s", diff, r.Body)
	}
	object, ok := data["object"].(map[string]any)
	id = event["id"].(string)
	if !ok || len(data) != 1 || !strings.HasPrefix(id, "evt_") {
		s.T.Fatalf("got %s, want an id evt_… and data.object", r.Body)
	}
	return id, event["type"].(string), object
}

// stripeFault verifies a signature as described at
// https://docs.stripe.com/webhooks#verify-manually: the header is split at commas and at =; the
// signed text consists of t, a dot and the body; v1 is its HMAC-SHA256 in hexadecimal; and t is at
// most five minutes before or after now.
func stripeFault(body, header, secret string, now time.Time) string {
	var at string
	var signatures []string
	for _, part := range strings.Split(header, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "t":
			at = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || len(signatures) == 0 {
		return "no time t, or no signature v1"
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "." + body))
	if !slices.Contains(signatures, hex.EncodeToString(mac.Sum(nil))) {
		return "no signature is that of the body"
	}
	if age := now.Unix() - seconds; age > 300 || age < -300 {
		return fmt.Sprintf("it is %d seconds old", age)
	}
	return ""
}

func TestPayments_TheVerifierOfTheTestsIsRight(t *testing.T) {
	t.Parallel()
	// The value was computed with openssl dgst -sha256 -hmac whsec_mock.
	const good = "t=1705314600,v1=e6b3883985e95311c17332879206676fe736c9b4724c8b0c33f308f4bb289aa3"
	now := time.Unix(1705314610, 0)
	for header, fault := range map[string]string{
		good: "", good + ",v0=ab": "", "t=1705314600,v1=ab," + good[len("t=1705314600,"):]: "",
		"": "no time", "t=1705314600": "no time", good[len("t=1705314600,"):]: "no time", "t=1705314601" + good[len("t=1705314600"):]: "no signature",
		"t=1705314600,v0=" + good[len("t=1705314600,v1="):]: "no time",
	} {
		if got := stripeFault(`{"a": 1}`, header, "whsec_mock", now); !strings.HasPrefix(got, fault) || fault == "" && got != "" {
			t.Errorf("%q: got %q, want %q", header, got, fault)
		}
	}
	if stripeFault(`{"a": 2}`, good, "whsec_mock", now) == "" || stripeFault(`{"a": 1}`, good, "whsec", now) == "" ||
		stripeFault(`{"a": 1}`, good, "whsec_mock", now.Add(time.Hour)) == "" {
		t.Error("another body, another secret and an old signature are accepted too, want them refused")
	}
}

func TestPayments_AnEventComesAgainAsItWas(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s.call(200, "POST", intents, "amount=1999")
	first, _, object := s.event()
	second, kind, again := s.event()
	if first != second || kind != "payment_intent.created" || fmt.Sprint(object) != fmt.Sprint(again) {
		t.Errorf("got event %s and then %s (%s), want the same one", first, second, kind)
	}
	s.Signal(syscall.SIGTERM)
	s.WaitLine(0, "webhooks delivered=1 retried=1 dead=0")
}

func TestPayments_EventsGoToTheMocksOwnWebhook(t *testing.T) {
	t.Parallel()
	a := &api{Process: Start(t, "-c", File("examples", "payments.yml"), "--access-log")}
	a.call(200, "POST", intents, "amount=1999&confirm=true&payment_method=pm_card_visa")
	a.call(402, "POST", intents, "amount=1999&confirm=true&payment_method=pm_card_chargeDeclined")
	n := 0
	for range 2 {
		line := a.WaitLine(n, "method=POST", "uri=/v1/webhook", "status=200")
		n += slices.Index(a.Output()[n:], line) + 1
	}
	a.Signal(syscall.SIGTERM)
	// If an event led to another one, that event would now be due and could not be delivered.
	a.WaitLine(0, "webhooks delivered=2 retried=0 dead=0 refused=0 abandoned=0")
}
