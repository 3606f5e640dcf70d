// Package traffic makes endpoints from exchanges that were recorded by this program's proxy, or by
// a browser as a HAR. It finds the parameters in paths, the parts of requests that answers depend
// on, and how long answers take. It can write 100,000 recorded answers as one endpoint that looks
// up rows.
package traffic

import (
	"bytes"
	"cmp"
	"maps"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"time"

	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/recording"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// exchange is a request and its answer, as provided by the reader of a format. Its data is valid
// only during the call that adds it.
type exchange struct {
	line, column   int // in the source
	at             time.Time
	method, url    string
	status         int
	cut            bool // the body was cut off
	sent, received []draft.Field
	request, body  []byte
	lost           string        // why there is no body; "" if there is one, or none was sent
	doubts         []string      // why the answer may not be the one that was sent
	first, last    time.Duration // from sending the request to the first and last byte
	timed          bool          // first and last are known
	underWay       int           // concurrent requests, including this one; 0 if unknown
	pieces         []recording.Piece
}

// record is an exchange as it is stored. There may be millions of records.
type record struct {
	result
	at            int64  // microseconds since 1970
	first, last   int64  // microseconds
	place, origin uint32 // numbers of host and path, and of scheme and port, in words
	doubt         uint32 // number in words; 0 for none
	query         uint32 // number in words
	headers, body uint32 // of the answer, numbers in the store
	pieces        uint32 // likewise; 0 for an answer that is no stream
	sent, request uint32 // of the request, numbers in the store
	source, line  uint32
	underWay      int32
	column        int32
	method        uint8 // index in semantics.Methods
	timed         bool
	lost          bool
}

// Collector collects the exchanges of all sources of an import.
type Collector struct {
	draft    *draft.Draft
	opts     draft.Options
	words    *words
	store    *store
	records  []record
	sources  []string
	patterns []pattern // of opts.Paths
	buf      [2][]byte
	skipped  map[string]int // exchanges that were left out, by reason
	names    map[string]bool
	few      int // latencies with fewer samples than a curve should have
}

// NewCollector returns a Collector whose result goes into a draft.
func NewCollector(d *draft.Draft, opts draft.Options) *Collector {
	c := &Collector{draft: d, opts: opts, words: newWords(), store: newStore(), skipped: map[string]int{}, names: map[string]bool{}}
	for _, path := range opts.Paths {
		c.patterns = append(c.patterns, parsePattern(path))
	}
	return c
}

// Close releases the data from which the files of the draft are written.
func (c *Collector) Close() { c.store.close() }

// begin adds a source.
func (c *Collector) begin(s *draft.Source) { c.sources = append(c.sources, s.Name) }

// pos returns the position of a record.
func (c *Collector) pos(r *record) syntax.Pos {
	return syntax.Pos{File: c.sources[r.source], Line: int(r.line), Column: int(r.column)}
}

// add stores an exchange, or reports that it is lost.
func (c *Collector) add(x *exchange) {
	target, err := url.Parse(x.url)
	method := slices.Index(semantics.Methods, strings.ToUpper(x.method))
	why := ""
	switch {
	case err != nil:
		why = "its URL is invalid: " + err.Error()
	case target.Scheme != "http" && target.Scheme != "https":
		why = "its URL has the scheme " + target.Scheme + "; http and https are served"
	case method < 0:
		why = "the method " + x.method + " is not served"
	case x.status == 101:
		why = "it became a WebSocket; write a websocket item for it"
	case x.status < 200 || x.status > 599:
		why = "it has no answer"
	}
	if why != "" {
		c.skip(x, why)
		return
	}
	path := cmp.Or(target.EscapedPath(), "/")
	host := strings.ToLower(target.Hostname())
	headers := joined(x.responseHeaders())
	if x.lost != "" {
		x.doubts = append(x.doubts, "bodies of some answers were not recorded: "+x.lost)
	}
	pieces := c.store.add(x.joinedPieces())
	c.records = append(c.records, record{
		pieces: pieces,
		at:     x.at.UnixMicro(), first: x.first.Microseconds(), last: x.last.Microseconds(), timed: x.timed,
		place: c.words.add(host + "\x00" + path), query: c.words.add(target.RawQuery),
		origin: c.words.add(target.Scheme + target.Port()), doubt: c.words.add(strings.Join(x.doubts, "; ")),
		headers: c.store.add(headers), body: c.store.add(x.body),
		sent: c.store.add(joined(lines(x.sent))), request: c.store.add(x.request),
		source: uint32(len(c.sources) - 1), line: uint32(x.line), column: int32(x.column), underWay: int32(x.underWay),
		result: result{int16(x.status), x.cut, pieces > 0}, method: uint8(method), lost: x.lost != "",
	})
}

// shownSkips is the maximum number of exchanges lost for one reason that are reported individually.
const shownSkips = 20

func (c *Collector) skip(x *exchange, why string) {
	c.skipped[why]++
	if c.skipped[why] <= shownSkips {
		name := strings.ToUpper(x.method) + " " + x.url
		c.draft.Lost(syntax.Pos{File: c.sources[len(c.sources)-1], Line: x.line, Column: x.column}, wording.Truncate(name, 120), "%s", why)
	}
}

// maxMember is the longest value that a key may have, in bytes.
const maxMember = 256

// unknown is the value of a member that a key cannot have. Any other value follows "=".
const unknown = "!"

// members calls put for each member of a body: of a form ('f'), or a scalar member of a JSON object or
// of an object in it ('j').
func members(body []byte, contentType string, put func(from byte, name, value string)) {
	if all, ok := formOf(body, contentType); ok {
		for _, f := range all {
			put('f', f.Name, f.Value)
		}
		return
	}
	var each func(prefix string, v json.Value, depth int)
	each = func(prefix string, v json.Value, depth int) {
		for _, m := range v.AppendMembers(nil) {
			name := string(m.Key.AppendText(nil))
			if strings.Contains(name, "\x01") {
				continue
			}
			put('j', prefix+name, scalar(m.Value))
			if m.Value.Kind == json.Object && depth > 0 {
				each(prefix+name+"\x01", m.Value, depth-1)
			}
		}
	}
	if root := json.Parse(body); root.Kind == json.Object {
		each("", root, 1)
	}
}

// scalar returns the value of a JSON scalar as a member has it.
func scalar(v json.Value) string {
	switch v.Kind {
	case json.String:
		return `="` + string(v.AppendText(nil))
	case json.Object, json.Array:
		return unknown
	case json.Null:
		return "" // equals a missing value
	case json.Number:
		if text := string(v.Raw); strings.ContainsAny(text, "eE") || strings.HasSuffix(text, "0") && strings.Contains(text, ".") || text == "-0" {
			return unknown // another spelling of the number would be another text
		}
	}
	return "=" + string(v.Raw)
}

// formOf returns the text fields of a form, and whether the content type is that of a form.
func formOf(body []byte, contentType string) ([]draft.Field, bool) {
	if limit, ok := boundary(contentType); ok {
		return multipartFields(body, limit), true
	}
	if strings.HasPrefix(strings.ToLower(contentType), "application/x-www-form-urlencoded") {
		return parameters(string(body)), true
	}
	return nil, false
}

// boundary returns the boundary of a multipart form.
func boundary(contentType string) (string, bool) {
	kind, params, err := mime.ParseMediaType(contentType)
	return params["boundary"], err == nil && kind == "multipart/form-data"
}

// multipartFields returns the text fields of a multipart form, only the first of each name.
func multipartFields(body []byte, limit string) (all []draft.Field) {
	form, err := multipart.NewReader(bytes.NewReader(body), limit).ReadForm(int64(len(body)))
	if err != nil {
		return nil
	}
	defer form.RemoveAll()
	for _, name := range slices.Sorted(maps.Keys(form.Value)) {
		all = append(all, draft.Field{Name: name, Value: "=" + form.Value[name][0]})
	}
	return all
}

// parameters returns the parameters of a query or a form in their order, and only the first of each
// name. Each value follows "=".
func parameters(query string) []draft.Field {
	var all []draft.Field
	known := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil || name == "" || strings.Contains(name, "\x00") || known[name] {
			continue
		}
		known[name] = true
		if value, err = url.QueryUnescape(value); err != nil {
			all = append(all, draft.Field{Name: name, Value: unknown})
			continue
		}
		all = append(all, draft.Field{Name: name, Value: "=" + value})
	}
	return all
}
