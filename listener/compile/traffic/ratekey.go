package traffic

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"unsafe"

	"mockserver/matcher"
)

// limitKey defines how the clients of a rate limit are distinguished.
type limitKey struct {
	from      keySource
	name      string // name of the header or query parameter
	param     int    // the position of the path parameter
	forwarded bool   // X-Forwarded-For is trusted
	seeds     [2]maphash.Seed
}

// keySource is the part of a request that is used as the key.
type keySource uint8

const (
	keyAddress keySource = iota
	keyHost
	keyHeader
	keyQuery
	keyPath
)

// newLimitKey parses the value of key-fn for an endpoint whose path has the given parameters.
func newLimitKey(by string, params []string, forwarded bool) limitKey {
	key := limitKey{forwarded: forwarded, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	kind, name, dotted := strings.Cut(by, ".")
	switch {
	case by == "" || by == "remote-addr":
	case by == "host":
		key.from = keyHost
	case dotted && kind == "header-params":
		key.from, key.name = keyHeader, name
	case dotted && kind == "query-params":
		key.from, key.name = keyQuery, name
	case dotted && kind == "path-params":
		key.from, key.param = keyPath, slices.Index(params, name)
	default:
		key.from, key.name = keyHeader, by
	}
	return key
}

// of returns the key of a request. All requests without the header or the parameter share one key,
// that of an empty value.
func (k *limitKey) of(r *matcher.Request) quotaKey {
	var text []byte
	switch k.from {
	case keyHost:
		text = r.HostName()
	case keyHeader:
		text, _ = r.Header(k.name)
	case keyQuery:
		text, _ = r.Query(k.name)
	case keyPath:
		text = r.Param(k.param)
	default:
		address := clientAddress(r, k.forwarded).As16()
		text = append(r.Line[:0], address[:]...)
		r.Line = text
	}
	return k.hash(text)
}

// hash hashes a text of any length to 128 bits. A client cannot know which other texts have the
// same hash, because the seeds are the server's own.
func (k *limitKey) hash(text []byte) (sum quotaKey) {
	for i, seed := range k.seeds {
		binary.LittleEndian.PutUint64(sum[8*i:], maphash.Bytes(seed, text))
	}
	return sum
}

// clientAddress returns the address that a request comes from: the first one in X-Forwarded-For if
// the header is trusted and begins with an address, or else the peer's.
func clientAddress(r *matcher.Request, forwarded bool) netip.Addr {
	if forwarded {
		line, _ := r.Header("X-Forwarded-For")
		if address, ok := forwardedFor(line); ok {
			return address
		}
	}
	return r.RemoteIP()
}

// longestAddress is the maximum length of an address with a port:
// [ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%zone]:65535, for short zones.
const longestAddress = 100

// forwardedFor returns the first address of a line of X-Forwarded-For: IPv4 or IPv6, the latter
// with or without brackets, with or without a port. An IPv4 address written as IPv6 counts as the
// IPv4 address; a zone, which has no meaning on other machines, is removed.
func forwardedFor(line []byte) (address netip.Addr, ok bool) {
	first, _, _ := bytes.Cut(line, []byte{','})
	first = bytes.Trim(first, " \t")
	if len(first) == 0 || len(first) > longestAddress {
		return netip.Addr{}, false
	}
	text := unsafe.String(unsafe.SliceData(first), len(first)) // valid during the parsing
	last := len(text) - 1
	bracketed := text[0] == '['
	var err error
	switch colons := strings.Count(text, ":"); {
	case bracketed && text[last] == ']' && colons > 0: // brackets are for IPv6
		address, err = netip.ParseAddr(text[1:last])
	case bracketed || colons == 1:
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(text)
		address = withPort.Addr()
	default:
		address, err = netip.ParseAddr(text)
	}
	if err != nil {
		return netip.Addr{}, false
	}
	return address.WithZone("").Unmap(), true
}
