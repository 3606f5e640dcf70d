package dispatcher

import (
	"fmt"
	"time"

	"mockserver/dispatcher/client"
	"mockserver/internal/wheel"
)

// ledger contains every pending delivery under a small number. An entry has no pointers except to
// its own bytes, and most entries have none, so that the garbage collector has little to scan.
type ledger struct {
	entries  wheel.Paged[entry]
	used     uint32 // the largest number ever used; 0 is not an entry
	free     uint32 // the first free entry; 0 if there is none
	webhooks pool[tallied, *form]
	targets  pool[string, *target]
	name     []byte // buffer for the name of a target
	// reasons records why the last attempt failed, for the few entries that wait for another
	// attempt.
	reasons map[uint32]string
}

// tallied is a webhook of which deliveries are counted in one tally.
type tallied struct {
	*Webhook
	*Counters
}

// pool numbers values that entries share, and removes the values that no entry uses anymore.
type pool[K comparable, V any] struct {
	numbers map[K]uint32
	shared  []sharing[K, V]
	free    []uint32
}

type sharing[K comparable, V any] struct {
	key     K
	value   V
	holders int
}

// enter adds a new key, which has no holder yet.
func (p *pool[K, V]) enter(key K, value V) uint32 {
	if p.numbers == nil {
		p.numbers = map[K]uint32{}
	}
	n, last := uint32(len(p.shared)), len(p.free)-1
	if last >= 0 {
		n, p.free = p.free[last], p.free[:last]
	} else {
		p.shared = append(p.shared, sharing[K, V]{})
	}
	p.shared[n] = sharing[K, V]{key: key, value: value}
	p.numbers[key] = n
	return n
}

// hold adds a holder.
func (p *pool[K, V]) hold(n uint32) { p.shared[n].holders++ }

// release removes a holder.
func (p *pool[K, V]) release(n uint32) {
	s := &p.shared[n]
	if s.holders--; s.holders == 0 {
		delete(p.numbers, s.key)
		*s = sharing[K, V]{}
		p.free = append(p.free, n)
	}
}

// at returns the value of a number that has a holder.
func (p *pool[K, V]) at(n uint32) V { return p.shared[n].value }

// add adds a delivery. It returns an error if the URL is invalid.
func (l *ledger) add(a *arrival) (id uint32, err error) {
	w, ok := l.webhooks.numbers[tallied{a.Webhook, a.counters}]
	if !ok {
		f := newForm(a.Webhook)
		f.counters = a.counters
		w = l.webhooks.enter(tallied{a.Webhook, a.counters}, f)
	}
	l.webhooks.hold(w)
	t, err := l.target(l.webhooks.at(w), a.parts)
	if err != nil {
		l.webhooks.release(w)
		return 0, err
	}
	l.targets.hold(t)
	if id = l.free; id != 0 {
		l.free = l.entries.At(id).next
	} else {
		l.used++
		id = l.used
	}
	*l.entries.Grow(id) = entry{due: a.due, parts: a.parts, id: a.id, webhook: w, target: t, depth: uint8(min(a.Depth, 255)), state: waiting}
	return id, nil
}

// target returns the number of the target of a delivery, and enters a new target. It returns an
// error if the URL is invalid.
func (l *ledger) target(f *form, parts []byte) (uint32, error) {
	name, err := f.target, f.err
	if own, _, cut := cutPart(parts); cut == nil && own != nil {
		var at client.Location
		if at, err = client.CutURL(own); err == nil {
			l.name = at.AppendTarget(l.name[:0])
			if t, ok := l.targets.numbers[string(l.name)]; ok { // the conversion does not allocate
				return t, nil
			}
			name = string(l.name)
		}
	}
	if err != nil {
		return 0, err
	}
	t, ok := l.targets.numbers[name]
	if !ok {
		t = l.targets.enter(name, &target{name: name})
	}
	return t, nil
}

func (l *ledger) remove(id uint32) {
	e := l.entries.At(id)
	l.webhooks.release(e.webhook)
	l.targets.release(e.target)
	delete(l.reasons, id)
	*e = entry{next: l.free}
	l.free = id
}

// failed records why an attempt failed. It is called only if another attempt follows.
func (l *ledger) failed(id uint32, reason string) {
	if l.reasons == nil {
		l.reasons = map[uint32]string{}
	}
	l.reasons[id] = reason
}

func (l *ledger) get(id uint32) (*entry, *form, *target) {
	e := l.entries.At(id)
	return e, l.webhooks.at(e.webhook), l.targets.at(e.target)
}

// peek is like get, for a number that may be free.
func (l *ledger) peek(id uint32) (*entry, *form, *target) {
	if e := l.entries.At(id); e.state == free {
		return e, nil, nil
	}
	return l.get(id)
}

// entry is one pending delivery.
type entry struct {
	due     time.Duration // on the queue's clock
	parts   []byte
	id      uint64 // ID in the store; 0 without a store
	next    uint32 // in the list of its target's ready entries, or in the list of free entries
	webhook uint32
	target  uint32
	attempt uint16
	depth   uint8
	state   state
}

// name returns the ID of an entry. Numbers are reused, so the ID includes the due time.
func (e *entry) name(id uint32) string { return fmt.Sprintf("%d-%d", id, int64(e.due)) }

// state is the stage that an entry is in.
type state uint8

const (
	free      state = iota // not a delivery
	waiting                // in the timing wheel
	ready                  // at its target, waiting for a worker
	inFlight               // with a worker
	cancelled              // at its target, but must not be sent
)
