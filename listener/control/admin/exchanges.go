package admin

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// shownExchange is a request in the journal with its response. Durations are in milliseconds.
type shownExchange struct {
	*record.Exchange
	TLS      string       `json:"tls,omitempty" doc:"version of TLS: 1.2 or 1.3; left out without TLS"`
	Took     float64      `json:"took_ms" doc:"time from the request to the end of its response, or to the first item of a stream, with injected latency"`
	Injected float64      `json:"injected_ms" doc:"declared latency, as part of took_ms"`
	Upstream float64      `json:"upstream_ms" doc:"wait for an upstream, or for a body from a URL, as part of took_ms"`
	Stream   *shownStream `json:"stream,omitempty" doc:"what a streamed response sent; left out for others"`
	Request  shownMessage `json:"request" doc:"headers and body of the request"`
	Response shownMessage `json:"response" doc:"headers and body of the response"`
}

// shownStream is what a streamed response sent.
type shownStream struct {
	Items    int     `json:"items" doc:"items that were sent"`
	Duration float64 `json:"duration_ms" doc:"time from the request, or from its place in a capacity, to the end"`
	End      string  `json:"end" doc:"how it ended: complete, client, fault, max-duration, stopped, upstream or broken"`
	Stretch  float64 `json:"stretch,omitempty" doc:"by which factor a shared rate made it slower, on average"`
	Late     float64 `json:"late_ms" doc:"how late an item after the first one was at most"`
	Blocked  float64 `json:"blocked_ms" doc:"how long items waited for the client to read"`
}

// shownMessage contains the headers and the body of a message. A body that is not text is in
// Base64.
type shownMessage struct {
	record.Message
	Body   string `json:"body,omitempty" doc:"the body, as text"`
	Base64 string `json:"body_base64,omitempty" doc:"the body in Base64, if it is not UTF-8"`
}

func shownMessageOf(m record.Message) shownMessage {
	if utf8.Valid(m.Body) {
		return shownMessage{Message: m, Body: string(m.Body)}
	}
	return shownMessage{Message: m, Base64: base64.StdEncoding.EncodeToString(m.Body)}
}

func shownExchanges(list []*record.Exchange) []shownExchange {
	shown := make([]shownExchange, len(list))
	for i, x := range list {
		shown[i] = shownExchange{
			Exchange: x, Took: verdict.Milliseconds(x.Took), Injected: verdict.Milliseconds(x.Injected), Upstream: verdict.Milliseconds(x.Upstream),
			Request: shownMessageOf(x.Request), Response: shownMessageOf(x.Response),
		}
		if s := x.Streamed; s != nil {
			shown[i].Stream = &shownStream{s.Items, verdict.Milliseconds(s.Took), s.End, s.Stretch(), verdict.Milliseconds(s.Late), verdict.Milliseconds(s.Blocked)}
		}
		if x.TLS != nil {
			shown[i].TLS = string(x.TLS.Version)
		}
	}
	return shown
}

// The default and the maximum number of requests of the journal to show.
const (
	exchangesShown = 100
	mostExchanges  = 1000
)

// search is a search of the journal.
type search struct {
	endpoint, method, path, kept string
	statuses                     []string // "404" or "4xx"
	since                        time.Time
	after                        uint64 // ID
	limit                        int
}

// searchOf parses the parameters of a search.
func searchOf(q *query) search {
	s := search{
		endpoint: q.values.Get("endpoint"), method: strings.ToUpper(q.values.Get("method")), path: q.values.Get("path"),
		kept: q.one("kept", "sample", "error", "unmatched", "slow", "matched"), since: q.time("since", true),
		limit: q.number("limit", exchangesShown, 0, mostExchanges),
	}
	if q.values.Has("after") {
		var err error
		if s.after, err = strconv.ParseUint(q.values.Get("after"), 10, 64); err != nil {
			q.expect("after", "the id of a request")
		}
	}
	if q.values.Has("status") {
		s.statuses = strings.Split(strings.ToLower(q.values.Get("status")), ",")
	}
	for _, part := range s.statuses {
		number, err := strconv.Atoi(strings.Replace(part, "xx", "00", 1))
		if err != nil || number < 100 || number > 599 || len(part) != 3 {
			q.expect("status", "a status, such as 404, or a class of them, such as 5xx, or several separated by commas")
		}
	}
	return s
}

// finds reports whether a request matches the search.
func (s *search) finds(x *record.Exchange) bool {
	return (s.endpoint == "" || s.endpoint == x.Endpoint || s.endpoint == x.EndpointID) && (s.method == "" || s.method == x.Method) &&
		(s.kept == "" || s.kept == string(x.Kept) || s.kept == "matched" && x.Kept != record.Unmatched) && x.ID > s.after && !x.Time.Before(s.since) &&
		s.findsPath(x.Target) && s.findsStatus(x.Status)
}

