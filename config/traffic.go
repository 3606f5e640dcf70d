package config

import "time"

// Outcome is one of several answers of an endpoint (endpoint.responses), of which
// each request gets one.
type Outcome struct {
	Key      string  // "[3].endpoint.responses[1]"; left "" in Go
	Weight   float64 // its share among the weights of all; 0 is never drawn. Weighted tells whether it was declared
	Weighted bool    // Weight counts; otherwise it is 1
	Response Response
	Latency  *Latency  // nil means that of the endpoint
	Fault    *Fault    // nil means that of the endpoint
	Webhooks []Webhook // nil means those of the endpoint
}

// How one of several outcomes is chosen.
const (
	SelectWeighted     = "weighted"      // by weight, at random
	SelectSequence     = "sequence"      // in turn, then from the start
	SelectSequenceHold = "sequence-hold" // in turn, then the last for ever
)

// Latency is the time from the arrival of a request to its answer. One of the
// forms is declared: Min and Max, the points of Curve, Median and Sigma, or none,
// when there are only rates.
type Latency struct {
	Pos Pos    // left zero in Go
	Key string // left "" in Go

	Min, Max time.Duration // uniform; fixed when both are the same

	// Curve are the points of the distribution itself, percentiles and lengths both
	// rising: {50, 20ms}, {99, 120ms}, and last {100, 1s} for its max. Between
	// two points lengths are interpolated; below the first they go down to Floor.
	Curve []Percentile

	Median time.Duration // lognormal
	Sigma  float64

	FailureRate float64 // 0..1, of requests that are answered 500
	TimeoutRate float64 // 0..1, of requests that wait Timeout and are answered 504
	Timeout     time.Duration
}

// Percentile is one point of a distribution: Rank percent of all are Length or less.
type Percentile struct {
	Rank   float64 // above 0, to 100
	Length time.Duration
}

// Fault is a way for an answer to go wrong.
type Fault struct {
	Pos            Pos
	Key            string
	Type           string  // one of FaultTypes
	Rate           float64 // 0..1 of the requests; Rated tells whether it was declared
	Rated          bool    // Rate counts; otherwise every request has the fault
	BytesPerSecond int     // slow-body; 0 means DefaultBytesPerSecond
}

// FaultTypes are the faults there are. Nobody may change it.
var FaultTypes = []string{"reset", "empty", "malformed", "truncate", "slow-body"}

// RateLimit bounds how many requests of one key an endpoint answers in a window.
type RateLimit struct {
	Pos       Pos
	Key       string
	Algorithm string        // one of LimitAlgorithms; "" means the first
	Window    time.Duration // 0 means DefaultWindow
	Max       int           // requests in a window; 0 means DefaultMaxRequests
	// By is what tells clients apart: "remote-addr" (also ""), "host", the name of a
	// header, "header-params.X", "query-params.x" or "path-params.x".
	By string
}

// LimitAlgorithms are the ways to count, the default first. Nobody may change it.
var LimitAlgorithms = []string{"sliding-window", "fixed-window", "token-bucket"}

// Capacity is how many requests of an endpoint are served at once, and how many
// wait for that in order. What comes beyond that is answered 503.
type Capacity struct {
	Pos        Pos
	Key        string
	Concurrent int // above 0
	Queue      int // 0 lets none wait
}

// Defaults of what declares the traffic of an endpoint.
const (
	DefaultBytesPerSecond = 1024
	DefaultWindow         = 15 * time.Minute
	DefaultMaxRequests    = 100
	DefaultLatencyTimeout = 30 * time.Second // of timeout-rate
)
