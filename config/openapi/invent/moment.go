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

// windows are the ranges of times, in days from today. They put the times of an object in order.
var windows = [roles]struct{ from, to int }{
	recent:  {-10, 0},
	born:    {-25500, -7400}, // people aged 20 to 70
	created: {-364, -60},
	started: {-60, -10},
	updated: {-10, 0},
	ended:   {-10, 0},
	due:     {1, 364},
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

// moment returns a time that fits the name of the property being made.
func (f *Facts) moment() time.Time {
	w := windows[roleOf(nameWords(f.Name))]
	if f.Wide {
		w.from = min(w.from, w.to-wideDays)
	}
	return f.Today.AddDate(0, 0, w.from).Add(time.Duration(f.IntN((w.to-w.from)*24*60*60)) * time.Second)
}
