package state

// Change is one change to a set, in the form in which it is saved and loaded.
type Change struct {
	Part     string // the name of the part; also "" for the common one
	Isolated bool   // it is in an isolated part
	Key      []byte
	JSON     []byte // nil: the row is deleted
	Move     *Move  // its next move; nil for none
}

// Changes calls f for all changes until f returns false. The changes of a part are in the order of
// its rows and as of one time.
func (s *Set) Changes(f func(Change) bool) {
	more := s.common.now.Load().changed(Change{}, f)
	s.isolated(func(p *Part) {
		more = more && p.now.Load().changed(Change{Part: p.name, Isolated: true}, f)
	})
}

func (v *version) changed(c Change, f func(Change) bool) bool {
	return v.rows.each(func(r *record) bool {
		c.JSON, c.Move = nil, r.move
		if r.text != nil {
			c.Key, c.JSON = r.key(), r.json()
		} else {
			c.Key, _ = v.base.row(uint32(r.seq))
		}
		return f(c)
	})
}

// All returns the rows of a part in the order of insertion; a nil part is the common one.
func (s *Set) All(part []byte) Rows {
	s.advance()
	return Rows{v: s.current(part), order: insertion}
}

// Get returns the row of a part with a key; a nil part is the common one.
func (s *Set) Get(part, key []byte) Row {
	s.advance()
	return s.current(part).get(key)
}
