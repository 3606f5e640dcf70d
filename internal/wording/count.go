package wording

import "strconv"

// Count is how many of something there are, in words of a message: "1 endpoint",
// "3 endpoints". One is the word for a single one; others have an s behind it.
func Count[N int | int64](n N, one string) string {
	text := strconv.FormatInt(int64(n), 10) + " " + one
	if n == 1 {
		return text
	}
	return text + "s"
}

// Size is a number of bytes in words of a message: "8 MiB", "1500 bytes".
func Size[N int | int64](n N) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return strconv.FormatInt(int64(n)>>20, 10) + " MiB"
	}
	return Count(n, "byte")
}
