package compile

// isDirect reports whether an answer is made immediately and has only headers that Reply.AppendHead
// handles.
func (a *Response) isDirect() bool { return !a.Disturbed && !a.may((*Response).isSlow) }

// isSlow reports whether an answer may wait, or has headers that Reply.AppendHead does not handle.
func (a *Response) isSlow() bool {
	return a.waits || a.Proxy != nil || a.Source != nil && a.Source.IsRemote() || a.hasSpecial() || a.Status != 0 && (a.Status < 200 || a.Status >= 1000)
}

// may reports whether a condition holds for the answer, or for one that may be sent instead of it.
func (a *Response) may(is func(*Response) bool) bool {
	for i := range a.Outcomes {
		if a.Outcomes[i].may(is) {
			return true
		}
	}
	for i := range a.Elses {
		if is(&a.Elses[i]) {
			return true
		}
	}
	return is(a)
}
