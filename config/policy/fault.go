package policy

import (
	"fmt"

	"mockserver/config/table"
)

// Fault is a way in which an answer goes wrong.
type Fault struct {
	Type string // one of FaultTypes
	// Rate is the share of requests that have the fault, from 0 to 1. If Rate is 0 and Rated is not
	// set, every request has the fault.
	Rate           float64 `given:"Rated"`
	Rated          bool    // Rate applies even if it is 0
	BytesPerSecond int     // slow-body; 0 means DefaultBytesPerSecond
	// Of says whether a reset over HTTP/2 ends only the stream or the whole connection: OfStream
	// or OfConnection; "" means OfStream.
	Of string
}

// FaultTypes are all types of faults. The slice must not be modified.
var FaultTypes = []string{"reset", "empty", "malformed", "truncate", "slow-body"}

const (
	// DefaultBytesPerSecond is the default speed of a slow body.
	DefaultBytesPerSecond = 1024

	// OfStream makes a reset end only the stream over HTTP/2.
	OfStream = "stream"
	// OfConnection makes a reset end the whole connection over HTTP/2.
	OfConnection = "connection"

	maxBytesPerSecond = 1_000_000_000
	slowBody          = "slow-body"
	reset             = "reset"
	empty             = "empty"
)

var faultFields = []table.Field[Fault]{
	table.Of[Fault](table.Row{Key: "type", Doc: "what goes wrong: one of reset, empty, malformed, truncate, slow-body", Required: true, Kinds: table.Texts, Enum: FaultTypes}),
	table.Of[Fault](table.Row{Key: "rate", Given: "rated", Doc: "the share of requests that have the fault; all by default", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[Fault](table.Row{Key: "bytes-per-second", Doc: "how fast the body of slow-body is sent; 1024 by default", Kinds: table.Numbers, Min: 1, Max: maxBytesPerSecond}),
	table.Of[Fault](table.Row{Key: "of", Doc: "what reset closes over HTTP/2: stream (the default), or connection for the whole connection", Kinds: table.Texts, Enum: []string{OfStream, OfConnection}}),
}

// EffectiveRate returns the share of requests that have the fault.
func (f *Fault) EffectiveRate() float64 { return table.OrOne(f.Rate, f.Rated) }

// SendsNothing reports whether requests with the fault get no answer at all.
func (f *Fault) SendsNothing() bool { return f.Type == reset || f.Type == empty }

func (f *Fault) replies() []Reply { return nil }

func (f *Fault) check(c *table.Checker, _ string, at []string) {
	if c.Faulty(at...) {
		return
	}
	if f.BytesPerSecond != 0 && f.Type != slowBody {
		c.Wrong(fmt.Sprintf("bytes-per-second applies only to the fault %s; this one is %s", slowBody, f.Type), table.Below(at, "bytes-per-second")...)
	}
	if f.Of != "" && f.Type != reset {
		c.Wrong(fmt.Sprintf("of applies only to the fault %s; this one is %s", reset, f.Type), table.Below(at, "of")...)
	}
}
