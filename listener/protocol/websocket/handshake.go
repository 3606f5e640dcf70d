package websocket

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

const keyField = "Sec-WebSocket-Key"

// Asks reports whether a request is for a WebSocket connection, valid or not.
func Asks(r *matcher.Request) bool {
	return string(r.In.Method) == "GET" && hasOption(r, "Upgrade", "websocket")
}

// hasOption reports whether one of the options in a header is option, regardless of case.
func hasOption(r *matcher.Request, name, option string) bool {
	return slices.ContainsFunc(options(r, name), func(one []byte) bool { return ascii.EqualFold(one, option) })
}

// options returns the items of a header whose value is a list.
func options(r *matcher.Request, name string) (all [][]byte) {
	for line := range r.In.Header.Values(name) {
		all = slices.AppendSeq(all, http1.Options(line))
	}
	return all
}

// Accept makes p the response to the handshake of r, and reports whether the connection
// becomes a WebSocket.
func (k *Socket) Accept(r *matcher.Request, p *reply.Reply) bool {
	if f, what := handshakeError(r); what != "" {
		f.Write(p, what)
		if f.Status == reply.UpgradeRequired.Status {
			askForUpgrade(p)
		}
		return false
	}
	key, _ := r.Header(keyField)
	p.Status = 101
	p.Add("Upgrade", "websocket")
	p.Add("Connection", "Upgrade")
	p.Add("Sec-Websocket-Accept", acceptance(key))
	if name := k.subprotocol(r); name != "" {
		p.Add("Sec-Websocket-Protocol", name)
	}
	return true
}

// handshakeError returns what is wrong with a handshake, or "" if nothing is.
func handshakeError(r *matcher.Request) (f reply.Failure, what string) {
	text, keys := only(r.In.Header.Values(keyField))
	key, err := base64.StdEncoding.DecodeString(string(text))
	version, versions := only(r.In.Header.Values("Sec-WebSocket-Version"))
	switch {
	case r.In.Protocol == matcher.HTTP10:
		return reply.BadHandshake, "a WebSocket needs HTTP/1.1; the request is HTTP/1.0"
	case hasOption(r, "Connection", "close") || !hasOption(r, "Connection", "upgrade"):
		return reply.BadHandshake, "a WebSocket needs Connection: Upgrade; a proxy in between may have removed it"
	case keys != 1 || err != nil || len(key) != 16:
		return reply.BadHandshake, "the Sec-WebSocket-Key is not the base64 text of 16 bytes"
	case versions != 1:
		return reply.BadHandshake, "there is no Sec-WebSocket-Version, or more than one; expected 13"
	case string(version) != "13":
		return reply.UpgradeRequired, fmt.Sprintf("version %s of WebSocket is not supported; expected 13", wording.Clip(string(version)))
	case len(r.In.Body) > 0:
		return reply.BadHandshake, "a request for a WebSocket must not have a body"
	}
	return reply.Failure{}, ""
}

// only returns the first value of a header, and the number of values.
func only(values iter.Seq[[]byte]) (first []byte, n int) {
	for value := range values {
		if n == 0 {
			first = value
		}
		n++
	}
	return first, n
}

// acceptance returns the value that proves that a key was understood, RFC 6455 section 4.2.2.
func acceptance(key []byte) string {
	sum := sha1.Sum(append(key[:len(key):len(key)], "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// subprotocol returns the first declared subprotocol that the client offers. If the result is "",
// the client may end the connection.
func (k *Socket) subprotocol(r *matcher.Request) string {
	offered := options(r, "Sec-WebSocket-Protocol")
	for _, name := range k.subprotocols {
		if slices.ContainsFunc(offered, func(one []byte) bool { return string(one) == name }) {
			return name
		}
	}
	return ""
}

// RequireUpgrade makes p the reply to a request for the path of a WebSocket that does not request
// one, and returns its message.
func RequireUpgrade(r *matcher.Request, p *reply.Reply) (message string) {
	message = string(r.Method()) + " " + string(r.Path()) + " is the path of a WebSocket; expected GET with Upgrade: websocket"
	reply.UpgradeRequired.Write(p, message)
	askForUpgrade(p)
	return message
}

// askForUpgrade adds the headers that tell a client what it must request.
func askForUpgrade(p *reply.Reply) {
	p.Add("Upgrade", "websocket")
	p.Add("Connection", "Upgrade")
	p.Add("Sec-Websocket-Version", "13")
}
