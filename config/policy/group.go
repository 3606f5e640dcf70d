// Package policy declares how the requests of an endpoint are treated, whatever answers them: their
// latency, fault, rate limit and capacity. Package listener/compile/traffic implements their effects.
package policy

import (
	"reflect"

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

// declared returns the policies that are declared.
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

// Check checks the policies under their keys, below the keys at. path is the path of the endpoint.
func (g Group) Check(c *table.Checker, path string, at []string) {
	for _, p := range g.declared() {
		p.check(c, path, table.Below(at, p.key))
	}
}
