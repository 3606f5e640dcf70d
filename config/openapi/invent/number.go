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
		return Span{today.AddDate(0, 0, known().Roles[recent].From).Unix(), today.Unix(), 0}, true
	default:
		s, ok := known().Numbers[last]
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
