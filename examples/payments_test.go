package examples_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// What every answer of examples/payments.yml has, before what a call changes of it.
const (
	aCustomer = `{"id": "<text>", "object": "customer", "balance": 0, "created": "<integer>", "delinquent": false,
		"description": null, "email": null, "livemode": false, "metadata": {}, "name": null, "phone": null}`
	jenny = `{"id": "cus_7", "object": "customer", "balance": 0, "created": 1705314600, "delinquent": false,
		"description": null, "email": "jenny.rosen@example.com", "livemode": false, "metadata": {}, "name": "Jenny Rosen", "phone": null}`
	anIntent = `{"id": "<text>", "object": "payment_intent", "amount": 2000, "amount_capturable": 0, "amount_received": 0,
		"canceled_at": null, "cancellation_reason": null, "capture_method": "automatic", "client_secret": "<text>",
		"created": "<integer>", "currency": "usd", "customer": null, "description": null, "latest_charge": null,
		"livemode": false, "metadata": {}, "next_action": null, "payment_method": null, "payment_method_types": ["card"],
		"status": "requires_payment_method"}`
	aSubscription = `{"id": "<text>", "object": "subscription", "cancel_at_period_end": false, "canceled_at": null,
		"collection_method": "charge_automatically", "created": "<integer>", "currency": "usd",
		"current_period_end": "<integer>", "current_period_start": "<integer>", "customer": "cus_7",
		"default_payment_method": null, "description": null, "ended_at": null,
		"items": {"object": "list", "data": [{"id": "<text>", "object": "subscription_item",
			"price": {"id": "price_basic", "object": "price"}, "quantity": 1}], "has_more": false},
		"latest_invoice": "<text>", "livemode": false, "metadata": {}, "start_date": "<integer>",
		"status": "active", "trial_end": null, "trial_start": null}`
	sdkAction = `{"type": "use_stripe_sdk", "use_stripe_sdk": {"type": "three_d_secure_redirect"}}`
)

// with is the JSON object with the fields of the second one.
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

// readIntent is what is answered for an intent of 2000 eur by its id.
func readIntent(id, fields string) string {
	common := fmt.Sprintf(`{"id": %q, "client_secret": "%s_secret_mock", "currency": "eur"}`, id, id)
	return with(with(anIntent, common), fields)
}

// paidIntent is an intent that has succeeded, or with manual one that is to be captured.
func paidIntent(id string, manual bool) string {
	if manual {
		return readIntent(id, `{"capture_method": "manual", "amount_capturable": 2000, "latest_charge": "ch_`+id+`",
			"payment_method": "pm_card_visa", "status": "requires_capture"}`)
	}
	return readIntent(id, `{"amount_received": 2000, "latest_charge": "ch_`+id+`", "payment_method": "pm_card_visa", "status": "succeeded"}`)
}

// cardError is an error of one of the test cards.
type cardError struct {
	names               []string // behind pm_card_ and tok_; those with {visa_} are known with visa_ and without
	numbers             []string
	code, decline       string
	message, param      string
	creating, confirmed string // summaries of the endpoints
}

var cardErrors = []cardError{
	{[]string{"{visa_}chargeDeclinedInsufficientFunds"}, []string{"4000000000009995"}, "card_declined", "insufficient_funds",
		"Your card has insufficient funds.", "", "Create and confirm with insufficient funds", "Confirm with insufficient funds"},
	{[]string{"{visa_}chargeDeclinedLostCard"}, []string{"4000000000009987"}, "card_declined", "lost_card",
		"Your card was declined.", "", "Create and confirm with a lost card", "Confirm with a lost card"},
	{[]string{"{visa_}chargeDeclinedStolenCard"}, []string{"4000000000009979"}, "card_declined", "stolen_card",
		"Your card was declined.", "", "Create and confirm with a stolen card", "Confirm with a stolen card"},
	{[]string{"{visa_}chargeDeclinedVelocityLimitExceeded"}, []string{"4000000000006975"}, "card_declined", "card_velocity_exceeded",
		"Your card was declined for making repeated attempts too frequently or exceeding its amount limit.", "",
		"Create and confirm with a card that is used too often", "Confirm with a card that is used too often"},
	{[]string{"chargeDeclinedFraudulent", "radarBlock"}, []string{"4100000000000019"}, "card_declined", "fraudulent",
		"Your card was declined.", "", "Create and confirm with a card that looks like fraud", "Confirm with a card that looks like fraud"},
	{[]string{"{visa_}chargeDeclinedExpiredCard"}, []string{"4000000000000069"}, "expired_card", "expired_card",
		"Your card has expired.", "exp_month", "Create and confirm with an expired card", "Confirm with an expired card"},
	{[]string{"{visa_}chargeDeclinedIncorrectCvc"}, []string{"4000000000000127"}, "incorrect_cvc", "incorrect_cvc",
		"Your card's security code is incorrect.", "cvc", "Create and confirm with a wrong security code", "Confirm with a wrong security code"},
	{[]string{"{visa_}chargeDeclinedProcessingError"}, []string{"4000000000000119"}, "processing_error", "processing_error",
		"An error occurred while processing your card. Try again in a little bit.", "",
		"Create and confirm with a card that cannot be processed", "Confirm with a card that cannot be processed"},
	{[]string{"{visa_}chargeDeclined", "chargeCustomerFail"}, []string{"4000000000000002", "4000000000000341"}, "card_declined", "generic_decline",
		"Your card was declined.", "", "Create and confirm with a declined card", "Confirm with a declined card"},
}

// want is the error's answer for the intent with the id.
func (c *cardError) want(id string) string {
	text := fmt.Sprintf(`{"type": "card_error", "code": %q, "decline_code": %q, "message": %q, "charge": "<text>",
		"payment_intent": {"id": %q, "object": "payment_intent", "status": "requires_payment_method"}}`, c.code, c.decline, c.message, id)
	if c.param != "" {
		text = with(text, fmt.Sprintf(`{"param": %q}`, c.param))
	}
	return `{"error": ` + text + `}`
}

// cards are all payment methods and tokens with the error.
func (c *cardError) cards() []string {
	var all []string
	for _, name := range c.names {
		plain, visa := strings.ReplaceAll(name, "{visa_}", ""), strings.ReplaceAll(name, "{visa_}", "visa_")
		all = append(all, "pm_card_"+plain, "tok_"+plain)
		if visa != plain {
			all = append(all, "pm_card_"+visa, "tok_"+visa)
		}
	}
	return all
}

// requestError is the answer of an error with these fields.
func requestError(kind, code, message, param string) string {
	return fmt.Sprintf(`{"error": {"type": %q, "code": %q, "message": %q, "param": %q}}`, kind, code, message, param)
}

// unexpectedState is the answer of a call that the state of an intent does not allow.
func unexpectedState(message, id, status string) string {
	return fmt.Sprintf(`{"error": {"type": "invalid_request_error", "code": "payment_intent_unexpected_state", "message": %q,
		"payment_intent": {"id": %q, "object": "payment_intent", "status": %q}}}`, message, id, status)
}

const (
	intents       = "/v1/payment_intents"
	rateLimited   = `{"error": {"type": "invalid_request_error", "code": "rate_limit", "message": "<text>"}}`
	apiError      = `{"error": {"type": "api_error", "message": "An unknown error occurred."}}`
	notConfirming = "You cannot confirm this PaymentIntent because it has a status of %s. " +
		"Only a PaymentIntent with one of the following statuses may be confirmed: requires_confirmation, requires_action."
	notCapturing = "This PaymentIntent could not be captured because it has a status of %s. " +
		"Only a PaymentIntent with one of the following statuses may be captured: requires_capture."
	notCanceling = "You cannot cancel this PaymentIntent because it has a status of %s. Only a PaymentIntent with one of the following " +
		"statuses may be canceled: requires_payment_method, requires_capture, requires_confirmation, requires_action, processing."
	needsAuthentication = `{"error": {"type": "card_error", "code": "authentication_required", "decline_code": "authentication_required",
		"message": "Your card was declined. This transaction requires authentication.", "charge": "<text>",
		"payment_intent": {"id": "<text>", "object": "payment_intent", "status": "requires_payment_method"}}}`
)

// paymentCalls call every endpoint of examples/payments.yml.
func paymentCalls() []exampleCall {
	return slices.Concat(customerCalls(), createIntentCalls(), readIntentCalls(), confirmCalls(), captureAndCancelCalls(), subscriptionCalls(),
		[]exampleCall{
			{"Receive an event", "POST", "/v1/webhook", `{"id": "evt_1", "object": "event", "type": "payment_intent.succeeded"}`, 200, `{"received": true}`},
			{"Receive an event", "POST", "/v1/webhook", "anything", 200, `{"received": true}`},
			{"Receive an event", "POST", "/v1/webhook", "", 200, `{"received": true}`},
		})
}

