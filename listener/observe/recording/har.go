package recording

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mockserver/internal/list"
	"mockserver/internal/recording"
)

// object is an object of HAR 1.2.
type object = map[string]any

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
		broken, err := recording.ReadFile(path, func(l *recording.Line) error {
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
		if err := errors.Join(err, broken); err != nil {
			return err
		}
	}
	_, _ = w.WriteString("\n]}}\n")
	return w.Flush()
}

// harOf returns an exchange as an entry.
func harOf(l *recording.Line) object {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	request := object{
		"method": l.Method, "url": l.URL, "httpVersion": "HTTP/1.1", "cookies": []object{}, "headers": pairs(l.Request.Headers),
		"queryString": pairs(query(l.URL)), "headersSize": -1, "bodySize": l.Request.Size,
	}
	if l.Request.Size > 0 {
		request["postData"] = content(&l.Request, object{"params": []object{}, "text": ""})
	}
	return object{
		"startedDateTime": l.Time.UTC().Format("2006-01-02T15:04:05.000000Z"), "time": ms(l.Wait + l.Last),
		"request": request,
		"response": object{
			"status": l.Status, "statusText": http.StatusText(l.Status), "httpVersion": "HTTP/1.1", "cookies": []object{}, "headers": pairs(l.Response.Headers),
			"content":     content(&l.Response, object{"size": cmp.Or(int64(len(l.Response.Content())), l.Response.Size), "comment": l.Response.Omitted}),
			"redirectURL": valueOf(l.Response.Headers, "Location"), "headersSize": -1, "bodySize": l.Response.Size,
		},
		"cache":      object{},
		"timings":    object{"blocked": ms(l.Wait), "send": 0, "wait": ms(l.First), "receive": ms(l.Last - l.First)},
		"connection": strconv.FormatUint(l.Connection, 10), "comment": l.Error,
	}
}

// query returns the parameters in the query of a URL.
func query(from string) (all [][2]string) {
	_, query, _ := strings.Cut(from, "?")
	for part := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(part, "="); name != "" {
			all = append(all, [2]string{unescaped(name), unescaped(value)})
		}
	}
	return all
}

// unescaped returns a name or value in a query as it is meant, or as it is if it is not valid.
func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// content adds the media type and the body of a message to an object.
func content(m *recording.Message, to object) object {
	to["mimeType"] = valueOf(m.Headers, "Content-Type")
	switch {
	case m.Base64 != nil:
		to["text"], to["encoding"] = m.Base64, "base64" // as JSON, bytes are Base64
	case m.Body != "":
		to["text"] = m.Body
	}
	return to
}

func pairs(of [][2]string) []object {
	return list.Map(of, func(pair [2]string) object { return object{"name": pair[0], "value": pair[1]} })
}

func valueOf(headers [][2]string, name string) string {
	for _, h := range headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}
