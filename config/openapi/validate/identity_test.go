package validate

import (
	"encoding/json"
	"testing"

	"mockserver/config/openapi/jsonvalue"
)

// Numbers are the same value in any notation, and take no more room than they have digits.
func TestIdentity_OfNumbers(t *testing.T) {
	identity := func(number string) string { return string(jsonvalue.AppendIdentity(nil, json.Number(number))) }
	for _, same := range [][]string{
		{"4", "4.0", "4e0", "40e-1", "0.04E+2"}, {"0", "-0", "0.0", "0e7"}, {"1e500", "10e499", "0.1e501"}, {"-12.5", "-125e-1"}, {"1000000e393", "1e399"},
	} {
		for _, number := range same[1:] {
			if a, b := identity(same[0]), identity(number); a != b || len(a) > 12 {
				t.Errorf("%s is %s, and %s is %s", same[0], a, number, b)
			}
		}
	}
	for _, other := range [][2]string{{"1", "10"}, {"1", "-1"}, {"1.01", "1.1"}, {"1e500", "1e501"}, {"1e9999999999999999999", "1e9999999999999999998"}} {
		if a, b := identity(other[0]), identity(other[1]); a == b {
			t.Errorf("%s and %s are both %s", other[0], other[1], a)
		}
	}
}
