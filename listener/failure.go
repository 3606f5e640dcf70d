package listener

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"mockserver/fetcher"
)

// failure is one kind of error answer of the server itself. Codes are stable:
// docs/reference.md lists them.
type failure struct {
	status int
	code   string
	title  string
}

var (
	badRequest       = failure{fasthttp.StatusBadRequest, "bad_request", "Bad request"}
	endpointNotFound = failure{fasthttp.StatusNotFound, "endpoint_not_found", "No endpoint"}
	methodNotAllowed = failure{fasthttp.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed"}
	bodyNotFound     = failure{fasthttp.StatusNotFound, "body_not_found", "No such body"}
	payloadTooLarge  = failure{fasthttp.StatusRequestEntityTooLarge, "payload_too_large", "Request body too large"}
	headersTooLarge  = failure{fasthttp.StatusRequestHeaderFieldsTooLarge, "headers_too_large", "Request header too large"}
	internalError    = failure{fasthttp.StatusInternalServerError, "internal", "Internal error"}
	bodyUnavailable  = failure{fasthttp.StatusInternalServerError, "body_unavailable", "Body unavailable"}
	upstreamFailed   = failure{fasthttp.StatusBadGateway, "upstream_failed", "Remote body unavailable"}
	upstreamTimeout  = failure{fasthttp.StatusGatewayTimeout, "upstream_timeout", "Remote body timed out"}
)

// write makes the response the error answer f with the details given. What was
// in the response before is gone.
func (f failure) write(ctx *fasthttp.RequestCtx, message string) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(struct { // three texts always encode
		Error   string `json:"error"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{f.title, f.code, message})
	ctx.Response.Reset()
	ctx.Response.SetStatusCode(f.status)
	ctx.Response.Header.SetContentType(typeJSON)
	ctx.Response.SetBodyRaw(body.Bytes())
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
// after it. A client that was only too slow is owed no answer.
func (s *Server) malformed(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.As(err, &small):
		headersTooLarge.write(ctx, "the request line and headers are larger than 64 KiB")
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		payloadTooLarge.write(ctx, "the request body is larger than "+s.maxBodyText())
	case errors.As(err, &timeout) && timeout.Timeout():
		_ = ctx.Conn().Close() // nothing is left to say; a failing close is no news
	default:
		badRequest.write(ctx, err.Error())
	}
	s.allowOrigin(ctx)
}
