// Package ascii compares and trims the texts of headers and hosts, whose syntax is ASCII.
package ascii

// EqualFold reports whether b equals text, ignoring ASCII case.
func EqualFold(b []byte, text string) bool {
	if len(b) != len(text) {
		return false
	}
	for i := range len(b) {
		if Lower(b[i]) != Lower(text[i]) {
			return false
		}
	}
	return true
}

// Lower returns a letter in lower case, and any other byte unchanged.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// AppendLower appends a text in lower case.
func AppendLower(dst, text []byte) []byte {
	for _, c := range text {
		dst = append(dst, Lower(c))
	}
	return dst
}

// Set returns the set of all letters, digits and the given bytes.
func Set(others string) (set [256]bool) {
	for c := range set {
		lower := c | 0x20
		set[c] = '0' <= c && c <= '9' || 'a' <= lower && lower <= 'z' && c < 0x80
	}
	for _, c := range []byte(others) {
		set[c] = true
	}
	return set
}

// IsBlank reports whether c is a space or a tab.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// TrimBlanks returns b without the blanks around it.
func TrimBlanks(b []byte) []byte {
	for len(b) > 0 && IsBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && IsBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// Unquoted returns b without the double quotes around it, if it has them.
func Unquoted(b []byte) []byte {
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		return b[1 : n-1]
	}
	return b
}

// Hex returns the value of a hexadecimal digit; 255 for anything else.
func Hex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}
