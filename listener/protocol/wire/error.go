package wire

// ProtocolError is a violation of the protocol by a client.
type ProtocolError struct {
	Status int // the status of the response to it
	What   string
}

// Error returns What.
func (e *ProtocolError) Error() string { return e.What }

// bad returns a protocol error that is answered with status 400.
func bad(what string) *ProtocolError { return &ProtocolError{400, what} }
