package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// readWithin is how long to wait for the next message.
	readWithin = 3 * time.Second
	// readAhead is how much of a log is requested in advance, in bytes.
	readAhead = 16 << 20
)

// each calls do for the messages of a subject, from a sequence up to the message that is the last
// one when each is called.
func (s *Stream) each(ctx context.Context, subject string, from uint64, do func(seq uint64, data []byte)) error {
	last, err := s.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil || last.Sequence < from {
		return err
	}
	consumer, err := s.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		MaxResetAttempts: 2, // more are made without regard to ctx
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(readAhead))
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		m, err := messages.Next(jetstream.NextMaxWait(readWithin))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		do(meta.Sequence.Stream, m.Data())
		if meta.Sequence.Stream >= last.Sequence || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
