package invent

import (
	"slices"
	"time"
)

// role is the meaning of a time, according to the name of its property.
type role uint8

const (
	recent role = iota // no particular role
	born
	created
	started
	updated
	ended
	due
	roles
)

// windows are the ranges of times, in days from today. When an object has two times, their windows
// put them in order.
var windows = [roles]struct {
	from, to int
	after    []role
}{
	recent:  {-10, 0, nil},
	born:    {-25500, -7400, nil}, // people aged 20 to 70
	created: {-364, -60, []role{born}},
	started: {-60, -10, []role{born}},
	updated: {-10, 0, []role{born, created}},
	ended:   {-10, 0, []role{born, created, started}},
	due:     {1, 364, []role{born, created, started}},
}

// wideDays is how many days times go back when many different ones are needed.
const wideDays = 3 * 365

// roleWords are the words that indicate a role.
var roleWords = wordsOf(map[role][]string{
	born:    {"birth", "birthday", "birthdate", "dob", "born"},
	created: {"create", "created", "creation", "add", "added", "first", "founded", "hired", "issue", "issued", "joined", "opened", "order", "ordered", "placed", "publish", "published", "registered", "registration", "release", "released", "signup", "submitted", "uploaded"},
	started: {"activated", "activation", "began", "begin", "begins", "checkin", "departure", "effective", "from", "since", "start", "started", "starts"},
	updated: {"accessed", "changed", "edited", "last", "latest", "login", "modification", "modified", "refreshed", "seen", "synced", "update", "updated", "used"},
	ended:   {"archived", "canceled", "cancelled", "closed", "completed", "deleted", "delivered", "ended", "finished", "paid", "processed", "removed", "resolved", "revoked", "shipped", "terminated"},
	due:     {"arrival", "checkout", "deadline", "due", "end", "ending", "ends", "estimated", "expiration", "expire", "expires", "expiry", "maturity", "next", "planned", "renewal", "renews", "scheduled", "through", "till", "to", "until"},
})

// wordsOf inverts a map of lists of words: it maps each word to its key.
func wordsOf[M comparable](meant map[M][]string) map[string]M {
	all := map[string]M{}
	for meaning, words := range meant {
		for _, word := range words {
			all[word] = meaning
		}
	}
	return all
}

// roleOf returns the role that the words of a name indicate; the last such word counts.
func roleOf(split []string) role {
	for _, word := range slices.Backward(split) {
		if r, ok := roleWords[word]; ok {
			return r
		}
	}
	return recent
}

// The hints for times.
const (
	dateHint = "date"
	timeHint = "date-time"
)

// timeHintOf returns the hint for a time that the words of a name indicate; "" for none.
func timeHintOf(split []string) string {
	last, several, meant := split[len(split)-1], len(split) > 1, roleOf(split)
	switch last {
	case "date", "birthday", "birthdate", "dob":
		return dateHint
	case "at":
		if several {
			return timeHint
		}
	case "timestamp", "datetime", "created", "updated", "modified", "expires", "expiry", "expiration", "deadline":
		return timeHint
	case "time":
		if meant != recent || several && split[len(split)-2] == "date" {
			return timeHint
		}
	case "on":
		if several && meant != recent {
			return dateHint
		}
	case "from", "to", "until", "till":
		if several && split[0] == "valid" {
			return timeHint
		}
	}
	if split[0] == "date" && meant != recent {
		return dateHint
	}
	return ""
}

// known is a time that the document contains.
type known struct {
	role role
	at   time.Time
}

// moment returns a time for the property being made: one that fits its name and is in the right
// order with the times that the document has in the same object.
func (f *Facts) moment() time.Time {
	meant := roleOf(nameWords(f.Name))
	w := windows[meant]
	if f.Wide {
		w.from = min(w.from, w.to-wideDays)
	}
	today := f.Today
	from, to := today.AddDate(0, 0, w.from), today.AddDate(0, 0, w.to)
	width := to.Sub(from)
	f.learn()
	for _, k := range f.times {
		switch {
		case slices.Contains(w.after, k.role) && from.Before(k.at):
			from = k.at.AddDate(0, 0, 1)
			to = from.Add(width)
		case slices.Contains(windows[k.role].after, meant) && k.at.Before(to):
			to = k.at
			from = to.Add(-width)
		}
	}
	return from.Add(time.Duration(f.Int64N(int64(to.Sub(from)/time.Second))) * time.Second)
}

// timeOf parses a time of the document.
func timeOf(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