// findsPath compares the path of a target, without its query. A * at the end of the searched path
// matches any text.
func (s *search) findsPath(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	if prefix, ok := strings.CutSuffix(s.path, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return s.path == "" || s.path == path
}

func (s *search) findsStatus(status int) bool {
	text := strconv.Itoa(status)
	return len(s.statuses) == 0 || slices.Contains(s.statuses, text) || slices.Contains(s.statuses, text[:1]+"xx")
}

// foundExchanges is the result of a search of the journal.
type foundExchanges struct {
	journalFigures
	Requests []shownExchange `json:"requests" doc:"the matching requests, the newest first, up to the limit"`
}

// journalFigures contains the figures of a search, of one journal or of those of all replicas.
type journalFigures struct {
	Found   int                    `json:"found" doc:"how many requests match the query"`
	Seen    map[record.Kept]uint64 `json:"seen" doc:"requests given to the journal, by reason for keeping"`
	Dropped map[record.Kept]uint64 `json:"dropped" doc:"requests that are no longer in the journal, by reason for keeping"`
	Bytes   int                    `json:"bytes" doc:"memory that they take, in bytes"`
}

// findExchanges searches the journal, the newest request first.
func (a *Admin) findExchanges(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	s := searchOf(q)
	if q.refused(w) {
		return
	}
	all := a.server.Journal()
	if s.endpoint != "" && !a.knows(s.endpoint, all) {
		badQuery(w, fmt.Sprintf("endpoint: %q is neither served nor in the journal; expected an id or a name, such as GET /users/:id; GET /__admin/endpoints lists them", s.endpoint))
		return
	}
	found := slices.DeleteFunc(all, func(x *record.Exchange) bool { return !s.finds(x) })
	stats := a.server.JournalStats()
	respond(w, http.StatusOK, foundExchanges{journalFigures{len(found), stats.Seen, stats.Dropped, stats.Bytes}, shownExchanges(found[:min(len(found), s.limit)])})
}

// knows reports whether an endpoint with this name or ID is served, or is in the journal.
func (a *Admin) knows(endpoint string, journal []*record.Exchange) bool {
	return slices.ContainsFunc(a.shownEndpoints(), func(e shownEndpoint) bool { return endpoint == e.Endpoint || endpoint == e.ID }) ||
		slices.ContainsFunc(journal, func(x *record.Exchange) bool { return endpoint == x.Endpoint || endpoint == x.EndpointID })
}

// resetJournal deletes all requests from the journal.
func (a *Admin) resetJournal(w http.ResponseWriter, _ *http.Request) {
	a.server.ResetJournal()
	a.log.Info("journal reset by the admin address")
	respond(w, http.StatusOK, state{Status: "reset"})
}

// verification specifies how many requests are expected.
type verification struct {
	Condition string `json:"condition,omitempty" doc:"a condition on requests; without one, all requests are counted"`
	Count     *int   `json:"count,omitempty" doc:"expected number of requests"`
	AtLeast   *int   `json:"at-least,omitempty" doc:"smallest expected number; 1 if no number is given"`
	AtMost    *int   `json:"at-most,omitempty" doc:"largest expected number"`
	Exact     *bool  `json:"exact,omitempty" doc:"false to accept the count of the journal even if it may not have all requests"`
}

// bounds returns the smallest and the largest expected number of requests; most is -1 if there is
// no upper bound. wrong says why the verification is invalid; it is "" if the verification is
// valid.
func (v *verification) bounds() (least, most int, wrong string) {
	least, most = 1, -1
	for _, n := range []*int{v.Count, v.AtLeast, v.AtMost} {
		if n != nil && *n < 0 {
			return 0, 0, "the number of requests is negative"
		}
	}
	if v.AtMost != nil {
		least, most = 0, *v.AtMost
	}
	if v.AtLeast != nil {
		least = *v.AtLeast
	}
	switch {
	case v.Count != nil && (v.AtLeast != nil || v.AtMost != nil):
		return 0, 0, "count cannot be combined with at-least or at-most"
	case v.Count != nil:
		return *v.Count, *v.Count, ""
	case most >= 0 && least > most:
		return 0, 0, "at-least is greater than at-most"
	}
	return least, most, ""
}

// readVerification reads a verification and its bounds. If it is not valid, readVerification refuses the
// request.
func readVerification(w http.ResponseWriter, r *http.Request) (v verification, least, most int, ok bool) {
	if !read(w, r, &v) {
		return v, 0, 0, false
	}
	least, most, wrong := v.bounds()
	if wrong != "" {
		badBody(w, wrong)
	}
	return v, least, most, wrong == ""
}

// counted is the result of a verification without examples.
type counted struct {
	OK    bool   `json:"ok" doc:"whether the count is as expected"`
	Count int    `json:"count" doc:"number of matching requests in the journal, or in those of all replicas"`
	Exact bool   `json:"exact" doc:"whether the journal has all matching requests"`
	Why   string `json:"why,omitempty" doc:"why the count is not exact, or not as expected"`
}

// judge decides whether the count is what was expected, and returns the status of the response. A
// count that is not exact is only a lower bound, unless accepted is set.
func (c *counted) judge(least, most int, accepted bool) (status int) {
	switch {
	case c.Count < least || most >= 0 && c.Count > most:
	case most >= 0 && !c.Exact && !accepted:
		c.Why = "there may have been more: " + c.Why
	default:
		c.OK = true
		return http.StatusOK
	}
	return http.StatusUnprocessableEntity
}

// accepts reports whether the client accepts the count of the journal as exact.
func (v *verification) accepts() bool { return v.Exact != nil && !*v.Exact }

// verdictOnCount is the result of a verification.
type verdictOnCount struct {
	counted
	Examples []shownExchange `json:"examples,omitempty" doc:"some of the requests that were counted, if the count is not as expected"`
}

// verify reports whether the expected number of requests was received.
func (a *Admin) verify(w http.ResponseWriter, r *http.Request) {
	v, least, most, ok := readVerification(w, r)
	if !ok {
		return
	}
	var found record.Verified
	var err error
	if !a.takeTurn(r, func() { found, err = a.server.Verify(v.Condition) }) {
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_condition", "Invalid condition", err.Error())
		return
	}
	out := verdictOnCount{counted: counted{Count: found.Count, Exact: found.Exact, Why: found.Why}}
	status := out.judge(least, most, v.accepts())
	if !out.OK {
		out.Examples = shownExchanges(found.Matches[:min(len(found.Matches), examplesShown)])
	}
	respond(w, status, out)
}
