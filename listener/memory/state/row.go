package state

import (
	"bytes"
	"hash/maphash"
	"unsafe"
)

// Row is a row as it was at one time. The zero value means that there is no row.
type Row struct {
	Key  []byte // valid forever; must not be modified
	JSON []byte // valid forever; must not be modified
	Seq  uint64 // place in the order of insertion; below the length of the base for its rows

	change *record // nil: the row is as in the base
}

// Found reports whether there is a row.
func (r Row) Found() bool { return r.JSON != nil }

// Move returns the next move of the row, or nil if there is none. A row that no request has written
// has none.
func (r Row) Move() *Move {
	if r.change == nil {
		return nil
	}
	return r.change.move
}

// same reports whether two rows are the same row in the same state.
func (r Row) same(s Row) bool {
	return r.Seq == s.Seq && r.change == s.change && r.Found() == s.Found()
}

// record is a change: a row of the base that was changed or deleted, or a row that was inserted. It
// is immutable once it is in a published version.
type record struct {
	seq      uint64
	text     string // the JSON text, followed by the key unless the text contains it; "" if the row is deleted
	move     *Move  // the next move of the row; nil if none
	size     uint32 // size of the JSON text
	keyAt    uint32 // the position of the key in text
	stamp    uint32 // distinguishes this change to the row from other changes
	keySize  uint16
	inserted bool
}

// newRecord returns the change that writes a row. It copies both texts.
func newRecord(key, json []byte, move *Move) *record {
	at := bytes.Index(json, key)
	size := len(json)
	if at < 0 {
		size += len(key)
	}
	text := append(make([]byte, 0, size), json...)
	if at < 0 {
		at = len(json)
		text = append(text, key...)
	}
	return &record{text: unsafe.String(unsafe.SliceData(text), len(text)), size: uint32(len(json)), keyAt: uint32(at), keySize: uint16(len(key)), move: move}
}

// isDeleted reports whether the change deletes a row of the base.
func (r *record) isDeleted() bool { return r.text == "" }

// bytes returns a part of the text. A string is a word shorter than a slice, which a record of 48
// bytes has no room for.
func (r *record) bytes(from, size int) []byte {
	return unsafe.Slice(unsafe.StringData(r.text[from:]), size)
}

// json returns the JSON text of a row that is not deleted.
func (r *record) json() []byte { return r.bytes(0, int(r.size)) }

// key returns the key of a row that is not deleted.
func (r *record) key() []byte { return r.bytes(int(r.keyAt), int(r.keySize)) }

// row returns the row that was written; the record must not be a deletion.
func (r *record) row() Row { return Row{Key: r.key(), JSON: r.json(), Seq: r.seq, change: r} }

func (r *record) path() uint64 { return r.seq }

func (r *record) count() int {
	switch {
	case r.inserted:
		return 1
	case r.isDeleted():
		return -1
	}
	return 0
}

// Move is a change that a row makes by itself, decided when the row was written. It is immutable.
type Move struct {
	At    int64  // when, in nanoseconds since 1970; 0 for a row that stays as it is
	Entry uint32 // how often the row had entered a value when the move was decided
	To    []byte // the value that the row enters, as a JSON text
}

// seed is the seed of all hashes in this process, so that no client can choose keys that collide.
var seed = maphash.MakeSeed()

func hashOf(key []byte) uint64 { return maphash.Bytes(seed, key) }
