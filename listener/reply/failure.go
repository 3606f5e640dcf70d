package reply

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/valyala/fasthttp"

	"mockserver/fetcher"
)

// Failure is one kind of the server's own error replies. Codes are stable; the reference lists
// them.
type Failure struct {
	Status int
	Code   string
	Title  string
}

// The kinds of failures.
var (
	BadRequest        = Failure{fasthttp.StatusBadRequest, "bad_request", "Bad request"}
	EndpointNotFound  = Failure{fasthttp.StatusNotFound, "endpoint_not_found", "No endpoint"}
	MethodNotAllowed  = Failure{fasthttp.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed"}
	BodyNotFound      = Failure{fasthttp.StatusNotFound, "body_not_found", "No such body"}
	ResponseNotFound  = Failure{fasthttp.StatusNotFound, "answer_not_found", "No such answer"}
	BadPreference     = Failure{fasthttp.StatusBadRequest, "bad_preference", "Bad preference"}
	InvalidRequest    = Failure{fasthttp.StatusBadRequest, "invalid_request", "Invalid request"}
	InvalidBody       = Failure{fasthttp.StatusUnprocessableEntity, "invalid_body", "Invalid request body"}
	Unauthorized      = Failure{fasthttp.StatusUnauthorized, "unauthorized", "Unauthorized"}
	UnsupportedMedia  = Failure{fasthttp.StatusUnsupportedMediaType, "unsupported_media_type", "Unsupported media type"}
	BadJSON           = Failure{fasthttp.StatusBadRequest, "bad_json", "Bad JSON"}
	RowNotFound       = Failure{fasthttp.StatusNotFound, "row_not_found", "No such row"}
	BadPage           = Failure{fasthttp.StatusBadRequest, "bad_page", "Bad page"}
	BadCursor         = Failure{fasthttp.StatusBadRequest, "bad_cursor", "Bad cursor"}
	UnknownParameter  = Failure{fasthttp.StatusBadRequest, "unknown_parameter", "Unknown parameter"}
	TooManyRows       = Failure{fasthttp.StatusBadRequest, "too_many_rows", "Too many rows"}
	Precondition      = Failure{fasthttp.StatusPreconditionFailed, "precondition_failed", "Precondition failed"}
	KeyMismatch       = Failure{fasthttp.StatusUnprocessableEntity, "key_mismatch", "Key mismatch"}
	KeyExists         = Failure{fasthttp.StatusConflict, "key_exists", "Key exists"}
	OutOfBounds       = Failure{fasthttp.StatusConflict, "out_of_bounds", "Out of bounds"}
	NotANumber        = Failure{fasthttp.StatusUnprocessableEntity, "not_a_number", "Not a number"}
	StateBusy         = Failure{fasthttp.StatusServiceUnavailable, "state_busy", "Rows change too often"}
	StateFull         = Failure{fasthttp.StatusInsufficientStorage, "state_full", "No room for changes"}
	BadHandshake      = Failure{fasthttp.StatusBadRequest, "bad_handshake", "Bad WebSocket handshake"}
	UpgradeRequired   = Failure{fasthttp.StatusUpgradeRequired, "upgrade_required", "Upgrade required"}
	RequestTimeout    = Failure{fasthttp.StatusRequestTimeout, "request_timeout", "Request body timed out"}
	PayloadTooLarge   = Failure{fasthttp.StatusRequestEntityTooLarge, "payload_too_large", "Request body too large"}
	RateLimited       = Failure{fasthttp.StatusTooManyRequests, "rate_limited", "Rate limit exceeded"}
	HeadersTooLarge   = Failure{fasthttp.StatusRequestHeaderFieldsTooLarge, "headers_too_large", "Request header too large"}
	ExpectationFailed = Failure{fasthttp.StatusExpectationFailed, "expectation_failed", "Expectation failed"}
	InternalError     = Failure{fasthttp.StatusInternalServerError, "internal", "Internal error"}
	NotImplemented    = Failure{fasthttp.StatusNotImplemented, "not_implemented", "Not implemented"}
	BodyUnavailable   = Failure{fasthttp.StatusInternalServerError, "body_unavailable", "Body unavailable"}
	ResponseTooLarge  = Failure{fasthttp.StatusInternalServerError, "response_too_large", "Response too large"}
	TemplateTooLong   = Failure{fasthttp.StatusInternalServerError, "template_too_long", "Template takes too long"}
	CapacityExceeded  = Failure{fasthttp.StatusServiceUnavailable, "capacity_exceeded", "Capacity exceeded"}
	UpstreamFailed    = Failure{fasthttp.StatusBadGateway, "upstream_failed", "Remote body unavailable"}
	ProxyFailed       = Failure{fasthttp.StatusBadGateway, "upstream_failed", "Upstream failed"}
	ProxyTimeout      = Failure{fasthttp.StatusGatewayTimeout, "upstream_timeout", "Upstream timed out"}
	ProxyLoop         = Failure{fasthttp.StatusLoopDetected, "proxy_loop", "Proxy loop"}
	NotProxied        = Failure{fasthttp.StatusNotImplemented, "not_proxied", "Not proxied"}
	InjectedFailure   = Failure{fasthttp.StatusInternalServerError, "injected_failure", "Injected failure"}
	InjectedTimeout   = Failure{fasthttp.StatusGatewayTimeout, "injected_timeout", "Injected timeout"}
	UpstreamTimeout   = Failure{fasthttp.StatusGatewayTimeout, "upstream_timeout", "Remote body timed out"}
)

// Preset is a Failure with its message, which yields the same error reply each time.
type Preset struct {
	Status  int
	Refusal Refusal
	Body    []byte // JSON
}

// Preset returns the error reply with a message.
func (f Failure) Preset(message string) *Preset {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(struct { // encoding three strings never fails
		Error   string `json:"error"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{f.Title, f.Code, message})
	return &Preset{f.Status, Refusal{f.Code, message}, body.Bytes()}
}

// Write makes p the error reply. It discards the previous content of p.
func (e *Preset) Write(p *Reply) {
	p.Begin()
	e.Fill(p)
}

// Fill is like Write, but keeps the existing fields.
func (e *Preset) Fill(p *Reply) {
	p.Status, p.ContentType, p.Body, p.Rendered = e.Status, "application/json", e.Body, false
	p.Refusal = &e.Refusal
}

// Write makes p the error reply f with a message. It discards the previous content of p.
func (f Failure) Write(p *Reply, message string) { f.Preset(message).Write(p) }

// OfBody returns the failure to send for an error of an external body.
func OfBody(err error) Failure {
	var e *fetcher.Error
	if !errors.As(err, &e) {
		return InternalError
	}
	switch e.Kind {
	case fetcher.NotFound:
		return BodyNotFound
	case fetcher.Upstream:
		return UpstreamFailed
	case fetcher.Timeout:
		return UpstreamTimeout
	}
	return BodyUnavailable
}