func customerCalls() []exampleCall {
	all := `{"email": "ann@example.com", "name": "Ann", "phone": "0123", "description": "good", "metadata": {"order": "6735"}}`
	missing := requestError("invalid_request_error", "resource_missing", "No such customer: 'cus_missing'", "id")
	return []exampleCall{
		{"Create a customer", "POST", "/v1/customers", "", 200, aCustomer},
		{"Create a customer", "POST", "/v1/customers", all, 200, with(aCustomer, all)},
		{"Create a customer", "POST", "/v1/customers", "email=ann%40example.com&name=Ann&phone=0123&description=good&metadata%5Border%5D=6735", 200,
			with(aCustomer, all)},
		{"Create a customer", "POST", "/v1/customers", "metadata[order_id]=1&metadata[order]=2", 200,
			with(aCustomer, `{"metadata": {"order_id": "1", "order": "2"}}`)},
		{"Create a customer", "POST", "/v1/customers", "metadata[order_id]=1", 200, with(aCustomer, `{"metadata": {"order_id": "1"}}`)},
		{"Get a customer", "GET", "/v1/customers/cus_7", "", 200, jenny},
		{"Update a customer", "POST", "/v1/customers/cus_7", "", 200, jenny},
		{"Update a customer", "POST", "/v1/customers/cus_7", `{"name": "Ann"}`, 200, with(jenny, `{"name": "Ann"}`)},
		{"Update a customer", "POST", "/v1/customers/cus_7", "email=a%40b.c&phone=12&metadata[order]=1", 200,
			with(jenny, `{"email": "a@b.c", "phone": "12", "metadata": {"order": "1"}}`)},
		{"Get a missing customer", "GET", "/v1/customers/cus_missing", "", 404, missing},
		{"Update a missing customer", "POST", "/v1/customers/cus_missing", "name=Ann", 404, missing},
	}
}

func createIntentCalls() []exampleCall {
	tooSmall := requestError("invalid_request_error", "amount_too_small", "Amount must be at least $0.50 usd", "amount")
	tooLarge := requestError("invalid_request_error", "amount_too_large", "Amount must be no more than $999,999.99", "amount")
	noCustomer := requestError("invalid_request_error", "resource_missing", "No such customer: 'cus_1_missing'", "customer")
	wrongNumber := requestError("card_error", "incorrect_number", "Your card number is incorrect.", "number")
	paid := with(anIntent, `{"amount_received": 2000, "latest_charge": "<text>", "payment_method": "pm_card_visa", "status": "succeeded"}`)
	authorized := with(paid, `{"amount_received": 0, "amount_capturable": 2000, "capture_method": "manual", "status": "requires_capture"}`)
	challenged := with(anIntent, `{"payment_method": "pm_card_authenticationRequired", "status": "requires_action", "next_action": `+sdkAction+`}`)
	calls := []exampleCall{
		{"Create an intent of too little", "POST", intents, "amount=49", 400, tooSmall},
		{"Create an intent of too little", "POST", intents, `{"amount": -2000}`, 400, tooSmall},
		{"Create an intent of too little", "POST", intents, `{"amount": 0, "confirm": true}`, 400, tooSmall},
		{"Create an intent", "POST", intents, "amount=50", 200, with(anIntent, `{"amount": 50}`)},
		{"Create an intent of too much", "POST", intents, "amount=100000000", 400, tooLarge},
		{"Create an intent of too much", "POST", intents, `{"amount": 100000000}`, 400, tooLarge},
		{"Create an intent", "POST", intents, "amount=99999999", 200, with(anIntent, `{"amount": 99999999}`)},
		{"Create an intent for a missing customer", "POST", intents, "amount=2000&customer=cus_1_missing", 400, noCustomer},
		{"Create an intent for a missing customer", "POST", intents, `{"amount": 2000, "customer": "cus_1_missing"}`, 400, noCustomer},
		{"Create an intent with a key that was used for another one", "POST", intents, "amount=2000", 400, `{"error": {"type": "idempotency_error", "message": ` +
			`"Keys for idempotent requests can only be used with the same parameters they were first used with. ` +
			`Try using a key other than 'reused' if you meant to execute a different request."}}`},
		{"Create an intent too often", "POST", intents, "amount=2000&customer=cus_rate_limit", 429, rateLimited},
		{"Create an intent too often", "POST", intents, `{"amount": 2000, "customer": "cus_rate_limit"}`, 429, rateLimited},
		{"Create an intent while Stripe is out of order", "POST", intents, "amount=2000&customer=cus_api_error", 500, apiError},
		{"Create an intent while Stripe is out of order", "POST", intents, `{"customer": "cus_api_error"}`, 500, apiError},
		{"Create an intent with a wrong card number", "POST", intents, "amount=2000&payment_method_data[card][number]=4242424242424241", 402, wrongNumber},
		{"Create an intent with a wrong card number", "POST", intents, `{"payment_method_data": {"card": {"number": "4242424242424241"}}}`, 402, wrongNumber},
		{"Create an intent", "POST", intents, "", 200, anIntent},
		{"Create an intent", "POST", intents, "amount=2000&currency=EUR&customer=cus_7&description=12&metadata[order]=6735&capture_method=manual", 200,
			with(anIntent, `{"currency": "eur", "customer": "cus_7", "description": "12", "metadata": {"order": "6735"}, "capture_method": "manual"}`)},
		{"Create an intent", "POST", intents, `{"amount": 1234, "currency": "EUR", "confirm": false, "metadata": {"order": 7, "x": null}}`, 200,
			with(anIntent, `{"amount": 1234, "currency": "eur", "metadata": {"order": 7, "x": null}}`)},
		{"Create an intent", "POST", intents, "amount=2000&confirm=false&payment_method=pm_1&payment_method_types[]=card", 200,
			with(anIntent, `{"payment_method": "pm_1", "status": "requires_confirmation"}`)},
		{"Create an intent", "POST", intents, "amount=2000&payment_method_types[]=card&automatic_payment_methods[enabled]=true", 200, anIntent},
		{"Create an intent", "POST", intents, `{"amount": 2000, "payment_method_data": {"type": "card"}}`, 200, with(anIntent, `{"status": "requires_confirmation"}`)},
		{"Create and confirm an intent", "POST", intents, "amount=2000&confirm=true&payment_method=pm_card_visa", 200, paid},
		{"Create and confirm an intent", "POST", intents, `{"amount": 2000, "confirm": true, "payment_method": "pm_card_visa"}`, 200, paid},
		{"Create and confirm an intent", "POST", intents, "amount=2000&confirm=true&capture_method=manual", 200, authorized},
		{"Create and confirm an intent", "POST", intents, `{"amount": 2000, "confirm": true, "capture_method": "manual"}`, 200, authorized},
		{"Create and confirm with a card that needs authentication", "POST", intents, "confirm=true&payment_method=pm_card_authenticationRequired", 200, challenged},
		{"Create and confirm with a card that needs authentication", "POST", intents, `{"confirm": true, "payment_method": "pm_card_authenticationRequired"}`, 200, challenged},
		{"Create and confirm off session with a card that needs authentication", "POST", intents,
			"confirm=true&off_session=true&payment_method=pm_card_authenticationRequired", 402, needsAuthentication},
		{"Create and confirm off session with a card that needs authentication", "POST", intents,
			`{"confirm": true, "error_on_requires_action": true, "payment_method": "pm_card_threeDSecure2Required"}`, 402, needsAuthentication},
	}
	for i := range cardErrors {
		c := &cardErrors[i]
		for _, card := range c.cards() {
			calls = append(calls,
				exampleCall{c.creating, "POST", intents, "amount=2000&confirm=true&payment_method=" + card, 402, c.want("<text>")},
				exampleCall{c.creating, "POST", intents, `{"confirm": true, "payment_method_data": {"card": {"token": "` + card + `"}}}`, 402, c.want("<text>")})
		}
		for _, number := range c.numbers {
			calls = append(calls,
				exampleCall{c.creating, "POST", intents, "confirm=true&payment_method_data%5Bcard%5D%5Bnumber%5D=" + number, 402, c.want("<text>")},
				exampleCall{c.creating, "POST", intents, `{"confirm": true, "payment_method_data": {"card": {"number": "` + number + `"}}}`, 402, c.want("<text>")})
		}
	}
	for _, number := range []string{"4000002760003184", "4000002500003155", "4000000000003220"} {
		calls = append(calls, exampleCall{"Create and confirm with a card that needs authentication", "POST", intents,
			"confirm=true&payment_method_data[card][number]=" + number, 200, with(challenged, `{"payment_method": "pm_card_threeDSecure2Required"}`)})
	}
	return calls
}

