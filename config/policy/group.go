// Package policy declares how the requests of an endpoint are treated, whatever answers them: their
// latency, fault, rate limit and capacity. Package listener/serve/traffic implements their effects.
package policy

import (
	"reflect"

	"mockserver/config/table"
)

// Group contains the policies of one declaration. The field of a policy that is not declared is
// nil. A type whose declarations have policies has fields with the same names and types as a Group:
// Endpoint has all of them.
type Group struct {
	Latency   *Latency
	Fault     *Fault
	RateLimit *RateLimit
	Capacity  *Capacity
}

// Of returns the policies of a declaration, given a pointer to it.
func Of(declaration any) (g Group) {
	g.each(declaration, func(own, its reflect.Value) { own.Set(its) })
	return g
}

// Give sets the policies of a declaration, given a pointer to it. Policies for which its type has
// no field are left out.
func (g Group) Give(declaration any) {
	g.each(declaration, func(own, its reflect.Value) { its.Set(own) })
}

// Over returns the policies of g, with those of other where g does not declare one.
func (g Group) Over(other Group) Group {
	g.each(&other, func(own, its reflect.Value) {
		if own.IsNil() {
			own.Set(its)
		}
	})
	return g
}

// Keys returns the keys of the policies that are declared.
func (g Group) Keys() (keys []string) {
	own := reflect.ValueOf(g)
	for i := range own.NumField() {
		if !own.Field(i).IsNil() {
			keys = append(keys, table.KeyOf(own.Type().Field(i)))
		}
	}
	return keys
}

// each calls f for each policy that a declaration can have, with the field of g and the field of
// the declaration.
func (g *Group) each(declaration any, f func(own, its reflect.Value)) {
	own, of := reflect.ValueOf(g).Elem(), reflect.ValueOf(declaration).Elem()
	for i := range own.NumField() {
		if its := of.FieldByName(own.Type().Field(i).Name); its.IsValid() {
			f(own.Field(i), its)
		}
	}
}

// Check checks the policies under their keys, below the keys at. path is the path of the endpoint.
func (g Group) Check(c *table.Checker, path string, at []string) {
	CheckLatency(c, g.Latency, table.Below(at, "latency"))
	checkFault(c, g.Fault, table.Below(at, "fault"))
	checkRateLimit(c, g.RateLimit, path, table.Below(at, "rate-limit"))
	checkCapacity(c, g.Capacity, table.Below(at, "capacity"))
}
