package h2

import (
	"errors"

	"golang.org/x/net/http2"
)

// Errors that end a connection.
var (
	errIdle    = errors.New("the client sent nothing for a long time")
	errSlow    = errors.New("a frame or a header block was not complete in time")
	errDrained = errors.New("the connection was ending, and its last stream has ended")
	errFault   = errors.New("a declared fault ended the connection")
	errPreface = errors.New("the client did not begin with the preface of HTTP/2")
)

func streamError(id uint32, code http2.ErrCode) error {
	return http2.StreamError{StreamID: id, Code: code}
}

const (
	protocolError = http2.ConnectionError(http2.ErrCodeProtocol)
	calm          = http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	flowError     = http2.ConnectionError(http2.ErrCodeFlowControl)
	closedError   = http2.ConnectionError(http2.ErrCodeStreamClosed)
	decodingError = http2.ConnectionError(http2.ErrCodeCompression)
)
