package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"mockserver/config/openapi/jsonvalue"
)

// decodeJSON reads a JSON text, its numbers as they are. The error is for a client.
func decodeJSON(text []byte) (any, error) {
	if isDeep(text) {
		return nil, errDepth
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, checkNumbers(v)
		}
		return nil, errors.New("is not JSON: something follows the value, at byte " + strconv.FormatInt(d.InputOffset(), 10))
	}
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("is not JSON: it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("is not JSON: it ends too early")
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("is not JSON: %w, at byte %d", err, syntax.Offset)
	}
	return nil, fmt.Errorf("is not JSON: %w", err)
}

// maxDepth is how deep the lists and objects of a JSON text may be nested: for each
// violation its place is kept, so that what is wrong at every level costs the square of it.
const maxDepth = 256

var errDepth = fmt.Errorf("is nested more than %d levels deep", maxDepth)

// isDeep reports whether the lists and objects of a text are nested deeper than that. Of
// what is not JSON it tells anything.
func isDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// Bounds of a number's text. The validator reckons with all of its digits, and panics at
// exponents beyond a million.
const (
	maxDigits   = 1000
	maxExponent = 1000
)

var errNumber = fmt.Errorf("has a number of more than %d digits, or an exponent beyond %d", maxDigits, maxExponent)

func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		if !isBounded(v.String()) {
			return errNumber
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func isBounded(number string) bool {
	if len(number) > maxDigits {
		return false
	}
	_, exponent, ok := strings.Cut(strings.ToLower(number), "e")
	if !ok {
		return true
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && -maxExponent <= n && n <= maxExponent
}

// reckonable is a value of a document for the validator.
func reckonable(v any) any { return plain(jsonvalue.Of(v)) }

// plain is a JSON value for the validator: in place of a number that is out of bounds, which
// no request has, it has the nearest float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if !isBounded(string(v)) {
			f, _ := v.Float64() // of one that is too large an infinite one
			return max(-math.MaxFloat64, min(f, math.MaxFloat64))
		}
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = plain(v[i])
		}
		return items
	case *jsonvalue.Object:
		m := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			m[member.Name] = plain(member.Value)
		}
		return m
	}
	return v
}

// encodeJSON is the JSON text of a value that was JSON.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
