package listener

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"

	"github.com/valyala/fasthttp"

	"mockserver/fetcher"
	"mockserver/listener/record"
	"mockserver/matcher"
)

// failure is one kind of error answer of the server itself. Codes are stable:
// docs/reference.md lists them.
type failure struct {
	status int
	code   string
	title  string
}

var (
	badRequest        = failure{fasthttp.StatusBadRequest, "bad_request", "Bad request"}
	endpointNotFound  = failure{fasthttp.StatusNotFound, "endpoint_not_found", "No endpoint"}
	methodNotAllowed  = failure{fasthttp.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed"}
	bodyNotFound      = failure{fasthttp.StatusNotFound, "body_not_found", "No such body"}
	answerNotFound    = failure{fasthttp.StatusNotFound, "answer_not_found", "No such answer"}
	badPreference     = failure{fasthttp.StatusBadRequest, "bad_preference", "Bad preference"}
	invalidRequest    = failure{fasthttp.StatusBadRequest, "invalid_request", "Invalid request"}
	invalidBody       = failure{fasthttp.StatusUnprocessableEntity, "invalid_body", "Invalid request body"}
	unauthorized      = failure{fasthttp.StatusUnauthorized, "unauthorized", "Unauthorized"}
	unsupportedMedia  = failure{fasthttp.StatusUnsupportedMediaType, "unsupported_media_type", "Unsupported media type"}
	badHandshake      = failure{fasthttp.StatusBadRequest, "bad_handshake", "Bad WebSocket handshake"}
	upgradeRequired   = failure{fasthttp.StatusUpgradeRequired, "upgrade_required", "Upgrade required"}
	requestTimeout    = failure{fasthttp.StatusRequestTimeout, "request_timeout", "Request body timed out"}
	payloadTooLarge   = failure{fasthttp.StatusRequestEntityTooLarge, "payload_too_large", "Request body too large"}
	rateLimited       = failure{fasthttp.StatusTooManyRequests, "rate_limited", "Rate limit exceeded"}
	headersTooLarge   = failure{fasthttp.StatusRequestHeaderFieldsTooLarge, "headers_too_large", "Request header too large"}
	expectationFailed = failure{fasthttp.StatusExpectationFailed, "expectation_failed", "Expectation failed"}
	internalError     = failure{fasthttp.StatusInternalServerError, "internal", "Internal error"}
	notImplemented    = failure{fasthttp.StatusNotImplemented, "not_implemented", "Not implemented"}
	bodyUnavailable   = failure{fasthttp.StatusInternalServerError, "body_unavailable", "Body unavailable"}
	responseTooLarge  = failure{fasthttp.StatusInternalServerError, "response_too_large", "Response too large"}
	templateTooLong   = failure{fasthttp.StatusInternalServerError, "template_too_long", "Template takes too long"}
	capacityExceeded  = failure{fasthttp.StatusServiceUnavailable, "capacity_exceeded", "Capacity exceeded"}
	upstreamFailed    = failure{fasthttp.StatusBadGateway, "upstream_failed", "Remote body unavailable"}
	injectedFailure   = failure{fasthttp.StatusInternalServerError, record.InjectedFailure, "Injected failure"}
	injectedTimeout   = failure{fasthttp.StatusGatewayTimeout, record.InjectedTimeout, "Injected time-out"}
	upstreamTimeout   = failure{fasthttp.StatusGatewayTimeout, "upstream_timeout", "Remote body timed out"}
)

// preset is an error answer that is the same each time, made when the snapshot is.
type preset struct {
	status  int
	refusal record.Refusal
	body    []byte
}

func (f failure) preset(message string) *preset {
	return &preset{f.status, record.Refusal{Code: f.code, Message: message}, f.body(message)}
}

// write is that of failure.
func (p *preset) write(ctx *fasthttp.RequestCtx) {
	ctx.Response.Reset()
	p.fill(ctx)
}

// fill is write, but for the headers that are there already, which stay.
func (p *preset) fill(ctx *fasthttp.RequestCtx) {
	ctx.Response.SetStatusCode(p.status)
	ctx.Response.Header.SetContentType(typeJSON)
	ctx.Response.SetBodyRaw(p.body)
	keepReason(ctx, &p.refusal)
}

// write makes the response the error answer f with the details given. What was
// in the response before is gone.
func (f failure) write(ctx *fasthttp.RequestCtx, message string) {
	f.preset(message).write(ctx)
}

// body is the JSON text of the answer.
func (f failure) body(message string) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(struct { // three texts always encode
		Error   string `json:"error"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{f.title, f.code, message})
	return body.Bytes()
}

// keepReason keeps what an answer of the server's own says, for the journal.
func keepReason(ctx *fasthttp.RequestCtx, reason *record.Refusal) {
	if c, ok := ctx.Conn().(*connection); ok && c.from.recorder == nil {
		return // there is none
	}
	record.KeepReason(ctx, reason)
}

// ofBody is the failure that an external body's error answers with.
func ofBody(err error) failure {
	var e *fetcher.Error
	if !errors.As(err, &e) {
		return internalError
	}
	switch e.Kind {
	case fetcher.NotFound:
		return bodyNotFound
	case fetcher.Upstream:
		return upstreamFailed
	case fetcher.Timeout:
		return upstreamTimeout
	}
	return bodyUnavailable
}

// malformed answers what never became a request, and the connection is closed
// after it. A client whose headers were too slow is owed no answer.
func (s *Server) malformed(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	var breach *breach
	c, known := ctx.Conn().(*connection)
	ctx.Request.ReleaseBody(keptBody)
	if known {
		err = c.cause(err)
	}
	switch {
	case errors.As(err, &breach):
		s.refuse(ctx, breach.failure, breach.what)
	case known && !c.spoke.Load(), errors.Is(err, net.ErrClosed), errors.Is(portable(err), syscall.ECONNRESET):
		_ = ctx.Conn().Close() // there was no request, or nobody is there to be answered
	case errors.As(err, &small):
		s.refuse(ctx, headersTooLarge, largeHead.what)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		s.refuse(ctx, payloadTooLarge, "the request body is larger than "+sizeText(s.opts.MaxBody))
	case errors.Is(err, fasthttp.ErrorInvalidURI):
		s.refuse(ctx, badRequest, "the request target is malformed")
	case errors.As(err, &timeout) && timeout.Timeout():
		if !known || c.at.kind != inBody {
			_ = ctx.Conn().Close() // nothing is left to say; a failing close is no news
			return
		}
		s.refuse(ctx, requestTimeout, c.lateness())
	default:
		s.refuse(ctx, badRequest, bounded(err.Error()))
	}
}

// maxMessage bounds the messages of others, in bytes: some hold what the client sent.
const maxMessage = 200

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// refuse answers a request that is not read to its end. The connection is to be
// closed after it.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, f failure, message string) {
	f.write(ctx, message)
	r := receive(ctx)
	defer matcher.Release(r)
	s.allowOrigin(r)
	if c, ok := ctx.Conn().(*connection); ok {
		c.unread.Store(true)
	}
	if s.recorder != nil {
		shard, _ := shardOf(ctx)
		s.recorder.Refused(ctx, shard)
	}
	if s.opts.AccessLog {
		s.logAccess(ctx, slog.String("code", f.code))
	}
}

// expect answers a client that asks before it sends a body: go on, unless the
// body is too large whatever it holds.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	if ctx.Request.Header.ContentLength() <= s.opts.MaxBody {
		return fasthttp.StatusContinue
	}
	s.malformed(ctx, fasthttp.ErrBodyTooLarge)
	return payloadTooLarge.status
}
