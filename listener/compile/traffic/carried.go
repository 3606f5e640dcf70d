// Package traffic controls what endpoints do with requests apart from answering them: rate limits,
// capacities, the choice of outcomes, latency, faults, the seed of random choices, and the state of
// endpoints that a reload carries over.
package traffic

import (
	"crypto/sha256"
	"strings"

	"mockserver/config/item"
)

// Carried holds the state of endpoints that outlives a snapshot: an endpoint that a reload leaves
// unchanged keeps its counters. Only one goroutine at a time may use it.
type Carried struct {
	before, now map[carriedKey]any        // of the snapshots being served and being compiled
	alike       map[[sha256.Size]byte]int // number of equal endpoints in now, by their digest
}

// carriedKey identifies the state of one endpoint.
type carriedKey struct {
	common [sha256.Size]byte // the digest of what equal endpoints have in common
	number int               // the position among equal endpoints, from 1
}

// Begin starts the compilation of a specification.
func (k *Carried) Begin() { k.now, k.alike = map[carriedKey]any{}, map[[sha256.Size]byte]int{} }

// Commit makes the state of the compiled specification the one to carry over.
func (k *Carried) Commit() { k.before, k.now, k.alike = k.now, nil, nil }

// Keep returns the state that an endpoint had in the previous snapshot, or else the result of
// fresh. An endpoint is the same if its method, host, path and condition are the same and, for each
// kind of state, also the text made, from which the state is made. Each of several identical
// endpoints has its own state, assigned in their order.
func Keep[T any](k *Carried, e *item.Endpoint, made string, fresh func() *T) *T {
	common := sha256.Sum256([]byte(strings.Join([]string{made, e.EffectiveMethod(), e.Host, e.Path.Value, e.If.Value}, "\x00")))
	k.alike[common]++
	id := carriedKey{common, k.alike[common]}
	return keep(k, id, fresh)
}

// Shared is like Keep, except that all endpoints of a language model have the same state.
func Shared[T any](k *Carried, e *item.Endpoint, made string, fresh func() *T) *T {
	if e.LLM == nil {
		return Keep(k, e, made, fresh)
	}
	id := carriedKey{common: sha256.Sum256([]byte(strings.Join([]string{made, e.LLM.LLM.Provider, e.Host, e.LLM.Path}, "\x00")))}
	if has, ok := k.now[id].(*T); ok {
		return has
	}
	return keep(k, id, fresh)
}

func keep[T any](k *Carried, id carriedKey, fresh func() *T) *T {
	had, ok := k.before[id].(*T)
	if !ok {
		had = fresh()
	}
	k.now[id] = had
	return had
}
