package renderer

import (
	"strconv"

	"mockserver/matcher"
)

// crockford is the alphabet of ULIDs: base 32 without I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newULID returns a ULID: the time of the request in milliseconds, and 80 random bits.
func newULID(r *matcher.Request) value {
	start := len(r.Arena)
	at := uint64(r.Now().UnixMilli())
	for shift := 45; shift >= 0; shift -= 5 {
		r.Arena = append(r.Arena, crockford[at>>shift&31])
	}
	for range 2 {
		bits := r.Random.Uint64()
		for shift := 35; shift >= 0; shift -= 5 {
			r.Arena = append(r.Arena, crockford[bits>>shift&31])
		}
	}
	return textValue(since(r, start))
}

// newUUID7 returns a UUID of version 7: the time of the request in milliseconds, and 74 random bits.
func newUUID7(r *matcher.Request) value {
	start := len(r.Arena)
	high := uint64(r.Now().UnixMilli())<<16 | r.Random.Uint64()&0xFFF
	r.Arena = appendUUID(r.Arena, 7, high, r.Random.Uint64())
	return textValue(since(r, start))
}

// maxRandomText is the longest text of random-text and random-hex, in characters.
const maxRandomText = 1024

// The characters of random-hex and random-text.
const (
	hexCharacters  = "0123456789abcdef"
	textCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// randomText returns a text of random characters, whose number is the argument.
func (e *expr) randomText(characters string, r *matcher.Request, fr *frame) value {
	length := e.args[0].eval(r, fr).raw
	fr.spend(len(length), r)
	n, err := strconv.Atoi(string(length))
	if err != nil || n < 1 || n > maxRandomText {
		return value{}
	}
	fr.spend(n, r)
	start := len(r.Arena)
	for range n {
		r.Arena = append(r.Arena, characters[r.Random.IntN(len(characters))])
	}
	return textValue(since(r, start))
}