func readIntentCalls() []exampleCall {
	missing := requestError("invalid_request_error", "resource_missing", "No such payment_intent: 'pi_missing'", "intent")
	calls := []exampleCall{
		{"Get a missing intent", "GET", intents + "/pi_missing", "", 404, missing},
		{"Confirm a missing intent", "POST", intents + "/pi_missing/confirm", "", 404, missing},
		{"Capture a missing intent", "POST", intents + "/pi_missing/capture", "", 404, missing},
		{"Cancel a missing intent", "POST", intents + "/pi_missing/cancel", "", 404, missing},
	}
	get := func(endpoint, id, want string) {
		calls = append(calls, exampleCall{endpoint, "GET", intents + "/" + id, "", 200, want})
	}
	for _, id := range []string{"pi_auto_2000_eur_1", "pi_succeeded_auto_2000_eur_1", "pi_auto_2000_eur_1_pm_card_visa"} {
		get("Get an intent", id, paidIntent(id, false))
	}
	for _, id := range []string{"pi_manual_2000_eur_1", "pi_requires_capture_manual_2000_eur_1"} {
		get("Get an intent", id, paidIntent(id, true))
	}
	get("Get an intent that a call was successful for", "pi_requires_action_auto_2000_eur_1_succeeded", paidIntent("pi_requires_action_auto_2000_eur_1_succeeded", false))
	get("Get an intent that a call was successful for", "pi_manual_2000_eur_1_requires_capture", paidIntent("pi_manual_2000_eur_1_requires_capture", true))
	for _, status := range []string{"processing", "requires_confirmation", "requires_payment_method"} {
		id := "pi_" + status + "_auto_2000_eur_1"
		get("Get an intent that is not paid", id, readIntent(id, `{"status": "`+status+`"}`))
	}
	for _, id := range []string{"pi_requires_action_auto_2000_eur_1", "pi_auto_2000_eur_1_pm_card_authenticationRequired", "pi_auto_2000_eur_1_requires_action"} {
		get("Get an intent that is not paid", id, readIntent(id, `{"status": "requires_action", "next_action": `+sdkAction+`}`))
	}
	for _, id := range []string{"pi_canceled_auto_2000_eur_1", "pi_auto_2000_eur_1_canceled", "pi_requires_action_auto_2000_eur_1_canceled"} {
		get("Get an intent that is not paid", id, readIntent(id, `{"status": "canceled", "canceled_at": "<integer>"}`))
	}
	id := "pi_manual_2000_eur_1_pm_card_visa_chargeDeclined"
	get("Get an intent that is not paid", id, readIntent(id, `{"capture_method": "manual"}`))
	// What is not of the scheme is of 2000 usd.
	for _, id := range []string{"pi_3MtwBwLkdIwHu7ix28a3tqPa", "pi_auto_007_usd_1", "pi_auto_123456789_usd_1", "pi_auto_1999_chf", "7"} {
		get("Get an intent", id, with(paidIntent(id, false), `{"currency": "usd"}`))
	}
	return calls
}

func confirmCalls() []exampleCall {
	confirm := func(id string) string { return intents + "/" + id + "/confirm" }
	auto, manual, action := "pi_auto_2000_eur_1", "pi_manual_2000_eur_1", "pi_requires_action_auto_2000_eur_1"
	challenged := readIntent(auto, `{"status": "requires_action", "payment_method": "pm_card_threeDSecure2Required", "next_action": `+sdkAction+`}`)
	calls := []exampleCall{
		{"Confirm an intent", "POST", confirm(auto), "", 200, paidIntent(auto, false)},
		{"Confirm an intent", "POST", confirm(auto), "payment_method=pm_1", 200, with(paidIntent(auto, false), `{"payment_method": "pm_1"}`)},
		{"Confirm an intent", "POST", confirm(auto), `{"payment_method": "pm_1"}`, 200, with(paidIntent(auto, false), `{"payment_method": "pm_1"}`)},
		{"Confirm an intent", "POST", confirm(auto) + "/", "", 200, paidIntent(auto, false)},
		{"Confirm an intent", "POST", confirm(action), "payment_method=pm_card_authenticationRequired", 200,
			with(paidIntent(action, false), `{"payment_method": "pm_card_authenticationRequired"}`)},
		{"Confirm an intent that is captured later", "POST", confirm(manual), "", 200, paidIntent(manual, true)},
		{"Confirm with a card that needs authentication", "POST", confirm(auto), "payment_method=pm_card_threeDSecure2Required", 200, challenged},
		{"Confirm with a card that needs authentication", "POST", confirm(auto), `{"payment_method": "pm_card_threeDSecure2Required"}`, 200, challenged},
		{"Confirm off session with a card that needs authentication", "POST", confirm(auto), "off_session=true&payment_method=pm_card_authenticationRequired", 402, needsAuthentication},
		{"Confirm with a wrong card number", "POST", confirm(auto), "payment_method_data[card][number]=4242424242424241", 402,
			requestError("card_error", "incorrect_number", "Your card number is incorrect.", "number")},
		{"Confirm what has succeeded", "POST", confirm("pi_succeeded_auto_2000_eur_1"), "", 400,
			unexpectedState("You cannot confirm this PaymentIntent because it has already succeeded after being previously confirmed.", "pi_succeeded_auto_2000_eur_1", "succeeded")},
	}
	for _, status := range []string{"canceled", "processing", "requires_capture"} {
		id := "pi_" + status + "_manual_2000_eur_1"
		calls = append(calls, exampleCall{"Confirm what is past confirming", "POST", confirm(id), "", 400, unexpectedState(fmt.Sprintf(notConfirming, status), id, status)})
	}
	for i := range cardErrors {
		c := &cardErrors[i]
		for _, card := range append(c.cards(), c.numbers...) {
			calls = append(calls,
				exampleCall{c.confirmed, "POST", confirm(manual), "payment_method=" + card, 402, c.want(manual)},
				exampleCall{c.confirmed, "POST", confirm(auto), `{"payment_method": "` + card + `"}`, 402, c.want(auto)})
		}
	}
	return calls
}

func captureAndCancelCalls() []exampleCall {
	capture, cancel := "/capture", "/cancel"
	manual, auto := "pi_manual_2000_eur_1", "pi_auto_2000_eur_1"
	captured := with(paidIntent(manual, false), `{"capture_method": "manual"}`)
	canceled := with(readIntent(auto, `{"status": "canceled"}`), `{"canceled_at": "<integer>"}`)
	calls := []exampleCall{
		{"Capture an intent", "POST", intents + "/" + manual + capture, "", 200, captured},
		{"Capture an intent", "POST", intents + "/" + manual + capture, "amount_to_capture=1500", 200, with(captured, `{"amount_received": 1500}`)},
		{"Capture an intent", "POST", intents + "/" + manual + capture, `{"amount_to_capture": 1500}`, 200, with(captured, `{"amount_received": 1500}`)},
		{"Cancel an intent", "POST", intents + "/" + auto + cancel, "", 200, canceled},
		{"Cancel an intent", "POST", intents + "/" + auto + cancel, "cancellation_reason=abandoned", 200, with(canceled, `{"cancellation_reason": "abandoned"}`)},
		{"Cancel an intent", "POST", intents + "/" + auto + cancel, `{"cancellation_reason": "duplicate"}`, 200, with(canceled, `{"cancellation_reason": "duplicate"}`)},
	}
	for id, status := range map[string]string{
		"pi_auto_2000_eur_1": "succeeded", "pi_succeeded_manual_2000_eur_1": "succeeded", "pi_manual_2000_eur_1_succeeded": "succeeded",
		"pi_canceled_manual_2000_eur_1": "canceled", "pi_manual_2000_eur_1_canceled": "canceled", "pi_processing_manual_2000_eur_1": "processing",
		"pi_requires_action_auto_2000_eur_1": "requires_action", "pi_requires_payment_method_auto_2000_eur_1": "requires_payment_method",
		"pi_requires_confirmation_auto_2000_eur_1": "requires_confirmation", "pi_auto_2000_eur_manual-1": "succeeded",
	} {
		calls = append(calls, exampleCall{"Capture what cannot be captured", "POST", intents + "/" + id + capture, "", 400,
			unexpectedState(fmt.Sprintf(notCapturing, status), id, status)})
	}
	for id, status := range map[string]string{
		"pi_succeeded_auto_2000_eur_1": "succeeded", "pi_manual_2000_eur_1_succeeded": "succeeded",
		"pi_canceled_auto_2000_eur_1": "canceled", "pi_auto_2000_eur_1_canceled": "canceled",
	} {
		calls = append(calls, exampleCall{"Cancel what has ended", "POST", intents + "/" + id + cancel, "", 400,
			unexpectedState(fmt.Sprintf(notCanceling, status), id, status)})
	}
	return calls
}

