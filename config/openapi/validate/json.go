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
	"mockserver/internal/list"
)

// decodeJSON decodes a JSON text. Numbers keep their digits. The error text is meant for clients.
func decodeJSON(text []byte) (any, error) {
	if err := checkBounds(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		return nil, errors.New("is not JSON: text follows the value, at byte " + strconv.FormatInt(d.InputOffset(), 10))
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

// Limits for JSON texts. Each violation stores its location, so the cost of violations at every
// level is quadratic in the depth. Arithmetic uses all digits, and an exponent stands for as many.
const (
	maxDepth    = 256
	maxDigits   = 1000
	maxExponent = 1000
)

var (
	errDepth  = fmt.Errorf("is nested more than %d levels deep", maxDepth)
	errNumber = fmt.Errorf("has a number of more than %d digits, or an exponent beyond %d", maxDigits, maxExponent)
)

// checkBounds returns an error if a JSON text is nested too deep, or has a number with which
// arithmetic would take too long. The result is arbitrary if the text is not JSON.
func checkBounds(text []byte) error {
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
				return errDepth
			}
		case c == ']' || c == '}':
			depth--
		case c >= '0' && c <= '9':
			rest := bytes.TrimLeft(text[i:], "0123456789.eE+-")
			number := text[i : len(text)-len(rest)]
			if i += len(number) - 1; !isBounded(string(number)) {
				return errNumber
			}
		}
	}
	return nil
}

func isBounded(number string) bool {
	if len(number) > maxDigits {
		return false
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return true
	}
	n, err := strconv.Atoi(number[i+1:])
	return err == nil && -maxExponent <= n && n <= maxExponent
}

// plain converts a JSON value for the validator. A number beyond the limits, which is rejected in
// requests, is replaced with the nearest float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if !isBounded(string(v)) {
			f, _ := v.Float64() // infinite if the number is too large
			return max(-math.MaxFloat64, min(f, math.MaxFloat64))
		}
	case []any:
		return list.Map(v, plain)
	case *jsonvalue.Object:
		m := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			m[member.Name] = plain(member.Value)
		}
		return m
	}
	return v
}
