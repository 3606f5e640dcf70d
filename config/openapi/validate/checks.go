package validate

// Check checks a request against the operation. It returns nil when the document allows the
// request. It is safe for concurrent use.
func (c *Checks) Check(r *Request) *Verdict {
	var found findings
	c.hold(r, &found)
	return found.verdict()
}

// Checks are the compiled request checks of an operation.
type Checks struct {
	path       pathTemplate
	security   []alternative // a request must satisfy one of them; none when no credentials are required
	parameters []parameter
	body       *body // nil when any body is accepted
}

func (c *Checks) hold(r *Request, found *findings) {
	c.checkSecurity(r, found)
	in := inputOf(c, r)
	for i := range c.parameters {
		c.parameters[i].check(in, found)
	}
	if c.body != nil {
		c.body.check(r, found)
	}
}
