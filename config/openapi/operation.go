package openapi

import "mockserver/config/openapi/validate"

// Checked reports whether requests can be held against the operation: whether it was
// loaded for that.
func (o *Operation) Checked() bool { return o.checks != nil }

// Check holds a request against the operation. It returns nil when the request is
// what the document accepts, or the operation is not Checked. It may be called by
// many goroutines at once.
func (o *Operation) Check(r *validate.Request) *validate.Verdict {
	if o.checks == nil {
		return nil
	}
	return o.checks.Check(r)
}
