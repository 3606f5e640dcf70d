package renderer

// EqualNumbers tells whether two JSON numbers are the same, however they are written
// and whatever their length.
func EqualNumbers(x, y []byte) bool { return compareNumbers(x, y) == 0 }
