package renderer_test

import (
	"bytes"
	"cmp"
	"testing"

	"mockserver/internal/json"
	"mockserver/renderer/scalar"
)

// TestAppendOrdered_IsTheOrderOfNumbers compares the ordered forms of each pair of numbers, which
// must agree with Compare.
func TestAppendOrdered_IsTheOrderOfNumbers(t *testing.T) {
	numbers := []string{
		"0", "-0", "0.0", "1", "1.0", "1.00", "01", "+1", "10", "10.5", "100", "99.99", "0.1", "0.01", "0.011", "0.0110", "-1", "-1.5", "-1.51", "-10", "-0.1",
		"1e3", "1000", "1E-3", "0.001", "123456789012345678901234567890", "123456789012345678901234567891", "-123456789012345678901234567890",
		"1e95", "1e96", "1e97", "1e400", "2e400", "-1e400", "1e-95", "1e-96", "1e-97", "1e-400", "-1e-400", "1e999999999999999999", "-1e999999999999999999", "12", "1234", "12345", "123", "1203",
	}
	for _, a := range numbers {
		for _, b := range numbers {
			x, y := scalar.AppendOrdered(nil, []byte(a)), scalar.AppendOrdered(nil, []byte(b))
			if got, want := bytes.Compare(x, y), cmp.Compare(scalar.Compare([]byte(a), []byte(b)), 0); got != want {
				t.Errorf("%s and %s: %d as % x and % x, want %d", a, b, got, x, y, want)
			}
			if bytes.IndexByte(x, 0) >= 0 {
				t.Errorf("%s has a zero byte: % x", a, x)
			}
			for _, most := range []int{8, 512} {
				x, y := scalar.AppendPlain(nil, []byte(a), most), scalar.AppendPlain(nil, []byte(b), most)
				if equal := scalar.Compare([]byte(a), []byte(b)) == 0; bytes.Equal(x, y) != equal || !json.IsNumber(x) || scalar.Compare(x, []byte(a)) != 0 || len(x) > most+32 {
					t.Errorf("%s and %s are %s and %s", a, b, x, y)
				}
			}
		}
	}
}
