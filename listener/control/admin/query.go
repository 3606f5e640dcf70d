package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mockserver/internal/wording"
)

// query parses the parameters of a request and stores the last error.
type query struct {
	values url.Values
	wrong  string // "" if there is no error
}

func queryOf(r *http.Request) *query { return &query{values: r.URL.Query()} }

// refused refuses the request if a parameter was invalid, and reports whether one was.
func (q *query) refused(w http.ResponseWriter) bool {
	if q.wrong != "" {
		badQuery(w, q.wrong)
	}
	return q.wrong != ""
}

// expect reports a parameter as invalid.
func (q *query) expect(name, expected string) {
	q.wrong = fmt.Sprintf("%s: %q; expected %s", name, q.values.Get(name), expected)
}

// number parses a number from least to most; initial is the default.
func (q *query) number(name string, initial, least, most int) int {
	if !q.values.Has(name) {
		return initial
	}
	n, err := strconv.Atoi(q.values.Get(name))
	if err != nil || n < least || n > most {
		q.expect(name, fmt.Sprintf("a number from %d to %d", least, most))
	}
	return n
}

// one parses a parameter that must be one of the words; "" is the default.
func (q *query) one(name string, words ...string) string {
	text := q.values.Get(name)
	if q.values.Has(name) && !slices.Contains(words, text) {
		q.expect(name, wording.OneOf(words))
	}
	return text
}

// time parses a time; if ago is set, it also accepts a duration before now. The zero time is the
// default.
func (q *query) time(name string, ago bool) time.Time {
	text, expected := q.values.Get(name), "a time, such as 2026-01-02T15:04:05Z"
	if !q.values.Has(name) {
		return time.Time{}
	}
	if ago {
		if length, err := time.ParseDuration(text); err == nil && length >= 0 {
			return time.Now().Add(-length)
		}
		expected = "how long ago, such as 30s or 5m, or " + expected
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		q.expect(name, expected)
	}
	return at
}
