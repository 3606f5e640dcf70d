package traffic

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/samples"
)

// RecognizesHAR reports whether a source is a HAR.
func RecognizesHAR(s *draft.Source) bool {
	shape := s.Shape()
	return shape.Kind == '{' && shape.Keys["log"] == '{' && (strings.Contains(string(s.Head), `"entries"`) || !shape.Whole)
}

// entry contains those members of an exchange in a HAR 1.1 or 1.2 that are read.
type entry struct {
	Started string   `json:"startedDateTime"`
	Time    *float64 `json:"time"`
	Request struct {
		Method  string        `json:"method"`
		URL     string        `json:"url"`
		Headers []draft.Field `json:"headers"`
		Body    *struct {
			Type   string `json:"mimeType"`
			Text   string `json:"text"`
			Params []struct {
				draft.Field
				File string `json:"fileName"`
			} `json:"params"`
		} `json:"postData"`
	} `json:"request"`
	Response struct {
		Status  int           `json:"status"`
		Headers []draft.Field `json:"headers"`
		Size    float64       `json:"bodySize"`
		Content struct {
			Size     float64 `json:"size"`
			Type     string  `json:"mimeType"`
			Text     *string `json:"text"`
			Encoding string  `json:"encoding"`
		} `json:"content"`
	} `json:"response"`
	Timings struct {
		Send    *float64 `json:"send"`
		Wait    *float64 `json:"wait"`
		Receive *float64 `json:"receive"`
	} `json:"timings"`
	FromCache any `json:"_fromCache"`
}

// AddHAR adds the exchanges of a HAR. It is read as a stream, because a file may be larger than
// memory.
func (c *Collector) AddHAR(s *draft.Source) error {
	r, err := s.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	c.begin(s)
	at := &places{r: r, line: 1}
	d := json.NewDecoder(at)
	fail := func(err error) error {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		line, column := at.of(d.InputOffset())
		return s.Problem(line, column, "the JSON is not valid from here on: %v", strings.TrimPrefix(err.Error(), "json: "))
	}
	found, err := enter(d, "log", "entries")
	if err != nil {
		return fail(err)
	}
	if !found {
		return s.Problem(1, 1, "is not a HAR: expected log.entries, a list")
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fail(err)
		}
		line, column := at.of(d.InputOffset() - int64(len(raw)))
		var e entry
		err := json.Unmarshal(raw, &e)
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &kind):
			c.draft.Lost(s.Pos(line, column), "an entry", "%s is a JSON %s; expected %v", kind.Field, kind.Value, kind.Type)
		case err != nil:
			return fail(err)
		default:
			c.addEntry(&e, line, column)
		}
	}
	if _, err := d.Token(); err != nil {
		return fail(err)
	}
	return nil
}

// enter moves a decoder past the opening bracket of the list at a path of keys, and reports whether
// the list exists.
func enter(d *json.Decoder, path ...string) (bool, error) {
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return false, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false, err
		}
		switch {
		case key != path[0]:
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return false, err
			}
		case len(path) > 1:
			return enter(d, path[1:]...)
		default:
			t, err := d.Token()
			return t == json.Delim('['), err
		}
	}
	return false, nil
}

func (c *Collector) addEntry(e *entry, line, column int) {
	x := exchange{line: line, column: column, method: e.Request.Method, url: e.Request.URL, status: e.Response.Status,
		sent: fields(e.Request.Headers), received: fields(e.Response.Headers)}
	x.at, _ = time.Parse(time.RFC3339Nano, e.Started)
	x.setRequest(e)
	content := &e.Response.Content
	switch {
	case content.Text == nil || *content.Text == "":
		length := fieldOf(x.received, "Content-Length")
		if bodiless := strings.EqualFold(x.method, "HEAD") || x.status == 204 || x.status == 304; !bodiless && (content.Size > 0 || e.Response.Size > 0 || strings.Trim(length, "0") != "") {
			x.lost = "it is missing from the HAR"
		}
	case content.Encoding == "base64":
		body, err := base64.StdEncoding.DecodeString(strings.TrimRight(*content.Text, "\n"))
		if err != nil {
			x.lost = "it is not base64"
		}
		x.body = body
	default:
		x.body = []byte(*content.Text)
		x.checkText(content.Type)
	}
	if len(x.body) > 0 && float64(len(x.body)) < content.Size {
		x.doubts = append(x.doubts, "the HAR has only a part of some bodies")
	}
	if fieldOf(x.received, "Content-Type") == "" && content.Type != "" && content.Type != "x-unknown" && len(x.body) > 0 {
		x.received = append(x.received, draft.Field{Name: "Content-Type", Value: content.Type})
	}
	if e.FromCache == nil {
		x.setTimes(e)
	}
	c.add(&x)
}

