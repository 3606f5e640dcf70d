package config

import (
	"fmt"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Fault is a way in which an answer goes wrong.
type Fault struct {
	Pos  syntax.Pos // left zero in Go
	Key  string     // left "" in Go
	Type string     // one of FaultTypes
	// Rate is the share of requests that have the fault, from 0 to 1. If Rate is 0 and Rated is not
	// set, every request has it.
	Rate           float64
	Rated          bool // Rate applies even if it is 0; Complete sets it for any other rate
	BytesPerSecond int  // slow-body; 0 means DefaultBytesPerSecond
	// Of is what a reset ends over HTTP/2: OfStream or OfConnection; "" means OfStream.
	Of string
}

// FaultTypes are all types of faults. It must not be modified.
var FaultTypes = []string{"reset", "empty", "malformed", "truncate", "slow-body"}

const (
	// DefaultBytesPerSecond is the default speed of a slow body.
	DefaultBytesPerSecond = 1024

	// OfStream has a reset end the stream only, over HTTP/2.
	OfStream = "stream"
	// OfConnection has a reset end the connection over HTTP/2 too.
	OfConnection = "connection"

	maxBytesPerSecond = 1_000_000_000
	slowBody          = "slow-body"
	reset             = "reset"
)

var faultFields = []table.Field[Fault]{
	table.Of[Fault](row{Key: "type", Doc: "what goes wrong: one of reset, empty, malformed, truncate, slow-body", Required: true, Kinds: table.Texts, Enum: FaultTypes}),
	table.Of[Fault](row{Key: "rate", Given: "rated", Doc: "the share of requests that have the fault, all when left out", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[Fault](row{Key: "bytes-per-second", Doc: "how fast the body of slow-body is sent, 1024 when left out", Kinds: table.Numbers, Min: 1, Max: maxBytesPerSecond}),
	table.Of[Fault](row{Key: "of", Doc: "what reset ends over HTTP/2: the stream when left out, or the whole connection", Kinds: table.Texts, Enum: []string{OfStream, OfConnection}}),
}

// EffectiveRate returns the share of requests that have the fault.
func (f *Fault) EffectiveRate() float64 {
	if f.Rate == 0 && !f.Rated {
		return 1
	}
	return f.Rate
}

// fault checks the fault at the given keys; nil means none.
func (c *checker) fault(f *Fault, at []string) {
	if f == nil || c.faulty(at) || !inBounds(c, faultFields, f, at) {
		return
	}
	if f.BytesPerSecond != 0 && f.Type != slowBody {
		c.wrong(fmt.Sprintf("bytes-per-second is for the fault %s; this one is %s", slowBody, f.Type), below(at, "bytes-per-second")...)
	}
	if f.Of != "" && f.Type != reset {
		c.wrong(fmt.Sprintf("of is for the fault %s; this one is %s", reset, f.Type), below(at, "of")...)
	}
}

// unseen warns about parts of an answer that nobody can see because of a fault.
func (c *checker) unseen(r *Response, f *Fault, at []string) {
	if f == nil || f.EffectiveRate() != 1 || f.Type != reset && f.Type != "empty" {
		return
	}
	for _, k := range []struct {
		key   string
		given bool
	}{{"body", r.declaresBody()}, {"external-body", r.External != nil}, {"proxy", r.Proxy != nil}, {"headers", len(r.Headers) > 0}, {"status", r.Status != 0}} {
		if k.given {
			c.warn(fmt.Sprintf("is never sent: of the fault %s nothing of an answer comes", f.Type), below(at, k.key)...)
			return
		}
	}
}