func subscriptionCalls() []exampleCall {
	const path = "/v1/subscriptions"
	item := func(price string, quantity int) string {
		return fmt.Sprintf(`{"id": "<text>", "object": "subscription_item", "price": {"id": %q, "object": "price"}, "quantity": %d}`, price, quantity)
	}
	items := func(all ...string) string {
		return `{"items": {"object": "list", "data": [` + strings.Join(all, ",") + `], "has_more": false}}`
	}
	noCustomer := requestError("invalid_request_error", "resource_missing", "No such customer: 'cus_missing'", "customer")
	missing := requestError("invalid_request_error", "resource_missing", "No such subscription: 'sub_missing'", "id")
	again := requestError("invalid_request_error", "resource_missing", "No such subscription: 'sub_canceled_1'", "id")
	declined := `{"error": {"type": "card_error", "code": "card_declined", "decline_code": "generic_decline", "message": "Your card was declined.", "charge": "<text>"}}`
	trialing := with(aSubscription, `{"status": "trialing", "trial_start": "<integer>", "trial_end": "<integer>"}`)
	incomplete := with(aSubscription, `{"status": "incomplete"}`)
	invoice := `{"latest_invoice": {"id": "<text>", "object": "invoice", "payment_intent": {"id": "<text>", "object": "payment_intent",
		"client_secret": "<text>", "status": "requires_payment_method"}}}`
	existing := with(aSubscription, `{"customer": "cus_jenny"}`)
	canceled := `{"status": "canceled", "canceled_at": "<integer>", "ended_at": "<integer>"}`
	calls := []exampleCall{
		{"Subscribe a missing customer", "POST", path, "customer=cus_missing", 400, noCustomer},
		{"Subscribe a missing customer", "POST", path, `{"customer": "cus_missing"}`, 400, noCustomer},
		{"Subscribe too often", "POST", path, "customer=cus_rate_limit", 429, rateLimited},
		{"Subscribe while Stripe is out of order", "POST", path, "customer=cus_api_error", 500, apiError},
		{"Subscribe with a declined card, and not at all then", "POST", path, "payment_behavior=error_if_incomplete&default_payment_method=pm_card_chargeCustomerFail", 402, declined},
		{"Subscribe with a declined card, and not at all then", "POST", path, `{"payment_behavior": "error_if_incomplete", "default_payment_method": "pm_card_chargeDeclined"}`, 402, declined},
		{"Create a subscription", "POST", path, "", 200, with(aSubscription, `{"customer": "cus_jenny"}`)},
		{"Create a subscription", "POST", path, "customer=cus_7&items[0][price]=price_gold", 200, with(aSubscription, items(item("price_gold", 1)))},
		{"Create a subscription", "POST", path, "customer=cus_7&items%5B0%5D%5Bprice%5D=1&items%5B0%5D%5Bquantity%5D=3&items%5B1%5D%5Bprice%5D=price_b", 200,
			with(aSubscription, items(item("1", 3), item("price_b", 1)))},
		{"Create a subscription", "POST", path, `{"customer": "cus_7", "items": [{"price": "price_gold", "quantity": 3}, {"price": "price_b"}, {}], "currency": "EUR"}`, 200,
			with(with(aSubscription, items(item("price_gold", 3), item("price_b", 1), item("price_basic", 1))), `{"currency": "eur"}`)},
		{"Create a subscription", "POST", path, "customer=cus_7&trial_period_days=7", 200, trialing},
		{"Create a subscription", "POST", path, `{"customer": "cus_7", "trial_period_days": 7}`, 200, trialing},
		{"Create a subscription", "POST", path, "customer=cus_7&payment_behavior=default_incomplete&expand%5B0%5D=latest_invoice.payment_intent", 200, with(incomplete, invoice)},
		{"Create a subscription", "POST", path, `{"customer": "cus_7", "payment_behavior": "default_incomplete", "expand": ["latest_invoice.payment_intent"]}`, 200, with(incomplete, invoice)},
		{"Create a subscription", "POST", path, "customer=cus_7&default_payment_method=pm_card_chargeCustomerFail", 200,
			with(incomplete, `{"default_payment_method": "pm_card_chargeCustomerFail"}`)},
		{"Create a subscription", "POST", path, "customer=cus_7&cancel_at_period_end=true&collection_method=send_invoice&metadata[order]=1", 200,
			with(aSubscription, `{"cancel_at_period_end": true, "collection_method": "send_invoice", "metadata": {"order": "1"}}`)},
		{"Get a missing subscription", "GET", path + "/sub_missing", "", 404, missing},
		{"Cancel a missing subscription", "DELETE", path + "/sub_missing", "", 404, missing},
		{"Cancel a subscription again", "DELETE", path + "/sub_canceled_1", "", 404, again},
	}
	for status, more := range map[string]string{
		"active": `{}`, "trialing": `{"trial_start": "<integer>", "trial_end": "<integer>"}`, "incomplete": `{}`, "incomplete_expired": `{}`,
		"past_due": `{}`, "unpaid": `{}`, "paused": `{}`, "canceled": canceled,
	} {
		id := "sub_" + status + "_1"
		is := with(existing, fmt.Sprintf(`{"id": %q, "status": %q, "latest_invoice": "in_%s"}`, id, status, id))
		calls = append(calls, exampleCall{"Get a subscription", "GET", path + "/" + id, "", 200, with(is, more)})
		if status != "canceled" && status != "incomplete_expired" {
			calls = append(calls, exampleCall{"Cancel a subscription", "DELETE", path + "/" + id, "", 200, with(with(is, more), canceled)})
		}
	}
	for _, id := range []string{"sub_1MowQVLkdIwHu7ixeRlqHVzs", "7"} {
		calls = append(calls, exampleCall{"Get a subscription", "GET", path + "/" + id, "", 200, with(existing, fmt.Sprintf(`{"id": %q}`, id))})
	}
	return append(calls, exampleCall{"Get a subscription", "GET", path + "/sub_active_1_canceled", "", 200, with(existing, canceled)})
}

// api calls examples/payments.yml and keeps what it answered last.
type api struct {
	*harness.Process
	last   harness.Answer
	object map[string]any // the answer's body
}

func payments(t *testing.T) *api {
	t.Helper()
	return &api{Process: harness.Start(t, "-c", harness.File("examples", "payments.yml"))}
}

// call makes a call that has to be answered with the status by a JSON object.
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

// text is a field of the last answer, by a path such as "error.code".
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

// state compares what tells the state of an intent of 1999 eur.
func (a *api) state(id, status, capturable, received string) {
	a.T.Helper()
	a.is(map[string]string{
		"id": id, "client_secret": id + "_secret_mock", "status": status, "amount": "1999", "currency": "eur",
		"amount_capturable": capturable, "amount_received": received,
	})
}

// bodies are a body of 1999 eur as a form and as JSON, with the texts given.
func bodies(fields ...string) []string {
	form, object := url.Values{}, map[string]any{}
	for _, field := range append(fields, "amount=1999", "currency=eur") {
		name, value, _ := strings.Cut(field, "=")
		form.Set(name, value)
		object[name] = value
	}
	b, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return []string{form.Encode(), string(b)}
}

func TestPayments_AnIntentThatIsCreatedIsConfirmedAndRead(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for _, body := range bodies("payment_method=pm_card_visa") {
		a.call(200, "POST", intents, body)
		id := a.text("id")
		a.state(id, "requires_confirmation", "0", "0")
		if !regexp.MustCompile(`^pi_auto_1999_eur_[0-9.]+_pm_card_visa$`).MatchString(id) {
			t.Errorf("got id %q, want one of the scheme", id)
		}
		a.call(200, "POST", intents+"/"+id+"/confirm", "")
		a.state(id, "succeeded", "0", "1999")
		charge := a.text("latest_charge")
		a.call(200, "GET", intents+"/"+id, "")
		a.state(id, "succeeded", "0", "1999")
		if charge != a.text("latest_charge") || !strings.HasPrefix(charge, "ch_") {
			t.Errorf("got charge %q and then %q, want the same", charge, a.text("latest_charge"))
		}
		a.call(400, "POST", intents+"/"+id+"/capture", "")
	}
}

