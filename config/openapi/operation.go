package openapi

import "mockserver/config/openapi/validate"

// Checked reports whether the operation was loaded with checks for requests.
func (o *Operation) Checked() bool { return o.checks != nil }

// Check validates a request. It returns nil when the document allows the request, or when the
// operation has no checks; see Checked. It is safe for concurrent use.
func (o *Operation) Check(r *validate.Request) *validate.Verdict {
	if o.checks == nil {
		return nil
	}
	return o.checks.Check(r)
}
