package traffic

import (
	"bytes"
	"strings"
	"testing"
)

func TestForwardedFor(t *testing.T) {
	for line, want := range map[string]string{
		"203.0.113.9": "203.0.113.9", " 203.0.113.9 , 10.0.0.1": "203.0.113.9", "203.0.113.9:8080,x": "203.0.113.9",
		"2001:db8::1": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", "[2001:db8::1]:443": "2001:db8::1", "2001:DB8:0::1": "2001:db8::1",
		"::ffff:203.0.113.9": "203.0.113.9", "[::ffff:203.0.113.9]:1": "203.0.113.9", "fe80::1%eth0": "fe80::1", "[fe80::1%eth0]:1": "fe80::1",
		"": "", ",203.0.113.9": "", "unknown": "", "_hidden": "", "203.0.113": "", "203.0.113.256": "", "203.0.113.09": "", "203.0.113.9:": "", "203.0.113.9:99999": "",
		"[203.0.113.9]": "", "[2001:db8::1": "", "2001:db8::1]": "", "[]": "", "[": "", ":1": "", "203.0.113.9 10.0.0.1": "", "http://203.0.113.9": "", `"203.0.113.9"`: "",
		"fe80::1%" + strings.Repeat("x", 200): "",
	} {
		got, ok := forwardedFor([]byte(line))
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: got %v, %v, want %q", line, got, ok, want)
		}
	}
}

func FuzzForwardedFor(f *testing.F) {
	for _, line := range []string{"203.0.113.9", "[2001:db8::1]:443, 10.0.0.1", "::ffff:203.0.113.9%a", "unknown", "[", " , "} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		address, ok := forwardedFor(line)
		if !bytes.Equal(line, before) {
			t.Errorf("the key was changed to %q", line)
		}
		if !ok {
			return
		}
		if !address.IsValid() || address.Zone() != "" || address.Is4In6() {
			t.Errorf("got %v", address)
		}
		if again, ok := forwardedFor([]byte(address.String())); again != address || !ok {
			t.Errorf("%v is read as %v", address, again)
		}
		if first, _, _ := bytes.Cut(line, []byte{','}); len(first) > 0 {
			if alone, ok := forwardedFor(first); alone != address || !ok {
				t.Errorf("on its own the key is %v, not %v", alone, address)
			}
		}
	})
}
