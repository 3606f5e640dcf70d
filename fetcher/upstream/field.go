package upstream

import (
	"bytes"
	"slices"

	"mockserver/internal/http1"
)

// Field is a header of an answer. It is valid until the exchange is closed.
type Field struct{ Name, Value []byte }

// isConnection reports whether a header concerns only one connection, or is written by the proxy.
func isConnection(name []byte) bool {
	switch len(name) {
	case 2:
		return http1.IsName(name, "te")
	case 4:
		return http1.IsName(name, "host")
	case 6:
		return http1.IsName(name, "expect")
	case 7:
		return http1.IsName(name, "trailer") || http1.IsName(name, "upgrade")
	case 10:
		return http1.IsName(name, "connection") || http1.IsName(name, "keep-alive")
	case 14:
		return http1.IsName(name, "content-length") || http1.IsName(name, "http2-settings")
	case 16:
		return http1.IsName(name, "proxy-connection")
	case 17:
		return http1.IsName(name, "transfer-encoding")
	}
	return false
}

// IsHopByHop reports whether a header concerns only one connection, or is written again for each
// connection. named contains the names in the Connection headers.
func IsHopByHop(name []byte, named [][]byte) bool {
	return isConnection(name) || isNamed(name, named)
}

func isNamed(name []byte, all [][]byte) bool {
	return slices.ContainsFunc(all, func(one []byte) bool { return bytes.EqualFold(name, one) })
}
