package compile

import "slices"

// isDirect reports whether an answer is made immediately and has only headers that Reply.AppendHead
// handles.
func (a *Response) isDirect() bool { return !a.Disturbed && !a.may((*Response).isSlow) }

// isImmediate reports whether nothing in an answer takes long: no loop, file or webhook.
func (a *Response) isImmediate() bool {
	return a.Source == nil && a.Stream == nil && a.Proxy == nil && len(a.Hooks)+len(a.Lets) == 0 && a.Changes == nil && a.Resource == nil && a.Template.IsBrief()
}

// isPaced reports whether the answer may wait for its latency without its request, over HTTP/1.1.
func (a *Response) isPaced() bool {
	return a.Disturbed && !a.may(func(a *Response) bool { return a.isSlow() || !a.isImmediate() })
}

// isSlow reports whether an answer may wait, or has headers that Reply.AppendHead does not handle.
func (a *Response) isSlow() bool {
	return a.Stream != nil || a.Proxy != nil || a.Source != nil && a.Source.IsRemote() || a.hasSpecial() || a.Status != 0 && (a.Status < 200 || a.Status >= 1000)
}

// may reports whether a condition holds for one of the answers that may be sent instead of this one, which are
// asked first, or for this one.
func (a *Response) may(is func(*Response) bool) bool {
	return slices.ContainsFunc(slices.Concat(a.Outcomes, a.Elses), func(o Response) bool { return o.may(is) }) || is(a)
}
