package data

import (
	"sync/atomic"

	"mockserver/listener/record"
	"mockserver/listener/reply"
	"mockserver/listener/state"
)

// operation is what is done with a set by requests.
type operation uint8

// All operations. Those of resources are counted as what they do: create is insert, replace put,
// change merge, remove delete, and read find.
const (
	opFind operation = iota
	opList
	opInsert
	opPut
	opMerge
	opAdd
	opDelete
	operations
)

var operationNames = [operations]string{"find", "list", "insert", "put", "merge", "add", "delete"}

// operationOf returns the operation of a change, or of a resource.
var operationOf = map[string]operation{
	"insert": opInsert, "put": opPut, "merge": opMerge, "add": opAdd, "delete": opDelete,
	"list": opList, "read": opFind, "create": opInsert, "replace": opPut, "change": opMerge, "remove": opDelete,
}

// results are how operations end: well, without a row that is no error, or as the code of an error
// says. The last one is any other.
var results = [...]string{
	"ok", "missing", reply.RowNotFound.Code, reply.KeyExists.Code, reply.OutOfBounds.Code, reply.StateFull.Code, reply.BadJSON.Code, reply.TooManyRows.Code, "refused",
}

const (
	resultOK = iota
	resultMissing
)

// tally counts the operations on a set. It goes on when a reload replaces the set.
type tally [operations][len(results)]atomic.Uint64

func (t *tally) note(o operation, result int) { t[o][result].Add(1) }

// failed notes that an operation ended with an error.
func (t *tally) failed(o operation, f reply.Failure) {
	result := len(results) - 1
	for i := range results {
		if results[i] == f.Code {
			result = i
		}
	}
	t.note(o, result)
}

// Figures returns the figures of all sets, in the order of their names.
func (s *Sets) Figures() []record.SetCounts {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	var all []record.SetCounts
	for _, set := range s.store.Sets() {
		f := set.Figures()
		c := record.SetCounts{
			Name: set.Name, Rows: f.Rows, Base: f.Base, Changes: f.Changes, Parts: f.Parts, Bytes: f.Bytes,
			Conflicts: f.Conflicts, GivenUp: f.GivenUp, Moves: set.Moves(),
		}
		if known := current[set.Name]; known != nil {
			c.Operations = known.tally.list()
		}
		all = append(all, c)
	}
	return all
}

// list returns the operations that there were.
func (t *tally) list() (all []record.SetOperation) {
	for o := range t {
		for result := range t[o] {
			if n := t[o][result].Load(); n > 0 {
				all = append(all, record.SetOperation{Operation: operationNames[o], Result: results[result], Count: n})
			}
		}
	}
	return all
}

// Changes calls f for the changes of a set, until it returns false. The error is ErrNoSet.
func (s *Sets) Changes(name string, f func(state.Change) bool) error {
	set := s.store.Set(name)
	if set == nil {
		return ErrNoSet
	}
	set.Changes(f)
	return nil
}
