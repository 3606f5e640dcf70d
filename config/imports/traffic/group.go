package traffic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mockserver/internal/wording"
)

// group contains the exchanges for one method, host and path.
type group struct {
	*Collector
	method    string
	host      string // "" for any
	pattern   *pattern
	records   []*record // in the order of arrival
	name      string    // "GET /users/:id"
	slug      string    // "get-users-id", unique
	responses []uint32  // of each record: the number of its answer
	key       []*column // the columns that the answers depend on
	keys      []uint32  // of each record: the number of its key
	faults    []string  // why the group is approximate
}

// path returns the path of a record.
func (g *group) path(r *record) string {
	_, path, _ := strings.Cut(g.words.texts[r.place], "\x00")
	return path
}

// span returns when the exchanges took place, and how many there were: "10,000 requests, 2026-01-02
// 10:00–10:20, at most 240 under way".
func span(records []*record) string {
	text := wording.Thousands(len(records)) + " requests"
	if len(records) == 1 {
		text = "1 request"
	}
	from, to := time.UnixMicro(records[0].at).UTC(), time.UnixMicro(records[len(records)-1].at).UTC()
	var most int32
	for _, r := range records {
		most = max(most, r.underWay)
	}
	switch {
	case from.Year() < 1971: // unknown
	case to.Sub(from) < time.Minute:
		text += from.Format(", 2006-01-02 15:04")
	case to.Sub(from) < 24*time.Hour:
		text += from.Format(", 2006-01-02 15:04") + to.Format("–15:04")
	default:
		text += from.Format(", 2006-01-02") + to.Format(" – 2006-01-02")
	}
	if most > 0 {
		text += fmt.Sprintf(", at most %d under way", most)
	}
	return text
}

// leadsTo returns the Location of an answer with the status 201 or 3xx; "" if there is none.
func (g *group) leadsTo(r *record) string {
	if r.status/100 != 3 && r.status != 201 {
		return ""
	}
	return fieldOf(split(g.store.get(r.headers, &g.buf[0])), "Location")
}

// fault notes a reason why the group is approximate, each reason once.
func (g *group) fault(why string, args ...any) {
	text := fmt.Sprintf(why, args...)
	if !slices.Contains(g.faults, text) {
		g.faults = append(g.faults, text)
	}
}
