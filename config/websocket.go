package config

import "time"

// WebSocket is a path at which requests open WebSocket connections, and the messages on these
// connections, for NewWebSockets.
type WebSocket struct {
	Host string // like Host of an Endpoint
	Path string
	If   string // a condition on the handshake request; "" is always true

	Subprotocols []string   // the supported ones, the preferred first
	OnConnect    *Message   `key:"on-connect.response"` // sent once the connection is open
	OnMessage    []Exchange // the first one whose pattern matches a message answers it
	Send         []Send     // messages that are sent unasked
	Close        *Close     // ends the connection; if nil, the client does
	MaxMessage   int        // the largest accepted message in bytes; 0 means the limit of the server
	Doc          Doc        `key:""`
}

// Exchange answers the messages that match a pattern.
type Exchange struct {
	// Pattern is the text itself, an RE2 expression for the whole message, or any other value that
	// encoding/json writes as an object, whose members the message must have.
	Pattern  any
	Response Message
}

// Send is a message that is sent unasked, once or repeatedly.
type Send struct {
	After    time.Duration // since the connection was opened; 0 means as long as Every, AtOnce means none
	Every    time.Duration // the interval, at least a millisecond; 0 sends it once
	Times    int           // the maximum number of times; 0 means as long as the connection lasts
	Response Message
}

// Message is what the server sends on a WebSocket connection: a message, the end of the connection,
// or both.
type Message struct {
	// Body is like Body of a Response. Without a body, a message with Close is not sent, and any
	// other message is empty.
	Body  any
	Bytes []byte `key:"base64"` // used instead of Body if not nil; sent as binary
	Frame string `key:"-"`      // TextFrame or BinaryFrame; "" means the kind of the message it answers, or text
	Raw   bool   `key:"template,false"`
	Close *Close // nil leaves the connection open
}

// Close says how the server ends a WebSocket connection.
type Close struct {
	Code   int           // 0 means 1000
	Reason string        // at most 123 bytes
	After  time.Duration // since the connection was opened; only in WebSocket.Close
}
