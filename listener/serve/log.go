package serve

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"mockserver/internal/wording"
	"mockserver/listener/compile"
	"mockserver/listener/memory/data"
	"mockserver/listener/observe/record"
	"mockserver/listener/reply"
	"mockserver/renderer"
)

// logServerError logs and reports a 5xx response of the server itself, at most once a minute for
// each endpoint and code. It ignores other responses.
func (s *Server) logServerError(f reply.Failure, a *compile.Response, err error) {
	if f.Status < 500 || !s.serverErrors.Pass(f.Code+" "+a.Name, time.Now()) {
		return
	}
	s.Log.LogAttrs(context.Background(), slog.LevelError, "server error",
		slog.String("code", f.Code), slog.String("endpoint", a.Name), slog.String("error", err.Error()))
	declared := ""
	if a.Source != nil {
		declared = a.Source.Declared()
	}
	s.Reports.Failed(f.Code, a.Name, declared, err)
}

// logPanic logs and reports a panic with its stack, at most once a minute for each message. during
// says what was being done, and more adds details; both appear in the log. endpoint is "" if it is
// not known yet. logPanic must be called while the stack is still that of the panic.
func (s *Server) logPanic(during string, endpoint string, p any, message string, more ...slog.Attr) {
	if !s.serverErrors.Pass(reply.InternalError.Code+" "+message, time.Now()) {
		return
	}
	s.Log.LogAttrs(context.Background(), slog.LevelError, during,
		append(more, slog.String("error", message), slog.String("stack", string(debug.Stack())))...)
	s.Reports.Panicked(reply.InternalError.Code, endpoint, p)
}

// logAccess logs one request with its status and one further attribute. If the headers could not be
// parsed, the method and the URI are logged as "-". A request that was not answered because its
// client left is logged with the status that nginx uses.
func (s *Server) logAccess(c *call, left bool, more slog.Attr) {
	method, uri := "-", "-"
	if len(c.In.Method) > 0 {
		method, uri = string(c.In.Method), string(c.In.Target)
	}
	status, bytes := c.Reply.Status, len(c.Reply.Sent(false))+c.Trace.Streamed.Bytes
	if left {
		status, bytes = record.StatusLeft, 0
	}
	attrs := []slog.Attr{
		slog.String("method", method),
		slog.String("uri", uri),
		slog.Int("status", status),
		slog.Int("bytes", bytes),
		slog.String("remote", c.In.Remote.String()),
		slog.String("protocol", c.In.Protocol.String()),
		more,
	}
	if c.In.TLS != nil {
		attrs = append(attrs, slog.String("tls", string(c.In.TLS.Version)))
	}
	if c.Trace.Fault != "" {
		attrs = append(attrs, slog.String("fault", c.Trace.Fault))
	}
	s.Log.LogAttrs(context.Background(), slog.LevelInfo, "request", attrs...)
}

// unfinished returns the failure to send for a template that was stopped, and the error to report.
func (s *Server) unfinished(stopped error) (reply.Failure, error) {
	if stopped == renderer.ErrTooLarge {
		return reply.ResponseTooLarge, fmt.Errorf("a template produces more than %s; see --max-response", wording.Size(s.MaxResponse))
	}
	if stopped == data.ErrTooManyRows {
		return reply.TooManyRows, stopped
	}
	return reply.TemplateTooLong, stopped
}
