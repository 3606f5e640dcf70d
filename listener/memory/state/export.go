package state

// Change is one change to a set, in the form in which changes are saved and loaded.
type Change struct {
	Part     string // the name of the part; also "" for the common one
	Isolated bool   // the part is an isolated one
	Key      []byte
	JSON     []byte // nil: the row is deleted or, if Taken is true, as in the base
	Taken    bool   // see Tx.Take
	Move     *Move  // its next move; nil if none
}

// Changes calls f for all changes until f returns false. The changes to one part come in the order
// of its rows and are as they were at one time.
func (s *Set) Changes(f func(Change) bool) {
	more := s.common.now.Load().changed(Change{}, f)
	s.isolated(func(p *Part) {
		more = more && p.now.Load().changed(Change{Part: p.name, Isolated: true}, f)
	})
}

func (v *version) changed(c Change, f func(Change) bool) bool {
	return v.rows.each(func(r *record) bool {
		c := c
		c.Move = r.move
		if !r.isDeleted() {
			c.Key, c.JSON, c.Taken = r.key(), r.json(), !v.isFree(r.seq)
		} else {
			c.Key, _ = v.base.row(uint32(r.seq))
		}
		return f(c)
	}) && v.taken(func(row Row) bool {
		c.Key, c.Taken = row.Key, true
		return row.change != nil || f(c)
	})
}

// All returns the rows of a part in the order of insertion; nil stands for the common part.
func (s *Set) All(part []byte) Rows {
	s.advance()
	return Rows{v: s.current(part), order: insertion}
}

// Get returns the row with a key in a part; nil stands for the common part.
func (s *Set) Get(part, key []byte) Row {
	s.advance()
	return s.current(part).get(key)
}
