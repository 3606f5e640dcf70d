package renderer

import (
	"strconv"

	"mockserver/matcher"
	"mockserver/renderer/value"
)

// maxRandomText is the longest text of random-text and random-hex, in characters.
const maxRandomText = 1024

// The characters of random-hex and random-text.
const (
	hexCharacters  = "0123456789abcdef"
	textCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// randomText returns a text of random characters. The argument is the number of characters.
func (e *expr) randomText(characters string, r *matcher.Request, fr *frame) value.Value {
	length := e.args[0].eval(r, fr).Raw
	fr.spend(len(length), r)
	n, err := strconv.Atoi(string(length))
	if err != nil || n < 1 || n > maxRandomText {
		return value.Value{}
	}
	fr.spend(n, r)
	start := len(r.Arena)
	for range n {
		r.Arena = append(r.Arena, characters[r.Random.IntN(len(characters))])
	}
	return value.Appended(r, start)
}
