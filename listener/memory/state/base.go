package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// pageSize is the size of a page of rows in bytes. A longer row gets a page of its own.
const pageSize = 1 << 20

// maxRows is the maximum number of rows of a base, so that a row number and a position in an index
// fit in 32 bits next to the numbers of inserted rows.
const maxRows = 1 << 30

// Base is an immutable sequence of rows with a table of their keys. It holds no pointers to rows,
// so the garbage collector has nothing to scan, however many rows there are.
//
// In its page, a row is stored as three varints (its length, and the position and length of its
// key), then the key itself unless the JSON text contains it literally, and then the JSON text.
type Base struct {
	pages  [][]byte
	places []uint64 // by row: page<<32 | offset in the page
	table  []uint32 // open addressing: row+1 in the low bits, a tag of the hash in the high ones; 0 is free
	orders []baseOrder
}

// Builder builds a Base, row by row.
type Builder struct{ base Base }

// DuplicateKeyError reports that a row with the same key was added before.
type DuplicateKeyError struct {
	Row int // the row with the same key, counted from 0
}

func (e *DuplicateKeyError) Error() string { return fmt.Sprintf("row %d has the same key", e.Row) }

// Add appends a row; it copies both texts. The error is a *DuplicateKeyError if another row already
// has this key, or another error if there are too many rows.
func (b *Builder) Add(key, json []byte) error {
	n := len(b.base.places)
	if n >= maxRows {
		return fmt.Errorf("more than %d rows", maxRows)
	}
	if (n+1)*4 > len(b.base.table)*3 {
		b.base.grow()
	}
	hash := hashOf(key)
	if row, ok := b.base.find(hash, key); ok {
		return &DuplicateKeyError{int(row)}
	}
	b.put(key, json)
	b.base.note(hash, uint32(n))
	return nil
}

// put appends the bytes of a row to the current page.
func (b *Builder) put(key, json []byte) {
	at := bytes.Index(json[:min(len(json), 4*len(key)+256)], key) // a key is usually near the beginning
	var head [3 * binary.MaxVarintLen64]byte
	h := binary.AppendUvarint(head[:0], uint64(len(json)))
	h = binary.AppendUvarint(h, uint64(at+1))
	h = binary.AppendUvarint(h, uint64(len(key)))
	size := len(h) + len(json)
	if at < 0 {
		size += len(key)
	}
	last := len(b.base.pages) - 1
	if last < 0 || len(b.base.pages[last])+size > cap(b.base.pages[last]) {
		b.clip()
		b.base.pages = append(b.base.pages, make([]byte, 0, max(pageSize, size)))
		last++
	}
	page := b.base.pages[last]
	b.base.places = append(b.base.places, uint64(last)<<32|uint64(len(page)))
	page = append(page, h...)
	if at < 0 {
		page = append(page, key...)
	}
	b.base.pages[last] = append(page, json...)
}

// clip releases the memory after the end of the last page.
func (b *Builder) clip() {
	if last := len(b.base.pages) - 1; last >= 0 && len(b.base.pages[last]) < cap(b.base.pages[last])*7/8 {
		b.base.pages[last] = slices.Clone(b.base.pages[last])
	}
}

// Base returns the base that was built, with an index for each of the members. The builder must not
// be used afterwards.
func (b *Builder) Base(members []*Member) *Base {
	b.clip()
	base := b.base
	base.places = slices.Clip(base.places)
	for _, m := range members {
		base.orders = append(base.orders, newBaseOrder(&base, m))
	}
	return &base
}

// Has reports whether there is a row with a key.
func (b *Base) Has(key []byte) bool {
	_, ok := b.find(hashOf(key), key)
	return ok
}

// Len returns the number of rows.
func (b *Base) Len() int { return len(b.places) }

// grow doubles the size of the table.
func (b *Base) grow() {
	b.table = make([]uint32, max(16, 2*len(b.table)))
	for row := range b.places {
		key, _ := b.row(uint32(row))
		b.note(hashOf(key), uint32(row))
	}
}

// tagOf returns the bits of a hash that are stored in the table with the number of a row, and how
// many low bits the number takes.
func (b *Base) tagOf(hash uint64) (tag uint32, low int) {
	low = bits.Len(uint(len(b.table) - 1))
	return uint32(hash>>32) >> low << low, low
}

// note adds a row to the table.
func (b *Base) note(hash uint64, row uint32) {
	tag, _ := b.tagOf(hash)
	mask := len(b.table) - 1
	i := int(hash) & mask
	for b.table[i] != 0 {
		i = (i + 1) & mask
	}
	b.table[i] = tag | (row + 1)
}

func (b *Base) find(hash uint64, key []byte) (row uint32, ok bool) {
	for i := int(hash); ; i++ {
		if row, i = b.candidate(hash, i); i < 0 {
			return 0, false
		}
		if k, _ := b.row(row); bytes.Equal(k, key) {
			return row, true
		}
	}
}

// candidate returns the next row that may have a key with a hash, and its place in the table, from a
// place on, which is the hash for the first one. The place is -1 if there is none.
func (b *Base) candidate(hash uint64, from int) (row uint32, at int) {
	if len(b.table) == 0 {
		return 0, -1
	}
	tag, low := b.tagOf(hash)
	mask := len(b.table) - 1
	for i := from & mask; b.table[i] != 0; i = (i + 1) & mask {
		if entry := b.table[i]; entry>>low<<low == tag {
			return entry&(1<<low-1) - 1, i
		}
	}
	return 0, -1
}

// row returns the key and the JSON text of a row.
func (b *Base) row(row uint32) (key, json []byte) {
	place := b.places[row]
	return split(b.pages[place>>32][uint32(place):])
}

// split returns the key and the JSON text of the row at the beginning of p.
func split(p []byte) (key, json []byte) {
	size, n := binary.Uvarint(p)
	p = p[n:]
	at, n := binary.Uvarint(p)
	p = p[n:]
	length, n := binary.Uvarint(p)
	p = p[n:]
	if at == 0 {
		return p[:length:length], p[length : length+size : length+size]
	}
	json = p[:size:size]
	return json[at-1 : at-1+length], json
}
