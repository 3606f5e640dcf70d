package recording

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"mockserver/internal/recording"
)

// The types of HAR 1.2.
type (
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPost struct {
		MimeType string    `json:"mimeType"`
		Params   []harPair `json:"params"`
		Text     string    `json:"text"`
		Encoding string    `json:"encoding,omitempty"`
	}
	harContent struct {
		Size     int64  `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"`
		Comment  string `json:"comment,omitempty"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		Post        *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int64     `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int64      `json:"bodySize"`
	}
	harTimings struct {
		Blocked float64 `json:"blocked"`
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harEntry struct {
		Started    string      `json:"startedDateTime"`
		Time       float64     `json:"time"`
		Request    harRequest  `json:"request"`
		Response   harResponse `json:"response"`
		Cache      struct{}    `json:"cache"`
		Timings    harTimings  `json:"timings"`
		Connection string      `json:"connection"`
		Comment    string      `json:"comment,omitempty"`
	}
)

// WriteHAR writes the exchanges in recorded files as HAR 1.2. After a write error, or an error
// reading a file, the output is incomplete.
func WriteHAR(to io.Writer, version string, paths []string) error {
	w := bufio.NewWriter(to)
	creator, err := json.Marshal(map[string]string{"name": "mockserver", "version": version})
	if err != nil {
		return err
	}
	_, _ = w.WriteString(`{"log":{"version":"1.2","creator":` + string(creator) + `,"entries":[`) // the writer keeps the error
	first := true
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		_, broken, err := recording.Read(f, func(l *recording.Line) error {
			text, err := json.Marshal(harOf(l))
			if err != nil {
				return err
			}
			if !first {
				_ = w.WriteByte(',')
			}
			first = false
			_, err = w.Write(append([]byte("\n"), text...))
			return err
		})
		_ = f.Close() // it was only read
		if err := errors.Join(err, broken); err != nil {
			return err
		}
	}
	_, _ = w.WriteString("\n]}}\n")
	return w.Flush()
}

func harOf(l *recording.Line) harEntry {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	e := harEntry{
		Started: l.Time.UTC().Format("2006-01-02T15:04:05.000000Z"), Time: ms(l.Wait + l.Last), Connection: strconv.FormatUint(l.Connection, 10), Comment: l.Error,
		Timings: harTimings{Blocked: ms(l.Wait), Wait: ms(l.First), Receive: ms(l.Last - l.First)},
		Request: harRequest{Method: l.Method, URL: l.URL, HTTPVersion: "HTTP/1.1", Cookies: []harPair{}, Headers: pairs(l.Request.Headers), Query: []harPair{},
			HeadersSize: -1, BodySize: l.Request.Size},
		Response: harResponse{Status: l.Status, StatusText: http.StatusText(l.Status), HTTPVersion: "HTTP/1.1", Cookies: []harPair{}, Headers: pairs(l.Response.Headers),
			RedirectURL: valueOf(l.Response.Headers, "Location"), HeadersSize: -1, BodySize: l.Response.Size,
			Content: harContent{Size: l.Response.Size, MimeType: valueOf(l.Response.Headers, "Content-Type"), Comment: l.Response.Omitted}},
	}
	if u, err := url.Parse(l.URL); err == nil {
		for part := range strings.SplitSeq(u.RawQuery, "&") {
			if name, value, _ := strings.Cut(part, "="); name != "" {
				e.Request.Query = append(e.Request.Query, harPair{unescaped(name), unescaped(value)})
			}
		}
	}
	if l.Request.Size > 0 {
		text, encoding := harText(&l.Request)
		e.Request.Post = &harPost{MimeType: valueOf(l.Request.Headers, "Content-Type"), Params: []harPair{}, Text: text, Encoding: encoding}
	}
	e.Response.Content.Text, e.Response.Content.Encoding = harText(&l.Response)
	if n := len(l.Response.Content()); n > 0 {
		e.Response.Content.Size = int64(n)
	}
	return e
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

func harText(m *recording.Message) (text, encoding string) {
	if m.Base64 != nil {
		return base64.StdEncoding.EncodeToString(m.Base64), "base64"
	}
	return m.Body, ""
}

func pairs(headers [][2]string) []harPair {
	all := make([]harPair, len(headers))
	for i, h := range headers {
		all[i] = harPair{h[0], h[1]}
	}
	return all
}

func valueOf(headers [][2]string, name string) string {
	for _, h := range headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}
