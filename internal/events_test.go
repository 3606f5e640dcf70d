package internal_test

import (
	"slices"
	"strings"
	"testing"

	"mockserver/internal/events"
)

// pieces returns the pieces of a body that arrives in the given parts, and what follows the last one, without the
// line ends around them.
func pieces(framing events.Framing, parts ...string) (all []string) {
	s, piece := events.Splitter{Framing: framing}, ""
	for _, part := range parts {
		for {
			n := s.Next([]byte(part))
			if n == 0 {
				break
			}
			all = append(all, strings.Trim(piece+part[:n], "\r\n"))
			part, piece = part[n:], ""
		}
		piece += part
	}
	return append(all, strings.Trim(piece, "\r\n"))
}

// Events end as in section 9.2.6 of WHATWG HTML: with an empty line, after any of the three line ends.
func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		framing events.Framing
		body    string
		want    []string
	}{
		{events.Events, "data: a\n\ndata: b\n\n", []string{"data: a", "data: b", ""}},
		{events.Events, "event: x\r\ndata: a\r\n\r\ndata: b\r\rdata: c", []string{"event: x\r\ndata: a", "data: b", "data: c"}},
		{events.Events, ": ping\n\ndata: a\n: within\ndata: b\n\n:\n:\n\n", []string{": ping", "data: a\n: within\ndata: b", ":", ":", ""}},
		{events.Events, ": alone\ndata: a\n\n", []string{": alone", "data: a", ""}},
		{events.Events, "\n\n\ndata: a\n\n\n", []string{"data: a", ""}},
		{events.Lines, "{}\n[1]\r\n", []string{"{}", "[1]", ""}},
		{events.None, "a\n\nb", []string{"a\n\nb", ""}},
	} {
		if got := pieces(c.framing, c.body); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.body, got, c.want)
		}
	}
	for kind, want := range map[string]events.Framing{"text/event-stream": events.Events, "Text/Event-Stream ; charset=utf-8": events.Events,
		"application/x-ndjson": events.Lines, "application/jsonl": events.Lines, "application/stream+json": events.Lines, "application/json": events.None, "": events.None} {
		if got := events.FramingOf([]byte(kind)); got != want {
			t.Errorf("%q has the framing %d, want %d", kind, got, want)
		}
	}
}

// The pieces of a body do not depend on where it is divided when it arrives.
func FuzzSplitter(f *testing.F) {
	f.Add("data: a\r\n\r\n: b\r\rid\n\n\ndata:\n\n", uint(5), uint(9))
	f.Add(": b\r\n\r\n:\n:\r\n\n\ndata", uint(5), uint(6))
	f.Fuzz(func(t *testing.T, body string, i, j uint) {
		i %= uint(len(body)) + 1
		j = i + j%(uint(len(body))-i+1)
		for _, framing := range []events.Framing{events.Events, events.Lines} {
			want, got := pieces(framing, body), pieces(framing, body[:i], body[i:j], body[j:])
			if !slices.Equal(got, want) {
				t.Errorf("%q | %q | %q: %q, want %q", body[:i], body[i:j], body[j:], got, want)
			}
		}
	})
}