func TestPayments_AnIntentIsConfirmedCapturedAndNotCapturedAgain(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for _, body := range bodies("capture_method=manual") {
		a.call(200, "POST", intents, body)
		id := a.text("id")
		a.state(id, "requires_payment_method", "0", "0")
		a.call(200, "POST", intents+"/"+id+"/confirm", "payment_method=pm_card_visa")
		a.state(id, "requires_capture", "1999", "0")
		a.call(200, "GET", intents+"/"+id, "")
		a.state(id, "requires_capture", "1999", "0")
		a.call(200, "POST", intents+"/"+id+"/capture", "")
		a.state(id, "succeeded", "0", "1999")
		captured := a.last.Header.Get("Content-Location")
		a.call(200, "GET", captured, "")
		a.state(id+"_succeeded", "succeeded", "0", "1999")
		for _, step := range []string{"/confirm", "/capture", "/cancel"} {
			a.call(400, "POST", captured+step, "")
			a.is(map[string]string{"error.code": "payment_intent_unexpected_state", "error.payment_intent.status": "succeeded"})
		}
	}
}

func TestPayments_AnIntentConfirmedAtOnce(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for _, body := range bodies("confirm=true", "payment_method=pm_card_visa") {
		a.call(200, "POST", intents, body)
		id := a.text("id")
		a.state(id, "succeeded", "0", "1999")
		charge := a.text("latest_charge")
		a.call(200, "GET", intents+"/"+id, "")
		a.state(id, "succeeded", "0", "1999")
		a.is(map[string]string{"latest_charge": charge})
		for _, step := range []string{"/confirm", "/capture", "/cancel"} {
			a.call(400, "POST", intents+"/"+id+step, "")
		}
	}
	for _, body := range bodies("confirm=true", "capture_method=manual") {
		a.call(200, "POST", intents, body)
		id := a.text("id")
		a.state(id, "requires_capture", "1999", "0")
		a.call(400, "POST", intents+"/"+id+"/confirm", "")
		a.call(200, "POST", intents+"/"+id+"/capture", "amount_to_capture=999")
		a.state(id, "succeeded", "0", "999")
	}
}

func TestPayments_ACanceledIntentStaysCanceledWhereItsContentLocationIs(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for _, mode := range []string{"automatic", "manual"} {
		for _, body := range bodies("capture_method=" + mode) {
			a.call(200, "POST", intents, body)
			id := a.text("id")
			a.call(200, "POST", intents+"/"+id+"/cancel", "cancellation_reason=requested_by_customer")
			a.state(id, "canceled", "0", "0")
			a.is(map[string]string{"cancellation_reason": "requested_by_customer", "capture_method": mode})
			canceled := a.last.Header.Get("Content-Location")
			a.call(200, "GET", canceled, "")
			a.state(id+"_canceled", "canceled", "0", "0")
			for _, step := range []string{"/confirm", "/capture", "/cancel"} {
				a.call(400, "POST", canceled+step, "")
				a.is(map[string]string{"error.payment_intent.status": "canceled"})
			}
		}
	}
}

func TestPayments_AuthenticationIsAskedForAndPassed(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for mode, want := range map[string][3]string{"automatic": {"succeeded", "0", "1999"}, "manual": {"requires_capture", "1999", "0"}} {
		for _, body := range bodies("confirm=true", "payment_method=pm_card_authenticationRequired", "capture_method="+mode, "return_url=https://shop.example/done?order=7") {
			a.call(200, "POST", intents, body)
			id := a.text("id")
			a.state(id, "requires_action", "0", "0")
			a.is(map[string]string{"next_action.type": "redirect_to_url", "next_action.redirect_to_url.return_url": "https://shop.example/done?order=7"})
			back, err := url.Parse(a.text("next_action.redirect_to_url.url"))
			if err != nil || back.Host != "shop.example" || back.Query().Get("order") != "7" || back.Query().Get("redirect_status") != "succeeded" {
				t.Fatalf("got %v (%v) to go to, want the return_url with the outcome", back, err)
			}
			a.call(200, "GET", intents+"/"+id, "")
			a.state(id, "requires_action", "0", "0")
			a.call(200, "GET", intents+"/"+back.Query().Get("payment_intent"), "") // as the shop does when the customer is back
			a.state(id+"_"+want[0], want[0], want[1], want[2])
			a.call(200, "POST", intents+"/"+id+"/confirm", "") // as shops do that confirm themselves
			a.state(id, want[0], want[1], want[2])
		}
	}
	// The same when the card is given first and confirmed later.
	for _, body := range bodies("payment_method=pm_card_threeDSecure2Required") {
		a.call(200, "POST", intents, body)
		id := a.text("id")
		a.call(402, "POST", intents+"/"+id+"/confirm", "off_session=true")
		a.is(map[string]string{"error.code": "authentication_required", "error.payment_intent.id": id})
		a.call(200, "POST", intents+"/"+id+"/confirm", "return_url=x")
		a.state(id, "requires_action", "0", "0")
		a.call(200, "POST", a.last.Header.Get("Content-Location")+"/confirm", "")
		a.state(id+"_requires_action", "succeeded", "0", "1999")
		a.call(200, "POST", intents+"/"+id+"/confirm", "payment_method=pm_card_visa")
		a.state(id, "succeeded", "0", "1999")
	}
}

func TestPayments_ADeclinedIntentIsPaidWithAnotherCard(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for i := range cardErrors {
		c := &cardErrors[i]
		want := map[string]string{"error.code": c.code, "error.decline_code": c.decline, "error.message": c.message}
		for _, card := range c.cards() {
			for _, body := range bodies("confirm=true", "payment_method="+card) {
				a.call(402, "POST", intents, body)
				a.is(want)
				id := a.text("error.payment_intent.id")
				a.call(200, "GET", intents+"/"+id, "")
				a.state(id, "requires_payment_method", "0", "0")
				a.call(200, "POST", intents+"/"+id+"/confirm", "payment_method=pm_card_visa")
				a.state(id, "succeeded", "0", "1999")
			}
			if !strings.HasPrefix(card, "pm_card_") {
				continue // an id names payment methods only
			}
			for _, body := range bodies("payment_method=" + card) {
				a.call(200, "POST", intents, body)
				id := a.text("id")
				a.state(id, "requires_confirmation", "0", "0")
				for _, confirm := range []string{"", "return_url=https%3A%2F%2Fshop.example", `{"return_url": "x"}`} {
					a.call(402, "POST", intents+"/"+id+"/confirm", confirm)
					a.is(want)
					a.is(map[string]string{"error.payment_intent.id": id})
				}
				a.call(200, "GET", intents+"/"+id, "")
				a.state(id, "requires_payment_method", "0", "0")
				for _, confirm := range []string{"payment_method=pm_card_visa", `{"payment_method_data": {"type": "card"}}`, "payment_method_data%5Btype%5D=card"} {
					a.call(200, "POST", intents+"/"+id+"/confirm", confirm)
					a.state(id, "succeeded", "0", "1999")
				}
			}
		}
	}
}

func TestPayments_ASubscriptionIsCreatedReadCanceledAndRead(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for body, status := range map[string]string{
		"customer=cus_7&items[0][price]=price_gold": "active", `{"customer": "cus_7", "trial_period_days": 7}`: "trialing",
		"customer=cus_7&payment_behavior=default_incomplete": "incomplete",
	} {
		a.call(200, "POST", "/v1/subscriptions", body)
		id := a.text("id")
		a.is(map[string]string{"status": status})
		a.call(200, "GET", "/v1/subscriptions/"+id, "")
		a.is(map[string]string{"id": id, "status": status, "canceled_at": "<nil>"})
		a.call(200, "DELETE", "/v1/subscriptions/"+id, "")
		a.is(map[string]string{"id": id, "status": "canceled"})
		canceled := a.last.Header.Get("Content-Location")
		a.call(200, "GET", canceled, "")
		a.is(map[string]string{"id": id + "_canceled", "status": "canceled"})
		a.call(404, "DELETE", canceled, "")
		a.is(map[string]string{"error.code": "resource_missing"})
	}
	// The intent of the first invoice can be confirmed.
	a.call(200, "POST", "/v1/subscriptions", "payment_behavior=default_incomplete&expand[]=latest_invoice.payment_intent")
	id := a.text("latest_invoice.payment_intent.id")
	a.is(map[string]string{"latest_invoice.payment_intent.client_secret": id + "_secret_mock"})
	a.call(200, "POST", intents+"/"+id+"/confirm", "")
	a.is(map[string]string{"id": id, "status": "succeeded", "amount": "2000", "currency": "usd"})
}

