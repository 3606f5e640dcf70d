package serve

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/list"
	"mockserver/listener/compile"
	"mockserver/listener/protocol/websocket"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
)

// fallBack answers a request that no endpoint with its method matches: HEAD like GET, OPTIONS from
// the declared methods, OPTIONS * for the server as a whole, a request for the path of a WebSocket
// that does not ask for one with 426, and anything else with 404 or 405.
func (s *Server) fallBack(sn *world, c *call) {
	if c.isOptions() && string(c.Path()) == "*" {
		c.Trace.Counters = s.Recorder.ForOptions()
		return // it concerns the server, not an endpoint: 200, RFC 9110 section 9.3.7
	}
	if c.isHead() {
		// The encoder omits the body of a response to HEAD and keeps its length.
		if i := sn.Table.Match(&c.Request, fasthttp.MethodGet); i >= 0 {
			s.serveMatched(&sn.Responses[i], c, false)
			return
		}
	}
	methods := sn.Table.Methods(&c.Request)
	if sn.Sockets.Declares(&c.Request) && !websocket.Asks(&c.Request) {
		switch {
		case c.isOptions() || len(methods) > 0 && !c.isGet() && !c.isHead():
			methods = append(methods, fasthttp.MethodGet)
		default:
			s.logUnmatched(c, reply.UpgradeRequired, websocket.RequireUpgrade(&c.Request, &c.Reply), "")
			return
		}
	}
	if c.isOptions() && len(methods) > 0 {
		s.respondOptions(sn, c, methods)
		return
	}
	s.unmatched(sn, c, methods)
}

// replyDeclared answers a HEAD or OPTIONS request that an endpoint for any method would otherwise
// answer: HEAD if its path also declares GET, OPTIONS if its path also declares particular methods, and
// preflights unless it is a proxy. It reports whether it did.
func (s *Server) replyDeclared(sn *world, c *call, own *compile.Response) bool {
	if !c.isHead() && !c.isOptions() {
		return false
	}
	params := slices.Clone(c.Params())
	methods := []string{fasthttp.MethodGet}
	if c.isOptions() {
		methods = sn.Table.OwnMethods(&c.Request)
	}
	if own.Proxy == nil && !s.NoCORS && c.isPreflight() {
		s.respondOptions(sn, c, sn.Table.Methods(&c.Request))
		return true
	}
	for _, method := range methods {
		i := sn.Table.Match(&c.Request, method)
		if i < 0 || sn.Responses[i].AnyMethod {
			continue
		}
		if c.isHead() {
			s.serveMatched(&sn.Responses[i], c, false)
			return true
		}
		s.respondOptions(sn, c, methods)
		return true
	}
	c.Resume(params)
	return false
}

// namedEndpoints is how many endpoints are named in a response to an unmatched request.
const namedEndpoints = 3

// nearest returns the nearest endpoints, each with the reason why it did not match. Endpoints that
// differ only in their conditions have the same text and are named once.
func (sn *world) nearest(r *matcher.Request) (all []nearest.Near) {
	for _, near := range sn.Index.Find(r, 4*namedEndpoints) {
		near.Name = sn.Responses[near.Index].Name
		same := func(n nearest.Near) bool { return n.Name == near.Name && n.Why == near.Why }
		if len(all) < namedEndpoints && !slices.ContainsFunc(all, same) {
			all = append(all, near)
		}
	}
	return all
}

// unmatched answers 404, or 405 if the path is declared for other methods, unless
// Options.UnmatchedStatus is set, and names the nearest endpoints with the reason why each did not
// match.
func (s *Server) unmatched(sn *world, c *call, methods []string) {
	r := &c.Request
	f := reply.EndpointNotFound
	declared := slices.Contains(methods, string(r.Method())) || c.isHead() && slices.Contains(methods, fasthttp.MethodGet)
	if len(methods) > 0 && !declared {
		f = reply.MethodNotAllowed
	}
	message, first := "no endpoint is declared for "+string(r.Method())+" "+string(r.Path()), ""
	found, sockets := sn.nearest(r), sn.Sockets.Nearest(r, namedEndpoints)
	if websocket.Asks(r) {
		found, sockets = sockets, found
	}
	found = append(found, sockets...)
	switch found = found[:min(len(found), namedEndpoints)]; {
	case len(found) > 0:
		first = found[0].Name
		message += "; nearest: " + strings.Join(list.Map(found, nearest.Near.String), ", ")
	case len(sn.Responses) == 0:
		message += "; no endpoints are declared"
	default:
		message += "; nothing similar is declared"
	}
	if strings.HasPrefix(string(r.Path()), "/__admin") {
		message += "; the admin API listens on its own address; see --admin"
	}
	f.Write(&c.Reply, message)
	if f == reply.MethodNotAllowed {
		c.Reply.Add(fasthttp.HeaderAllow, allow(methods))
	}
	if s.UnmatchedStatus != 0 {
		c.Reply.Status = s.UnmatchedStatus
	}
	s.logUnmatched(c, f, message, first)
}

// logUnmatched records why no endpoint matched a request and which is the nearest, and logs the
// request, at most unmatchedPerSecond times a second.
func (s *Server) logUnmatched(c *call, f reply.Failure, message, near string) {
	if s.Recorder != nil {
		s.Recorder.Misses().Add(&c.Request, f.Code, c.Reply.Status, message, near)
	}
	suppressed, ok := s.unmatchedLimiter.Pass(time.Now())
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", string(c.In.Method)),
		slog.String("uri", string(c.In.Target)),
		slog.String("host", string(c.Host())),
		slog.String("code", f.Code),
		slog.String("reason", message),
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	s.Log.LogAttrs(context.Background(), slog.LevelWarn, "unmatched request", attrs...)
}
