// Package policy declares how the requests of an endpoint are treated, whatever answers them: their
// latency, fault, rate limit and capacity. Package listener/compile/traffic implements their effects.
package policy

import (
	"reflect"
	"slices"

	"mockserver/config/table"
)

// Group contains the policies of one declaration. The field of a policy that is not declared is
// nil. The types of declarations with policies embed it.
type Group struct {
	Latency   *Latency
	Fault     *Fault
	RateLimit *RateLimit
	Capacity  *Capacity
}

// Over returns the policies of g, with those of other where g does not declare one.
func (g Group) Over(other Group) Group {
	own, its := reflect.ValueOf(&g).Elem(), reflect.ValueOf(other)
	for i := range own.NumField() {
		if own.Field(i).IsNil() {
			own.Field(i).Set(its.Field(i))
		}
	}
	return g
}

// policy is what each policy says about itself.
type policy interface {
	// check checks the policy at a key, for an endpoint with the given path.
	check(c *table.Checker, path string, at []string)
	// replies returns the responses that the policy itself sends.
	replies() []Reply
}

// Reply is a response that a policy sends instead of the declared one.
type Reply struct {
	Status int
	Why    string
}

// keyed is a policy under its key.
type keyed struct {
	policy
	key string
}

func (g Group) declared() (all []keyed) {
	own := reflect.ValueOf(g)
	for i := range own.NumField() {
		if p, is := own.Field(i).Interface().(policy); is && !own.Field(i).IsNil() {
			all = append(all, keyed{p, table.KeyOf(own.Type().Field(i))})
		}
	}
	return all
}

// Keys returns the keys of the policies that are declared.
func (g Group) Keys() (keys []string) {
	for _, p := range g.declared() {
		keys = append(keys, p.key)
	}
	return keys
}

// Replies returns the responses that the policies themselves send.
func (g Group) Replies() (all []Reply) {
	for _, p := range g.declared() {
		all = append(all, p.replies()...)
	}
	return all
}

// Varies returns why the replies to an endpoint vary under the load of a number of connections, so that they cannot be
// compared with one expected reply; "" if they do not vary.
func (g Group) Varies(connections int) string {
	for _, p := range g.declared() {
		if limit, ok := p.policy.(interface{ varies(connections int) string }); ok {
			if why := limit.varies(connections); why != "" {
				return why
			}
		}
	}
	return ""
}

// Check checks the policies under their keys, below the keys at. path is the path of the endpoint.
func (g Group) Check(c *table.Checker, path string, at []string) {
	for _, p := range g.declared() {
		p.check(c, path, table.Below(at, p.key))
	}
}

// ResponseKeys returns the policy keys that an answer may have: latency and fault. T has a Go field
// for each of them. ofFault are further keys of a fault.
func ResponseKeys[T any](ofFault ...table.Field[Fault]) []table.Field[T] {
	return []table.Field[T]{
		table.Made[T](table.Row{Key: "latency", Doc: "the time from the request to the answer", Form: "a map with " + latencyForms + "; equal min and max make it constant"}, latencyFields, decodeLatency),
		table.Map[T](table.Row{Key: "fault", Doc: "how answers go wrong", Form: "a map with type and rate"}, slices.Concat(faultFields, ofFault)),
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

// CheckLength checks the value of a key that LengthKey returned, if it is given.
func CheckLength(c *table.Checker, l *Latency, at ...string) {
	if l != nil && c.Node(at...) != nil {
		l.check(c, "", at)
	}
}

// LengthKey returns a key whose value is a latency without rates: a duration, or a map. T has a Go field for it.
func LengthKey[T any](r table.Row) table.Field[T] {
	r.Form = `a duration such as "2s", or a map with ` + latencyForms
	key := table.Made[T](r, lengthFields, decodeLength)
	key.Kinds |= table.Texts | table.Numbers
	return key
}
