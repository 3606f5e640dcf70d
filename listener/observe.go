package listener

import (
	"net"
	"net/url"
	"strconv"
	"time"

	"mockserver/config"
	"mockserver/dispatcher"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/record"
)

// Counts returns the counters. The result must not be modified, because consecutive results share
// the parts that have not changed. Without Options.Record, requests are not counted, and their
// counters are 0.
func (s *Server) Counts() record.Counts {
	c := record.Counts{Time: time.Now()}
	if s.calls.Recorder != nil {
		c = s.calls.Recorder.Counts()
	}
	c.WebSockets, c.Connections, c.AcceptFailures = s.WebSockets(), s.listener.Count(), s.listener.Failures()
	c.HandshakeTime = s.listener.HandshakeTime()
	c.RecordingDropped = s.compiler.Recordings.Dropped()
	c.Sets = s.compiler.Data.Figures()
	if s.certs != nil {
		for _, h := range s.certs.Counts() {
			c.Handshakes = append(c.Handshakes, record.HandshakeCount(h))
		}
	}
	return c
}

// TrackArrivals compares the arrivals of requests with a schedule from now on; nil for none.
func (s *Server) TrackArrivals(schedule *arrivals.Schedule) {
	if s.calls.Recorder != nil {
		s.calls.Recorder.Arrivals.Track(schedule)
	}
}

// Journal returns the stored requests, the newest first. The list is a copy, but the requests must
// not be modified.
func (s *Server) Journal() []*record.Exchange {
	if s.calls.Recorder == nil {
		return nil
	}
	return s.calls.Recorder.Journal().All()
}

// ResetJournal deletes the stored requests, including the unmatched ones. The counters are not
// reset.
func (s *Server) ResetJournal() {
	if s.calls.Recorder != nil {
		s.calls.Recorder.Journal().Reset()
		s.calls.Recorder.Misses().Reset()
	}
}

// JournalStats returns how many requests the journal has been given, and how many it no longer has.
func (s *Server) JournalStats() record.JournalStats {
	if s.calls.Recorder == nil {
		return record.JournalStats{}
	}
	return s.calls.Recorder.Journal().Stats()
}

// Unmatched returns the distinct requests that no endpoint matched, by method, host and path, the
// latest first. At most a thousand are stored.
func (s *Server) Unmatched() []record.Miss {
	if s.calls.Recorder == nil {
		return nil
	}
	return s.calls.Recorder.Misses().All()
}

// LatencyErrors returns how closely latency was met, for each endpoint that has a latency and has
// answered, in the order of the specification. For an endpoint that a reload does not change,
// counting continues.
func (s *Server) LatencyErrors() []traffic.LatencyError {
	sn := s.calls.Current()
	var all []traffic.LatencyError
	for i := range sn.Responses {
		if late, ok := sn.Responses[i].Rules.LatencyError(&sn.Spec.Endpoints[i]); ok {
			all = append(all, late)
		}
	}
	return all
}

// Spec returns the specification that is served. It must not be modified: make another one and
// Apply it.
func (s *Server) Spec() *config.Spec { return s.calls.Current().Spec }

// Endpoints returns the endpoints and WebSockets that are served, in the order of Spec.
func (s *Server) Endpoints() []record.Served { return record.Endpoints(s.Spec()) }

// PendingWebhooks returns up to most of the webhooks that are waiting or being sent, in the order
// in which they are due, and how many there are in total.
func (s *Server) PendingWebhooks(most int) (list []dispatcher.Pending, all int) {
	return s.calls.Webhooks.List(most)
}

// GivenUpWebhooks returns the webhooks that were given up, by webhook and target, the latest first.
func (s *Server) GivenUpWebhooks() []dispatcher.GivenUp { return s.calls.Webhooks.GivenUp() }

// FireWebhook sends a pending webhook immediately. The error is dispatcher.ErrUnknown or
// dispatcher.ErrClosed.
func (s *Server) FireWebhook(id string) error { return s.calls.Webhooks.Fire(id) }

// CancelWebhook cancels a pending webhook. The error is dispatcher.ErrUnknown,
// dispatcher.ErrInFlight or dispatcher.ErrClosed.
func (s *Server) CancelWebhook(id string) error { return s.calls.Webhooks.Cancel(id) }

// Verify counts the requests in the journal for which a condition is true: see
// record.Journal.Verify. Without Options.Record it returns record.ErrNotRecorded.
func (s *Server) Verify(condition string) (record.Verified, error) {
	return s.calls.Recorder.Journal().Verify(condition, s.opts.Env, s.opts.MaxResponse)
}

// URL returns the base URL of the server, without a slash at the end: "http://127.0.0.1:8000", or
// with https:// if clear text is refused. For a server on all addresses, it has the loopback
// address.
func (s *Server) URL() string {
	scheme := "http://"
	if s.listener.OnlyTLS {
		scheme = "https://"
	}
	tcp, ok := s.listener.Addr().(*net.TCPAddr)
	if !ok {
		return scheme + s.listener.Addr().String()
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	if tcp.Zone != "" {
		host += "%25" + url.PathEscape(tcp.Zone) // RFC 6874
	}
	return scheme + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