// setRequest sets the body of the request, and its Content-Type if the headers lack it.
func (x *exchange) setRequest(e *entry) {
	b := e.Request.Body
	if b == nil {
		return
	}
	x.request = []byte(b.Text)
	if b.Text == "" && len(b.Params) > 0 {
		x.setForm(e)
	}
	if fieldOf(x.sent, "Content-Type") == "" && b.Type != "" {
		x.sent = append(x.sent, draft.Field{Name: "Content-Type", Value: b.Type})
	}
}

// setForm sets the body of the request to a form that has its parameters.
func (x *exchange) setForm(e *entry) {
	params := e.Request.Body.Params
	if limit, ok := boundary(cmp.Or(fieldOf(x.sent, "Content-Type"), e.Request.Body.Type)); ok {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		if w.SetBoundary(limit) != nil {
			return
		}
		for _, p := range params {
			part, _ := w.CreateFormField(p.Name) // writing to a buffer cannot fail
			if p.File != "" {
				part, _ = w.CreateFormFile(p.Name, p.File)
			}
			io.WriteString(part, p.Value)
		}
		w.Close()
		x.request = b.Bytes()
		return
	}
	var form []byte
	for _, p := range params {
		form = append(form, "&"+url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value)...)
	}
	x.request = form[1:]
}

// checkText notes a text whose bytes are not known: a HAR has the characters of a text, not its
// encoding.
func (x *exchange) checkText(kind string) {
	kind = cmp.Or(fieldOf(x.received, "Content-Type"), kind)
	_, params, _ := mime.ParseMediaType(kind)
	charset := strings.ToLower(cmp.Or(params["charset"], "utf-8"))
	if ascii := !bytes.ContainsFunc(x.body, func(r rune) bool { return r >= utf8.RuneSelf }); !ascii && charset != "utf-8" && charset != "utf8" {
		x.doubts = append(x.doubts, "texts are sent as UTF-8; the Content-Type says "+charset)
	}
	if bytes.ContainsRune(x.body, utf8.RuneError) {
		x.doubts = append(x.doubts, "some bodies have characters that could not be read when they were recorded")
	}
}

// setTimes sets the times to the first and last byte. Time before the request was sent, such as for
// connecting, does not count if it is known.
func (x *exchange) setTimes(e *entry) {
	t := &e.Timings
	switch {
	case t.Wait != nil && *t.Wait >= 0:
		x.first = millis(t.Send) + millis(t.Wait)
		x.last = x.first + millis(t.Receive)
	case e.Time != nil && *e.Time > 0:
		x.first = millis(e.Time)
		x.last = x.first
	default:
		return
	}
	x.timed = x.last <= samples.MaxLength
}

// millis returns a number of milliseconds as a duration; 0 for a missing or negative number.
func millis(ms *float64) time.Duration {
	if ms == nil || !(*ms > 0) {
		return 0
	}
	return time.Duration(min(*ms*float64(time.Millisecond), float64(2*samples.MaxLength)))
}

// fields returns the headers without those that contain a zero byte.
func fields(all []draft.Field) []draft.Field {
	return slices.DeleteFunc(all, func(f draft.Field) bool { return strings.Contains(f.Name+f.Value, "\x00") })
}

// places reads a text and returns the positions of offsets in it, which must be requested in
// ascending order.
type places struct {
	r      io.Reader
	offset int64 // of the text read so far
	line   int   // of the offset that was asked for last
	start  int64 // where that line begins
	breaks []int64
}

func (p *places) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	for i, c := range b[:n] {
		if c == '\n' {
			p.breaks = append(p.breaks, p.offset+int64(i))
		}
	}
	p.offset += int64(n)
	return n, err
}

// of returns the line and column of an offset.
func (p *places) of(offset int64) (line, column int) {
	passed := 0
	for passed < len(p.breaks) && p.breaks[passed] < offset {
		p.line++
		p.start = p.breaks[passed] + 1
		passed++
	}
	p.breaks = p.breaks[passed:]
	return p.line, int(max(0, offset-p.start)) + 1
}
