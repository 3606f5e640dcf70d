// Package serve answers one request after the other, whatever protocol it came in: match, admit,
// disturb, respond, notify, record. It receives requests from packages wire and h2, and gives them the
// reply to write.
package serve

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"mockserver/dispatcher"
	"mockserver/internal/loglimit"
	"mockserver/listener/compile"
	"mockserver/listener/compile/webhook"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/sentry"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/websocket"
)

// Options say how requests are answered, in addition to the snapshot.
type Options struct {
	Log             *slog.Logger
	MaxBody         int  // maximum size of a request body, in bytes
	MaxResponse     int  // maximum size of a body, header or message made by a template, in bytes
	UnmatchedStatus int  // status for requests that match no endpoint; 0 is 404 or 405
	NoCORS          bool // no Access-Control headers are sent
	CORSCredentials bool // pages of any origin may send credentials
	AccessLog       bool // one line is logged per request
	ServerTiming    bool // responses have a Server-Timing header
	Stored          bool // webhooks are stored
}

// Server answers requests.
type Server struct {
	Options
	snapshot  atomic.Pointer[world]
	Stopping  atomic.Bool // each response announces that it is the last one of its connection
	Hurried   atomic.Bool // streams without an end of their own end at once
	HTTP2     h2.Server
	Dialogues websocket.Dialogues
	Webhooks  *dispatcher.Queue
	Storing   webhook.Storing
	Recorder  *record.Recorder // nil counts nothing
	Reports   *sentry.Reporter // nil reports nothing; set before the first connection

	followings sync.Pool // of *following
	// Limiters of log lines, about failed and refused webhooks, upstreams that broke off, and
	// unmatched requests.
	webhookLimiter, refusedLimiter, brokenLimiter, unmatchedLimiter *loglimit.Limiter
	serverErrors                                                    *loglimit.OncePerMinute
}

const unmatchedPerSecond = 10

// New returns a server that has no snapshot yet.
func New(opts Options) *Server {
	s := &Server{Options: opts, serverErrors: loglimit.NewOncePerMinute()}
	limiter := func(lines int, what string) *loglimit.Limiter {
		return loglimit.New(lines, loglimit.LogSuppressed(s.Log, what))
	}
	s.webhookLimiter, s.refusedLimiter = limiter(webhookLines, "webhook failed"), limiter(1, "webhook refused")
	s.brokenLimiter, s.unmatchedLimiter = limiter(1, "upstream broke off"), limiter(unmatchedPerSecond, "unmatched request")
	s.Dialogues.MaxText, s.Dialogues.Stopped = opts.MaxResponse, s.socketStopped
	if opts.AccessLog {
		s.Dialogues.Log = s.Log
	}
	s.followings.New = s.newFollowing
	return s
}

// Use answers requests from a snapshot, from the next one on.
func (s *Server) Use(sn *compile.Snapshot) {
	if s.Recorder != nil {
		sn.Count(s.Recorder.Adopt(sn.Spec))
	}
	s.snapshot.Store(prepare(sn))
}

// Current returns the snapshot from which requests are answered.
func (s *Server) Current() *compile.Snapshot { return s.snapshot.Load().Snapshot }

// Flush logs how many log lines were suppressed since the last time.
func (s *Server) Flush() {
	for _, l := range []*loglimit.Limiter{s.unmatchedLimiter, s.webhookLimiter, s.refusedLimiter, s.brokenLimiter} {
		l.Flush()
	}
}
