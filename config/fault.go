package config

import (
	"fmt"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Fault is a way for an answer to go wrong.
type Fault struct {
	Pos  syntax.Pos // left zero in Go
	Key  string     // left "" in Go
	Type string     // one of FaultTypes
	// Rate is the share of the requests that have the fault, 0..1; every request has
	// it where Rate is 0 and Rated is not set.
	Rate           float64
	Rated          bool // Rate counts, be it 0; Complete sets it for any other
	BytesPerSecond int  // slow-body; 0 means DefaultBytesPerSecond
}

// FaultTypes are the faults there are. Nobody may change it.
var FaultTypes = []string{"reset", "empty", "malformed", "truncate", "slow-body"}

const (
	// DefaultBytesPerSecond is how fast a slow body is sent.
	DefaultBytesPerSecond = 1024

	maxBytesPerSecond = 1_000_000_000
	slowBody          = "slow-body"
)

var faultFields = []table.Field[Fault]{
	table.Of[Fault](row{Key: "type", Doc: "what goes wrong: one of reset, empty, malformed, truncate, slow-body", Required: true, Kinds: table.Texts, Enum: FaultTypes}),
	table.Of[Fault](row{Key: "rate", Given: "rated", Doc: "the share of requests that have the fault, all when left out", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[Fault](row{Key: "bytes-per-second", Doc: "how fast the body of slow-body is sent, 1024 when left out", Kinds: table.Numbers, Min: 1, Max: maxBytesPerSecond}),
}

// EffectiveRate is the share of requests that have the fault.
func (f *Fault) EffectiveRate() float64 {
	if f.Rate == 0 && !f.Rated {
		return 1
	}
	return f.Rate
}

// fault checks the fault that the keys lead to; nil is none.
func (c *checker) fault(f *Fault, at []string) {
	if f != nil && !c.faulty(at) && inBounds(c, faultFields, f, at) && f.BytesPerSecond != 0 && f.Type != slowBody {
		c.wrong(fmt.Sprintf("bytes-per-second is for the fault %s; this one is %s", slowBody, f.Type), below(at, "bytes-per-second")...)
	}
}

// unseen warns of what is declared of an answer that a fault lets nobody see.
func (c *checker) unseen(r *Response, f *Fault, at []string) {
	if f == nil || f.EffectiveRate() != 1 || f.Type != "reset" && f.Type != "empty" {
		return
	}
	for _, k := range []struct {
		key   string
		given bool
	}{{"body", r.declaresBody()}, {"external-body", r.External != nil}, {"headers", len(r.Headers) > 0}, {"status", r.Status != 0}} {
		if k.given {
			c.warn(fmt.Sprintf("is never sent: of the fault %s nothing of an answer comes", f.Type), below(at, k.key)...)
			return
		}
	}
}
