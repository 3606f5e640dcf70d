package traffic

import (
	"errors"
	"strings"
	"time"

	"mockserver/config/imports/draft"
	"mockserver/internal/files"
	"mockserver/internal/list"
	"mockserver/internal/recording"
)

// RecognizesRecording reports whether a source is a file of a recording made by the proxy.
func RecognizesRecording(s *draft.Source) bool {
	return strings.HasPrefix(string(s.Head), `{"mockserver":"recording"`)
}

// AddRecording adds the exchanges of a recording. An incomplete end, as left by a killed process,
// is skipped and reported.
func (c *Collector) AddRecording(s *draft.Source) error {
	r, err := s.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	c.begin(s)
	line := 1
	_, broken, err := recording.Read(r, func(l *recording.Line) error {
		line++
		c.addRecorded(l, line)
		return nil
	})
	var bad *recording.BadLine
	switch {
	case err != nil:
		return s.Problem(1, 1, "%v; expected version %d", err, recording.Version)
	case errors.As(broken, &bad):
		return s.Problem(bad.Number, 1, "%s", bad.What)
	case errors.Is(broken, files.ErrTooMuch), broken != nil && line == 1:
		return broken
	case broken != nil:
		c.draft.Warn(s.Pos(line+1, 0), "", "the file ends before this line does, so the exchanges from this line on are left out: %v", broken)
	}
	return nil
}

func (c *Collector) addRecorded(l *recording.Line, line int) {
	x := exchange{line: line, column: 1, at: l.Time, method: l.Method, url: l.URL, status: l.Status, underWay: int(l.UnderWay), cut: l.Error == recording.Cut,
		sent: fieldsOf(&l.Request), received: fieldsOf(&l.Response), request: l.Request.Content(), body: l.Response.Content(), lost: l.Response.Omitted,
		first: time.Duration(l.First) * time.Microsecond, last: time.Duration(l.Last) * time.Microsecond, timed: l.Last > 0, pieces: l.Pieces}
	switch {
	case l.Error == recording.Left && len(x.joinedPieces()) > 0: // an endless stream is left
	case l.Error == recording.Left:
		c.skip(&x, "the client left before it was answered")
		return
	case l.Error == recording.Failed || l.Error == recording.TimeOut: // after this time the client got the proxy's own status
		x.first = time.Duration(l.Wait+l.Last) * time.Microsecond
		x.last, x.timed = x.first, true
	}
	c.add(&x)
}

func fieldsOf(m *recording.Message) []draft.Field {
	return fields(list.Map(m.Headers, func(h [2]string) draft.Field { return draft.Field{Name: h[0], Value: h[1]} }))
}
