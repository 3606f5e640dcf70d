package policy

import (
	"mockserver/config/table"
)

// ResponseKeys returns the policy keys that an answer may have: latency and fault. T has a Go field
// for each of them. more is appended to their documentation.
func ResponseKeys[T any](more string) []table.Field[T] {
	return []table.Field[T]{
		table.Made[T](table.Row{Key: "latency", Doc: "the time from the request to the answer" + more, Form: "a map with " + latencyForms}, latencyFields, decodeLatency),
		table.Map[T](table.Row{Key: "fault", Doc: "how answers go wrong" + more, Form: "a map with type and rate"}, faultFields),
	}
}

// LimitKeys returns the policy keys that only an endpoint has: rate-limit and capacity. T has a Go
// field for each of them. requests says, in their documentation, which requests are counted.
func LimitKeys[T any](requests string) []table.Field[T] {
	return []table.Field[T]{
		table.Map[T](table.Row{Key: "rate-limit", Doc: "how many " + requests + " are answered in a window; {} is 100 in 15 minutes for each address",
			Form: "a map with max-requests and window"}, rateLimitFields),
		table.Map[T](table.Row{Key: "capacity", Doc: "how many " + requests + " are served at once, and how many wait", Form: "a map with concurrent and queue"}, capacityFields),
	}
}

// CheckAfter checks the value of a key that AfterKey returned.
func CheckAfter(c *table.Checker, l *Latency, key string) {
	if l != nil {
		l.check(c, "", []string{key})
	}
}

// AfterKey returns the key after. Its value is a latency without rates: a duration, or a map. T has
// a Go field for it.
func AfterKey[T any](doc string) table.Field[T] {
	key := table.Made[T](table.Row{Key: "after", Doc: doc, Required: true, Form: `a duration such as "2s", or a map with ` + afterForms}, afterFields, decodeAfter)
	key.Kinds |= table.Texts
	return key
}