func TestPayments_AnIdKeepsAnyAmountAndCurrency(t *testing.T) {
	t.Parallel()
	a := payments(t)
	amounts := []string{"50", "99", "101", "999999", "12345678", "90123456", "10000000", "99999999"}
	for digit := range 10 { // each digit at each place but the first
		amounts = append(amounts, "1"+strings.Repeat(fmt.Sprint(digit), 7))
	}
	currencies := []string{"usd", "eur", "gbp", "chf", "jpy", "cad", "aud", "sek", "nok", "dkk", "pln", "inr", "brl"}
	for i, amount := range amounts {
		currency := currencies[i%len(currencies)]
		a.call(200, "POST", intents, "capture_method=manual&amount="+amount+"&currency="+strings.ToUpper(currency))
		id := a.text("id")
		want := map[string]string{"id": id, "amount": amount, "currency": currency}
		a.is(want)
		want["amount_capturable"] = amount
		a.call(200, "GET", intents+"/"+id, "")
		a.is(want)
		want["amount_capturable"] = "0"
		a.call(200, "POST", intents+"/"+id+"/cancel", "")
		a.is(want)
		want["amount_received"] = amount
		a.call(200, "POST", intents+"/"+id+"/capture", "")
		a.is(want)
		if number, ok := a.object["amount_received"].(json.Number); !ok || number.String() != amount {
			t.Errorf("amount_received: got %#v, want the number %s", a.object["amount_received"], amount)
		}
	}
}

func TestPayments_OneIdempotencyKeyIsOneId(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for path, want := range map[string]string{
		intents: "pi_auto_1999_eur_4c3f-1A", "/v1/customers": "cus_4c3f-1A", "/v1/subscriptions": "sub_active_4c3f-1A",
	} {
		for range 2 {
			for _, body := range bodies() {
				a.call(200, "POST", path, body, "Idempotency-Key: 4c3f-1A")
				a.is(map[string]string{"id": want})
			}
		}
		seen := map[string]bool{}
		for i := range 100 {
			var key []string
			if i%2 == 0 {
				key = append(key, "Idempotency-Key: a/b \"_succeeded") // no id is made of it
			}
			a.call(200, "POST", path, "amount=1999", key...)
			id := a.text("id")
			if seen[id] || strings.Contains(id, "a/b") {
				t.Fatalf("POST %s: got the id %q, want a new one each time, without the key", path, id)
			}
			seen[id] = true
		}
	}
	a.call(400, "POST", intents, "amount=1999", "Idempotency-Key: reused")
	a.is(map[string]string{"error.type": "idempotency_error"})
}

func TestPayments_WhatMayBeTriedAgainSaysSo(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for _, path := range []string{intents, "/v1/subscriptions"} {
		for customer, status := range map[string]int{"cus_rate_limit": 429, "cus_api_error": 500} {
			a.call(status, "POST", path, "customer="+customer)
			if got := a.last.Header.Get("Stripe-Should-Retry"); got != "true" {
				t.Errorf("POST %s for %s: got Stripe-Should-Retry %q, want true", path, customer, got)
			}
		}
	}
}

// hostileValues are values that a careless mock would break its JSON, headers or ids with.
var hostileValues = []string{
	`"`, `\`, `","status":"succeeded`, "a\nb\tc\x01", "é漢😀\u2028", "{{uuid}}", "{% if %}", "</script>", "%22%00", "&a=b", "007", "1e999",
	"true", "null", "[1", " ", "_", strings.Repeat(`x"`, 50_000),
}

func TestPayments_AnyInputIsAnsweredByJSONThatEchoesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a processor for some seconds")
	}
	t.Parallel()
	a := payments(t)
	for _, value := range hostileValues {
		for _, names := range [][]string{
			{"/v1/customers", "email", "name", "phone", "description"},
			{"/v1/customers/cus_7", "email", "name", "phone", "description"},
			{intents, "customer", "description", "payment_method"},
			{intents + "?", "capture_method", "customer"},
			{"/v1/subscriptions", "customer", "description", "default_payment_method", "collection_method"},
			{intents + "/pi_auto_2000_eur_1/confirm", "payment_method"},
			{intents + "/pi_auto_2000_eur_1/cancel", "cancellation_reason"},
		} {
			path, names := names[0], names[1:]
			form, object, want := url.Values{}, map[string]string{}, map[string]string{}
			for _, name := range names {
				form.Set(name, value)
				object[name], want[name] = value, value
			}
			a.call(200, "POST", path, form.Encode())
			a.is(want)
			b, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			a.call(200, "POST", path, string(b))
			a.is(want)
		}
	}
}

func TestPayments_HostileAmountsCurrenciesAndMetadata(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a processor for some seconds")
	}
	t.Parallel()
	a := payments(t)
	for _, value := range hostileValues {
		form := url.Values{
			"amount": {value}, "currency": {value}, "return_url": {value}, "metadata[order]": {value}, "items[0][price]": {value},
			"items[0][quantity]": {value}, "cancel_at_period_end": {value}, "amount_to_capture": {value}, "trial_period_days": {value},
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		object := `{"amount": @, "currency": @, "return_url": @, "metadata": {@: @, "order": @}, "items": [{"price": @, "quantity": @}],
			"cancel_at_period_end": @, "amount_to_capture": @, "trial_period_days": @}`
		for _, body := range []string{form.Encode(), strings.ReplaceAll(object, "@", string(text))} {
			for _, more := range []string{"", "confirm", "requires action"} {
				sent := body
				switch confirm := body[0] != '{'; {
				case more != "" && confirm:
					sent += "&confirm=true"
				case more != "":
					sent = `{"confirm": true, ` + sent[1:]
				}
				if more == "requires action" {
					sent = strings.Replace(sent, "confirm", "payment_method_data[pm_card_authenticationRequired]=1&confirm", 1)
					if body[0] == '{' {
						sent = `{"source": "pm_card_authenticationRequired", "confirm": true, ` + body[1:]
					}
				}
				a.call(200, "POST", intents, sent)
				a.is(map[string]string{"metadata.order": value})
				id := a.text("id")
				if len(value) < 100 { // a request line is bounded
					a.call(200, "GET", intents+"/"+url.PathEscape(id), "")
					a.is(map[string]string{"id": id})
				}
			}
			a.call(200, "POST", "/v1/subscriptions", body)
			a.call(200, "POST", "/v1/webhook", body)
			a.call(200, "POST", intents+"/pi_manual_2000_eur_1/capture", body)
		}
	}
}

func TestPayments_HostileIds(t *testing.T) {
	t.Parallel()
	a := payments(t)
	for _, value := range append(hostileValues[:len(hostileValues)-1:len(hostileValues)-1], strings.Repeat(`"`, 1000), "a/b", "..", "pi_auto_1e9_eur_1", "pi_٣٣_eur_") {
		path := url.PathEscape(value)
		for _, call := range [][2]string{
			{"GET", intents + "/" + path}, {"POST", intents + "/" + path + "/confirm"}, {"POST", intents + "/" + path + "/cancel"},
			{"GET", "/v1/subscriptions/" + path}, {"DELETE", "/v1/subscriptions/" + path}, {"GET", "/v1/customers/" + path},
		} {
			if value == ".." { // clients resolve it themselves
				call[1] = strings.ReplaceAll(call[1], "..", "%2E%2E")
			}
			a.call(200, call[0], call[1], "")
			a.is(map[string]string{"id": value})
			if call[0] == "GET" {
				continue
			}
			location := a.last.Header.Get("Content-Location")
			a.call(200, "GET", location, "")
			if !strings.HasPrefix(a.text("id"), value+"_") {
				t.Errorf("GET %s: got the id %q, want %q and the state", location, a.text("id"), value)
			}
		}
		a.call(400, "POST", intents+"/"+strings.ReplaceAll(path, "..", "%2E%2E")+"/capture", "")
		a.is(map[string]string{"error.payment_intent.id": value})
		a.call(404, "GET", "/v1/customers/"+path+"_missing", "")
		a.is(map[string]string{"error.message": "No such customer: '" + value + "_missing'"})
	}
}

func TestPayments_TimesAreSecondsOfNow(t *testing.T) {
	t.Parallel()
	a := payments(t)
	before := time.Now().Unix()
	for path, fields := range map[string][]string{
		"/v1/customers": {"created"}, intents: {"created"}, intents + "/pi_auto_2000_eur_1/cancel": {"canceled_at"},
		"/v1/subscriptions": {"created", "current_period_start", "start_date"},
	} {
		a.call(200, "POST", path, "")
		for _, field := range fields {
			number, _ := a.object[field].(json.Number)
			if seconds, err := number.Int64(); err != nil || seconds < before || seconds > time.Now().Unix() {
				t.Errorf("POST %s: got %s %#v, want the seconds of now", path, field, a.object[field])
			}
		}
	}
}

// commentOf is the comment that an example begins with.
func commentOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(harness.File("examples", name))
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(text), "\n\n")
	return comment
}

