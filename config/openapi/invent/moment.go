package invent

import (
	"slices"
	"time"
)

// recent is the role of a time that has no particular one.
const recent = "recent"

// wideDays is how many days times go back when many different ones are needed.
const wideDays = 3 * 365

// roleOf returns the role of a time that the words of a name indicate; the last such word counts.
func roleOf(split []string) string {
	for _, word := range slices.Backward(split) {
		if role, ok := known().roles[word]; ok {
			return role
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
	p := known().Roles[roleOf(nameWords(f.Name))]
	if f.Wide {
		p.From = min(p.From, p.To-wideDays)
	}
	return f.Today.AddDate(0, 0, p.From).Add(time.Duration(f.IntN((p.To-p.From)*24*60*60)) * time.Second)
}
