package data

import (
	"sync/atomic"

	"mockserver/listener/observe/record"
	"mockserver/listener/reply"
)

// operation is a kind of access to a set.
type operation uint8

// All operations. Operations of resources count as the operation that they perform: create as
// insert, replace as put, change as merge, remove as delete, and read as find.
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

// operationOf contains the operation of each verb of a change, and of each operation of a resource.
var operationOf = map[string]operation{
	"insert": opInsert, "put": opPut, "merge": opMerge, "add": opAdd, "delete": opDelete,
	"list": opList, "read": opFind, "create": opInsert, "replace": opPut, "change": opMerge, "remove": opDelete,
}

// results are the possible results of operations: success, a missing row where this is not an
// error, or the code of an error. The last result stands for all other codes.
var results = [...]string{
	"ok", "missing", reply.RowNotFound.Code, reply.KeyExists.Code, reply.OutOfBounds.Code, reply.StateFull.Code, reply.BadJSON.Code, reply.TooManyRows.Code, "refused",
}

const (
	resultOK = iota
	resultMissing
)

// counters holds the counts of operations on a set. Counting continues when a reload replaces the
// set.
type counters [operations][len(results)]atomic.Uint64

func (t *counters) note(o operation, result int) { t[o][result].Add(1) }

// failed counts an operation that failed with an error.
func (t *counters) failed(o operation, f reply.Failure) {
	result := len(results) - 1
	for i := range results {
		if results[i] == f.Code {
			result = i
		}
	}
	t.note(o, result)
}

// list returns the operations that have occurred.
func (t *counters) list() record.Operations {
	all := record.Operations{}
	for o := range t {
		for result := range t[o] {
			if n := t[o][result].Load(); n > 0 {
				all.Add(operationNames[o], results[result], n)
			}
		}
	}
	return all
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
			Conflicts: f.Conflicts, GivenUp: f.GivenUp, Moves: set.Moves(), Operations: record.Operations{},
		}
		if known := current[set.Name]; known != nil {
			c.Operations = known.counters.list()
		}
		all = append(all, c)
	}
	return all
}
