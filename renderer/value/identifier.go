package value

import "mockserver/matcher"

// crockford is the alphabet of ULIDs: base 32 without I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// appendUUID appends the UUID with the given version and the bits of two numbers.
func appendUUID(dst []byte, version, high, low uint64) []byte {
	high = high&^0xF000 | version<<12
	low = low&^(3<<62) | 2<<62
	const hexDigits = "0123456789abcdef"
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			dst = append(dst, '-')
		}
		word := high
		if i >= 16 {
			word = low
		}
		dst = append(dst, hexDigits[word>>(60-4*(i%16))&15])
	}
	return dst
}

// UUID4 returns a random UUID (version 4).
func UUID4(r *matcher.Request) Value {
	return Appended(r, appendUUID(r.Arena, 4, r.Random.Uint64(), r.Random.Uint64()))
}

// ULID returns a ULID: the time of the request in milliseconds, and 80 random bits.
func ULID(r *matcher.Request) Value {
	arena, at := r.Arena, uint64(r.Now().UnixMilli())
	for shift := 45; shift >= 0; shift -= 5 {
		arena = append(arena, crockford[at>>shift&31])
	}
	for range 2 {
		bits := r.Random.Uint64()
		for shift := 35; shift >= 0; shift -= 5 {
			arena = append(arena, crockford[bits>>shift&31])
		}
	}
	return Appended(r, arena)
}

// UUID7 returns a UUID of version 7: the time of the request in milliseconds, and 74 random bits.
func UUID7(r *matcher.Request) Value {
	high := uint64(r.Now().UnixMilli())<<16 | r.Random.Uint64()&0xFFF
	return Appended(r, appendUUID(r.Arena, 7, high, r.Random.Uint64()))
}
