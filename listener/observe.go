package listener

import (
	"time"

	"mockserver/config"
	"mockserver/dispatcher"
	"mockserver/listener/probe"
	"mockserver/listener/record"
	"mockserver/listener/traffic"
)

// Records reports whether Options.Record is set.
func (s *Server) Records() bool { return s.recorder != nil }

// Counts reads the counters. The result must not be changed: readings share what did not
// change between them. Without Options.Record only Connections and WebSockets are set.
func (s *Server) Counts() record.Counts {
	c := record.Counts{Time: time.Now()}
	if s.recorder != nil {
		c = s.recorder.Counts()
	}
	c.WebSockets, c.Connections, c.AcceptFailures = s.WebSockets(), s.listener.Count(), s.listener.Failures()
	return c
}

// Probe returns the probe of the server, which Shutdown stops.
func (s *Server) Probe() *probe.Probe { return s.probe }

// Journal returns the requests that are kept, the newest first. The list is a copy; the
// requests may not be changed.
func (s *Server) Journal() []*record.Exchange {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.Journal().All()
}

// ResetJournal forgets the requests that are kept, and the unmatched ones with them.
// What is counted stays.
func (s *Server) ResetJournal() {
	if s.recorder != nil {
		s.recorder.Journal().Reset()
		s.recorder.Misses().Reset()
	}
}

// JournalStats tells how many requests the journal was given, and has no more.
func (s *Server) JournalStats() record.JournalStats {
	if s.recorder == nil {
		return record.JournalStats{}
	}
	return s.recorder.Journal().Stats()
}

// Unmatched returns the different requests that no endpoint answered, by method, host
// and path, those that came last first: a thousand at most are known.
func (s *Server) Unmatched() []record.Miss {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.Misses().All()
}

// LatencyErrors says of each endpoint with a latency that has answered, in the order of the
// specification, how well that was met. It keeps counting over a reload for endpoints that
// are declared as before.
func (s *Server) LatencyErrors() []traffic.LatencyError {
	sn := s.snapshot.Load()
	var all []traffic.LatencyError
	for i := range sn.answers {
		if late, ok := sn.answers[i].rules.LatencyError(&sn.spec.Endpoints[i]); ok {
			all = append(all, late)
		}
	}
	return all
}

// Spec is the specification that is served. It may not be changed: make another, and
// Apply that.
func (s *Server) Spec() *config.Spec { return s.snapshot.Load().spec }

// Endpoints are the endpoints and WebSockets that are served, in the order of Spec.
func (s *Server) Endpoints() []record.Served { return record.Endpoints(s.Spec()) }

// PendingWebhooks returns webhooks that wait to be sent or are being sent, those due
// first before the others, most of them at most, and how many there are.
func (s *Server) PendingWebhooks(most int) (list []dispatcher.Pending, all int) {
	return s.webhooks.List(most)
}

// FireWebhook has a pending webhook sent now. The error is dispatcher.ErrUnknown or
// dispatcher.ErrClosed.
func (s *Server) FireWebhook(id string) error { return s.webhooks.Fire(id) }

// CancelWebhook takes a pending webhook back. The error is dispatcher.ErrUnknown,
// dispatcher.ErrInFlight or dispatcher.ErrClosed.
func (s *Server) CancelWebhook(id string) error { return s.webhooks.Cancel(id) }

// Verify counts the requests of the journal that a condition holds for: see
// record.Journal.Verify. Without Options.Record the error is record.ErrNotRecorded.
func (s *Server) Verify(condition string) (record.Verified, error) {
	return s.recorder.Journal().Verify(condition, s.opts.Env, s.opts.MaxResponse)
}
