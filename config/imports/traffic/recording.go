package traffic

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"mockserver/config/imports/draft"
)

// RecognizesRecording reports whether a source is a file of a recording that the proxy has made.
func RecognizesRecording(s *draft.Source) bool {
	return strings.HasPrefix(string(s.Head()), `{"mockserver":"recording"`)
}

// recorded is a line of a recording.
type recorded struct {
	Time     string      `json:"time"`
	Method   string      `json:"method"`
	URL      string      `json:"url"`
	Status   int         `json:"status"`
	Error    string      `json:"error"`
	First    int64       `json:"first_us"`
	Last     int64       `json:"last_us"`
	Wait     int64       `json:"wait_us"`
	UnderWay int         `json:"under_way"`
	Request  recordedOne `json:"request"`
	Response recordedOne `json:"response"`
}

// recordedOne is a request or an answer.
type recordedOne struct {
	Headers [][2]string `json:"headers"`
	Size    int64       `json:"size"`
	Body    string      `json:"body"`
	Base64  string      `json:"base64"`
	Omitted string      `json:"omitted"`
}

// maxLine is the longest line of a recording, in bytes.
const maxLine = 256 << 20

// AddRecording adds the exchanges of a recording. What a killed process has left unfinished at its
// end is left out.
func (c *Collector) AddRecording(s *draft.Source) error {
	r, err := s.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	c.begin(s)
	in := bufio.NewReaderSize(r, 1<<20)
	var buf []byte
	for line := 1; ; line++ {
		text, err := wholeLine(in, &buf)
		switch {
		case errors.Is(err, errLong):
			return s.Problem(line, 1, "the line is longer than 256 MiB")
		case err != nil && !errors.Is(err, io.EOF) && len(c.records) == 0:
			return err
		case err != nil:
			return nil
		case line == 1 || len(text) == 0:
			continue
		}
		var x recorded
		if err := json.Unmarshal(text, &x); err != nil {
			return s.Problem(line, 1, "is not an exchange: %v", strings.TrimPrefix(err.Error(), "json: "))
		}
		c.addRecorded(&x, line)
	}
}

var errLong = errors.New("line is too long")

// wholeLine returns the next line without its line break. It is valid until the next call.
func wholeLine(in *bufio.Reader, buf *[]byte) ([]byte, error) {
	*buf = (*buf)[:0]
	for {
		part, err := in.ReadSlice('\n')
		switch {
		case err == nil && len(*buf) == 0:
			return part[:len(part)-1], nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		*buf = append(*buf, part...)
		switch {
		case err == nil:
			return (*buf)[:len(*buf)-1], nil
		case len(*buf) > maxLine:
			return nil, errLong
		}
	}
}

func (c *Collector) addRecorded(l *recorded, line int) {
	x := exchange{line: line, column: 1, method: l.Method, url: l.URL, status: l.Status, underWay: l.UnderWay, cut: l.Error == "cut",
		sent: l.Request.fields(), received: l.Response.fields(),
		first: time.Duration(l.First) * time.Microsecond, last: time.Duration(l.Last) * time.Microsecond, timed: l.Last > 0}
	x.at, _ = time.Parse(time.RFC3339Nano, l.Time)
	x.request, _ = l.Request.content()
	x.body, x.lost = l.Response.content()
	switch l.Error {
	case "left":
		c.skip(&x, "the client left before it was answered")
		return
	case "upstream_failed", "upstream_timeout": // the client got a status of the proxy, after all of this time
		x.first = time.Duration(l.Wait+l.Last) * time.Microsecond
		x.last, x.timed = x.first, true
	}
	c.add(&x)
}

func (o *recordedOne) fields() []draft.Field {
	all := make([]harField, len(o.Headers))
	for i, h := range o.Headers {
		all[i] = harField{h[0], h[1]}
	}
	return fields(all)
}

// content returns the body, and why there is none although there was one.
func (o *recordedOne) content() (body []byte, lost string) {
	switch {
	case o.Omitted != "":
		return nil, o.Omitted
	case o.Base64 != "":
		body, err := base64.StdEncoding.DecodeString(o.Base64)
		if err != nil {
			return nil, "base64"
		}
		return body, ""
	}
	return []byte(o.Body), ""
}
