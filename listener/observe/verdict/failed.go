package verdict

import (
	"reflect"

	"mockserver/listener/observe/record"
)

// Failed contains the requests that a client saw fail, each counted once: by the status of the
// response and, if that is below 400, by the fault that broke it.
type Failed struct {
	All         uint64 `json:"all" doc:"all of them"`
	Declared4xx uint64 `json:"declared_4xx" kind:"declared 4xx" doc:"answers with a status from 400 to 499 that is declared"`
	Declared5xx uint64 `json:"declared_5xx" kind:"declared 5xx" doc:"answers with status 500 or above that are declared as responses"`
	Rejected    uint64 `json:"rejected" kind:"rejected" doc:"answers with a status from 400 to 499 that the server gave itself, such as for an invalid body or a missing row"`
	Injected    uint64 `json:"injected" kind:"injected" doc:"failures and timeouts that a latency injected"`
	Faults      uint64 `json:"faults" kind:"broken by a fault" doc:"responses below 400 that a fault broke: all faults but slow-body"`
	Limited     uint64 `json:"limited" kind:"rate limit" doc:"requests answered with 429 by a rate limit"`
	Refused     uint64 `json:"refused" kind:"capacity" doc:"requests answered with 503 because the queue of a capacity was full"`
	Own         uint64 `json:"own" kind:"the server's own" doc:"answers with status 500 or above that the server gave in place of what is declared"`
	Unmatched   uint64 `json:"unmatched" kind:"unmatched" doc:"requests that no endpoint answered"`
	Malformed   uint64 `json:"malformed" kind:"malformed" doc:"input that never became a request, and was answered"`
}

// FailedOf returns the failed requests of an endpoint. Some are counted a moment before the status of
// their reply.
func FailedOf(c *record.EndpointCounts) Failed {
	f := Failed{Injected: c.Faults["failure"] + c.Faults["timeout"], Limited: c.Limited, Refused: c.Refused, Own: c.Broken, Rejected: c.Rejected}
	for fault, n := range c.DeclaredFaults() {
		if fault != "slow-body" {
			f.Faults += n
		}
	}
	f.Faults -= min(f.Faults, c.Spoiled)
	for status, n := range c.Statuses {
		switch {
		case status >= 500:
			f.Declared5xx += n
		case status >= 400 && status != record.StatusLeft:
			f.Declared4xx += n
		}
	}
	f.Declared4xx -= min(f.Declared4xx, f.Limited+f.Rejected)
	f.Declared5xx -= min(f.Declared5xx, f.Injected+f.Refused+f.Own)
	return f.summed()
}

// summed returns the kinds with their sum.
func (f Failed) summed() Failed {
	f.All = 0
	for _, n := range f.Kinds() {
		f.All += n
	}
	return f
}

// Kinds returns the number of each kind, by its name.
func (f *Failed) Kinds() map[string]uint64 {
	kinds := map[string]uint64{}
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		if kind := v.Type().Field(i).Tag.Get("kind"); kind != "" {
			kinds[kind] = v.Field(i).Uint()
		}
	}
	return kinds
}