func TestPayments_TheTableOfIdsIsTrue(t *testing.T) {
	t.Parallel()
	a := payments(t)
	rows := regexp.MustCompile(`(?m)^#   (pi_[a-z_]*…|…_missing)  +(\S+)  +(\S.*?\S)  +(\S.*?\S)  +(\S+)$`).FindAllStringSubmatch(commentOf(t, "payments.yml"), -1)
	if len(rows) != 10 {
		t.Fatalf("got %d rows in the comment, want one for each kind of id", len(rows))
	}
	for _, row := range rows {
		for _, mode := range []string{"auto_", "manual_"} {
			id := strings.Replace(row[1], "…", mode+"1999_eur_1", 1)
			if row[1] == "pi_auto_…" || row[1] == "pi_manual_…" {
				id = strings.Replace(row[1], "…", "1999_eur_1", 1)
			}
			ofMode := map[string][2]string{"auto_": {"succeeded", "400"}, "manual_": {"requires_capture", "succeeded"}}[mode]
			for i, step := range []string{"", "/confirm", "/capture", "/cancel"} {
				want, method := row[2+i], "POST"
				switch {
				case step == "":
					method = "GET"
				case want == "as its MODE":
					want = ofMode[i-1]
				}
				if status, err := strconv.Atoi(want); err == nil {
					a.call(status, method, intents+"/"+id+step, "")
					continue
				}
				a.call(200, method, intents+"/"+id+step, "")
				a.is(map[string]string{"id": id, "status": want, "amount": "1999", "currency": "eur"})
				if method == "GET" {
					continue
				}
				a.call(200, "GET", a.last.Header.Get("Content-Location"), "")
				a.is(map[string]string{"id": id + "_" + want, "status": want, "amount": "1999", "currency": "eur"})
			}
		}
	}
}

func TestPayments_TheTableOfCardsIsTrue(t *testing.T) {
	t.Parallel()
	comment := commentOf(t, "payments.yml")
	for i := range cardErrors {
		c := &cardErrors[i]
		names := strings.ReplaceAll(strings.Join(c.names, ", "), "{visa_}", "")
		outcome := c.code + " (" + c.decline + ")"
		if c.code == c.decline {
			outcome = c.code + " (the same)"
		}
		row := `(?m)^#   ` + names + ` +` + c.numbers[0] + `  ` + regexp.QuoteMeta(outcome) + `$`
		if !regexp.MustCompile(row).MatchString(comment) {
			t.Errorf("the comment has no row for %s, want %s", names, row)
		}
	}
}

// shop is examples/payments.yml with its events sent to a target of the test, and what
// is expected there.
type shop struct {
	*api
	target *harness.HookTarget
	want   map[string]map[string]any // by type and id: fields of the event's object
}

func newShop(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *shop {
	t.Helper()
	target := harness.NewHookTarget(t, answer)
	p := harness.Launch(t, []string{"WEBHOOK_URL=" + target.URL + "/stripe"}, "-c", harness.File("examples", "payments.yml")).Listening()
	return &shop{api: &api{Process: p}, target: target, want: map[string]map[string]any{}}
}

// expect is an event for what the last answer was about: the fields, of the JSON text, on
// top of those that the answer has too.
func (s *shop) expect(kind, fields string) {
	s.T.Helper()
	object := s.object
	if failure, ok := object["error"].(map[string]any); ok {
		object = failure["payment_intent"].(map[string]any)
	}
	want := maps.Clone(object)
	if strings.HasPrefix(kind, "charge.") { // no call answers a charge
		want = map[string]any{}
	}
	maps.Copy(want, exampleDecode(s.T, fields).(map[string]any))
	key := kind + " " + fmt.Sprint(want["id"])
	if s.want[key] != nil {
		s.T.Fatalf("%s is expected already: the calls of a test need different ids", key)
	}
	s.want[key] = want
}

// settle waits for all events that are expected, checks them, ends the program, which sends
// what is due, and fails the test if there was one more.
func (s *shop) settle() {
	s.T.Helper()
	total, ids := len(s.want), map[string]bool{}
	for range total {
		id, kind, object := s.event()
		key := kind + " " + fmt.Sprint(object["id"])
		want := s.want[key]
		if ids[id] || want == nil {
			s.T.Errorf("got %s as event %s, want each of %q once, with an id of its own", key, id, slices.Sorted(maps.Keys(s.want)))
			continue
		}
		ids[id] = true
		delete(s.want, key)
		for field, value := range object {
			if _, ok := want[field]; !ok {
				continue // of no answer, and nothing the test is about
			}
			if diff := exampleDiff(key+": "+field, want[field], value, time.Time{}); diff != "" {
				s.T.Error(diff)
			}
		}
		for _, field := range []string{"id", "object", "status", "amount", "currency", "amount_received", "amount_capturable", "amount_captured", "last_payment_error"} {
			if value, ok := want[field]; ok && object[field] == nil && value != nil {
				s.T.Errorf("%s: got no %s, want %v", key, field, value)
			}
		}
	}
	s.Signal(syscall.SIGTERM)
	s.WaitLine(0, "stopped")
	s.Exit()
	var ledger string // there is none when there was no webhook
	for _, line := range s.Output() {
		if strings.Contains(line, "webhooks delivered=") {
			ledger = line
		}
	}
	if want := fmt.Sprintf("webhooks delivered=%d retried=0 dead=0 refused=0 abandoned=0", total); (total > 0 || ledger != "") && !strings.Contains(ledger, want) {
		s.T.Errorf("got %q, want %s", ledger, want)
	}
	s.target.NothingLeft(s.T)
}

// event is the next event, whose signature is right, with the object that it is about.
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

// stripeFault verifies a signature as https://docs.stripe.com/webhooks#verify-manually says:
// the header is split at commas and at =, t and the body with a dot between them are what is
// signed, v1 is its HMAC-SHA256 in hexadecimal, and t is at most five minutes ago.
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
	// The value was made by openssl dgst -sha256 -hmac whsec_mock.
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
		t.Error("another body, another secret and an old signature are right as well, want them wrong")
	}
}

func TestPayments_EventsFollowTheCalls(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	for _, body := range bodies("payment_method=pm_card_visa", "customer=cus_7") {
		s.call(200, "POST", intents, body)
		s.expect("payment_intent.created", `{"status": "requires_confirmation", "amount": 1999, "currency": "eur", "customer": "cus_7"}`)
	}
	s.call(200, "POST", intents, `{"amount": 1234, "currency": "EUR", "metadata": {"order": 7}}`)
	s.expect("payment_intent.created", `{"status": "requires_payment_method", "amount": 1234, "currency": "eur", "metadata": {"order": 7}, "last_payment_error": null}`)
	s.call(200, "POST", intents, "amount=1234&metadata[order]=7", "Idempotency-Key: 4c3f")
	s.expect("payment_intent.created", `{"id": "pi_auto_1234_usd_4c3f", "amount": 1234, "metadata": {"order": "7"}}`)

	for kind, fields := range map[string]string{
		"pi_auto_1999_eur_1 payment_intent.succeeded":                        `{"status": "succeeded", "amount": 1999, "amount_received": 1999, "amount_capturable": 0}`,
		"pi_manual_1999_chf_1 payment_intent.amount_capturable_updated":      `{"status": "requires_capture", "amount": 1999, "amount_received": 0, "amount_capturable": 1999, "currency": "chf"}`,
		"pi_manual_7001_eur_cancel payment_intent.amount_capturable_updated": `{"status": "requires_capture", "amount": 7001}`,
		"pi_auto_1999_eur_1_pm_card_visa_chargeDeclinedExpiredCard payment_intent.payment_failed": `{"status": "requires_payment_method", "amount": 1999,
			"currency": "eur", "amount_received": 0, "last_payment_error": {"type": "card_error", "code": "expired_card"}}`,
		"pi_auto_1999_eur_1_pm_card_authenticationRequired payment_intent.requires_action": `{"status": "requires_action", "amount": 1999, "last_payment_error": null}`,
	} {
		id, kind, _ := strings.Cut(kind, " ")
		status := 200
		if strings.HasSuffix(kind, "failed") {
			status = 402
		}
		s.call(status, "POST", intents+"/"+id+"/confirm", "")
		s.expect(kind, fields)
	}
	s.call(200, "POST", intents+"/pi_auto_1999_eur_2_pm_card_chargeDeclined/confirm", "payment_method=pm_card_visa")
	s.expect("payment_intent.succeeded", `{"amount_received": 1999}`)

	s.call(200, "POST", intents+"/pi_manual_12345678_eur_1/capture", "")
	s.expect("payment_intent.succeeded", `{"status": "succeeded", "amount": 12345678, "amount_received": 12345678}`)
	s.expect("charge.captured", `{"id": "ch_pi_manual_12345678_eur_1", "object": "charge", "payment_intent": "pi_manual_12345678_eur_1",
		"amount": 12345678, "amount_captured": 12345678, "currency": "eur", "status": "succeeded"}`)
	s.call(200, "POST", intents+"/pi_requires_capture_manual_1999_eur_1/capture", `{"amount_to_capture": 999}`)
	s.expect("payment_intent.succeeded", `{"amount": 1999, "amount_received": 999, "amount_capturable": 0}`)
	s.expect("charge.captured", `{"id": "ch_pi_requires_capture_manual_1999_eur_1", "object": "charge", "amount": 1999, "amount_captured": 999}`)

	s.call(200, "POST", intents+"/pi_manual_1999_eur_3/cancel/", "cancellation_reason=abandoned")
	s.expect("payment_intent.canceled", `{"status": "canceled", "amount": 1999, "currency": "eur", "cancellation_reason": "abandoned"}`)

	for _, body := range []string{"", "email=ann%40example.com&metadata[order_id]=1", `{"name": "Ann", "phone": "0123", "metadata": {"a": [1]}}`} {
		s.call(200, "POST", "/v1/customers", body)
		s.expect("customer.created", `{"object": "customer"}`)
		id := "cus_" + strconv.Itoa(len(body))
		s.call(200, "POST", "/v1/customers/"+id, body)
		s.expect("customer.updated", `{"id": "`+id+`", "object": "customer"}`)
		s.call(200, "POST", "/v1/subscriptions", body)
		s.expect("customer.subscription.created", `{"status": "active", "currency": "usd"}`)
	}
	for body, status := range map[string]string{"customer=cus_7&trial_period_days=7": "trialing", `{"payment_behavior": "default_incomplete"}`: "incomplete"} {
		s.call(200, "POST", "/v1/subscriptions", body)
		s.expect("customer.subscription.created", `{"status": "`+status+`"}`)
		id := s.text("id")
		s.call(200, "DELETE", "/v1/subscriptions/"+id, "")
		s.expect("customer.subscription.deleted", `{"id": "`+id+`", "status": "canceled"}`)
	}
	s.settle()
}

