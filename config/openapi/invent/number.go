package invent

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"mockserver/config/openapi/jsonvalue"
)

// Span is the usual range of numbers with a certain name, and their number of decimals.
type Span struct {
	Low, High int64
	Decimals  int
}

// Width is the size of the range for names without a span of their own.
const Width = 100

// Usual is the span for names without a span of their own.
var Usual = Span{1, Width, 2}

var spans = map[string]Span{
	"latitude": {-60, 60, 6}, "lat": {-60, 60, 6},
	"longitude": {-120, 120, 6}, "lng": {-120, 120, 6}, "lon": {-120, 120, 6},
	"amount": {1, 999, 2}, "balance": {1, 999, 2}, "cost": {1, 999, 2}, "fee": {1, 999, 2}, "price": {1, 999, 2}, "subtotal": {1, 999, 2},
	"age":   {18, 90, 0},
	"month": {1, 12, 0}, "day": {1, 28, 0},
	"hour": {0, 23, 0}, "minute": {0, 59, 0}, "second": {0, 59, 0},
	"page":    {1, 5, 0},
	"percent": {0, 100, 2}, "percentage": {0, 100, 2}, "pct": {0, 100, 2},
	"port": {1024, 49151, 0},
}

// SpanOf returns the span for a name on a given day, and whether the name has a span of its own.
func SpanOf(name string, today time.Time) (Span, bool) {
	split := nameWords(name)
	if len(split) == 0 {
		return Usual, false
	}
	switch last := split[len(split)-1]; last {
	case "year":
		return Span{int64(today.Year() - 10), int64(today.Year()), 0}, true
	case "timestamp":
		return Span{today.AddDate(0, 0, windows[recent].from).Unix(), today.Unix(), 0}, true
	default:
		s, ok := spans[last]
		if !ok {
			s = Usual
		}
		return s, ok
	}
}

// Number returns a number in the span.
func (s Span) Number(r *rand.Rand, whole bool) json.Number {
	if whole {
		return jsonvalue.IntNumber(s.Low + r.Int64N(s.High-s.Low+1))
	}
	unit := s.Unit()
	n := s.Low*unit + r.Int64N((s.High-s.Low)*unit+1)
	return json.Number(strconv.FormatFloat(float64(n)/float64(unit), 'f', s.Decimals, 64))
}

// Unit returns 10 to the power of s.Decimals.
func (s Span) Unit() int64 { return int64(math.Pow10(s.Decimals)) }