func TestPayments_EventsOfIntentsThatAreConfirmedAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	created := `{"object": "payment_intent", "status": "requires_confirmation", "amount": 1999, "amount_received": 0, "amount_capturable": 0, "last_payment_error": null}`
	for _, c := range []struct {
		more          []string // in the body, beside 1999 eur
		status        int
		kind, outcome string
	}{
		{nil, 200, "succeeded", `{"status": "succeeded", "amount": 1999, "amount_received": 1999, "amount_capturable": 0}`},
		{[]string{"capture_method=manual"}, 200, "amount_capturable_updated", `{"status": "requires_capture", "amount": 1999, "amount_received": 0, "amount_capturable": 1999}`},
		{[]string{"payment_method_data=4000002760003184"}, 200, "requires_action", `{"status": "requires_action", "amount": 1999, "amount_received": 0}`},
		{[]string{"payment_method_data=4000002760003184", "capture_method=manual"}, 200, "requires_action", `{"status": "requires_action", "amount": 1999}`},
		{[]string{"payment_method_data=4000002760003184", "off_session=true"}, 402, "payment_failed",
			`{"status": "requires_payment_method", "amount": 1999, "last_payment_error": {"type": "card_error", "code": "authentication_required"}}`},
	} {
		for _, body := range bodies(append(c.more, "confirm=true", "payment_method=pm_1", "customer=cus_7")...) {
			s.call(c.status, "POST", intents, body)
			s.expect("payment_intent.created", created)
			s.expect("payment_intent."+c.kind, c.outcome)
		}
	}
	s.settle()
}

func TestPayments_EventsOfDeclinedCards(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	for i := range cardErrors {
		c := &cardErrors[i]
		failed := `{"status": "requires_payment_method", "amount": 1999, "currency": "eur", "amount_received": 0, "amount_capturable": 0,
			"last_payment_error": {"type": "card_error", "code": "` + c.code + `"}}`
		for j, card := range append(c.cards(), c.numbers...) {
			body := "amount=1999&currency=eur&confirm=true&payment_method=" + card
			if j%2 == 0 {
				body += "&capture_method=manual"
			}
			s.call(402, "POST", intents, body)
			s.expect("payment_intent.created", `{"amount": 1999, "currency": "eur", "status": "requires_confirmation", "last_payment_error": null}`)
			s.expect("payment_intent.payment_failed", failed)
			id := fmt.Sprintf("pi_auto_1999_eur_%d-%d", i, j)
			s.call(402, "POST", intents+"/"+id+"/confirm", `{"payment_method": "`+card+`"}`)
			s.expect("payment_intent.payment_failed", failed)
			if strings.HasPrefix(card, "pm_card_") {
				s.call(402, "POST", intents+"/"+id+"_"+card+"/confirm", "")
				s.expect("payment_intent.payment_failed", failed)
			}
		}
	}
	s.call(402, "POST", intents+"/pi_auto_1999_eur_1/confirm", "off_session=true&payment_method=pm_card_authenticationRequired")
	s.expect("payment_intent.payment_failed", `{"last_payment_error": {"type": "card_error", "code": "authentication_required"}}`)
	s.settle() // no succeeded is among them
}

// What changes nothing, or is refused before there is an intent, is no event; nor does an
// event lead to another.
func TestPayments_NoEventsOfWhatDidNotHappen(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	for _, c := range paymentCalls() {
		declined := c.status == 402 && strings.Contains(c.want, `"payment_intent"`)
		if c.method == "GET" || c.path == "/v1/webhook" || c.status >= 400 && !declined {
			c.check(s.T, s.Process)
		}
	}
	s.settle()
}

func TestPayments_EventsOfHostileInputAreJSONThatEchoesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a processor for some seconds")
	}
	t.Parallel()
	s := newShop(t, nil)
	for i, value := range hostileValues {
		form := url.Values{}
		object := map[string]any{}
		for _, name := range []string{"amount", "currency", "customer", "description", "email", "name", "phone", "payment_method", "cancellation_reason", "metadata[order]"} {
			form.Set(name, value)
			object[name] = value
		}
		object["metadata"] = map[string]any{value: value, "order": value}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		for j, body := range []string{form.Encode(), string(text)} {
			id := fmt.Sprintf("%d-%d", i, j)
			s.call(200, "POST", intents, body)
			s.expect("payment_intent.created", `{}`)
			s.call(200, "POST", "/v1/customers", body)
			s.expect("customer.created", `{}`)
			s.call(200, "POST", "/v1/customers/cus_"+id, body)
			s.expect("customer.updated", `{}`)
			s.call(200, "POST", "/v1/subscriptions", body)
			s.expect("customer.subscription.created", `{}`)
			s.call(200, "POST", intents+"/pi_auto_1999_eur_"+id+"/confirm", body)
			s.expect("payment_intent.succeeded", `{}`)
			s.call(200, "POST", intents+"/pi_auto_1999_eur_"+id+"/cancel", body)
			s.expect("payment_intent.canceled", `{}`)
			if len(value) < 100 { // a request line is bounded
				id = url.PathEscape(value + id)
				s.call(200, "POST", intents+"/"+id+"/confirm", "")
				s.expect("payment_intent.succeeded", `{"amount": 2000}`)
				s.call(200, "DELETE", "/v1/subscriptions/"+id, "")
				s.expect("customer.subscription.deleted", `{}`)
			}
		}
	}
	s.settle()
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
	a := &api{Process: harness.Start(t, "-c", harness.File("examples", "payments.yml"), "--access-log")}
	a.call(200, "POST", intents, "amount=1999&confirm=true")
	a.call(402, "POST", intents, "amount=1999&confirm=true&payment_method=pm_card_chargeDeclined")
	n := 0
	for range 4 { // two of each intent
		line := a.WaitLine(n, "method=POST", "uri=/v1/webhook", "status=200")
		n += slices.Index(a.Output()[n:], line) + 1
	}
	a.Signal(syscall.SIGTERM)
	// An event that led to another would leave one that is due now, and reaches nobody.
	a.WaitLine(0, "webhooks delivered=4 retried=0 dead=0 refused=0 abandoned=0")
}

func TestPayments_TheTableOfEventsNamesThemAll(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(harness.File("examples", "payments.yml"))
	if err != nil {
		t.Fatal(err)
	}
	comment := commentOf(t, "payments.yml")
	kinds := regexp.MustCompile(`"type": "((?:customer|payment_intent|charge)\.[^"{]+)"`).FindAllStringSubmatch(string(text)[len(comment):], -1)
	if len(kinds) < 8 {
		t.Errorf("got %d events in the file, want at least 8", len(kinds))
	}
	for _, kind := range append(kinds, []string{"", "payment_intent.succeeded"}, []string{"", "payment_intent.amount_capturable_updated"}) {
		if !regexp.MustCompile(`(?m)^#   .*\b` + regexp.QuoteMeta(kind[1]) + `\b`).MatchString(comment) {
			t.Errorf("the comment's table has no %s", kind[1])
		}
	}
}
