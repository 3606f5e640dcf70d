package record

import (
	"container/list"
	"sync"
	"time"

	"mockserver/matcher"
)

// Miss describes the requests with one method, host and path that matched no endpoint.
type Miss struct {
	Method  string    `json:"method" doc:"method of the requests"`
	Host    string    `json:"host" doc:"host of the requests"`
	Path    string    `json:"path" doc:"path of the requests"` // truncated if it is long
	Status  int       `json:"status" doc:"status of the last response"`
	Code    string    `json:"code" doc:"error code of the last response"`
	Reason  string    `json:"reason" doc:"why no endpoint matched the last one"`
	Nearest string    `json:"nearest" doc:"the endpoint that is most similar to the last one; empty if none is similar"`
	Count   uint64    `json:"count" doc:"number of such requests"`
	First   time.Time `json:"first" doc:"when the first one arrived"`
	Last    time.Time `json:"last" doc:"when the last one arrived"`
}

// Misses holds the requests that matched no endpoint, one entry for each method, host and path. The
// number of entries is limited: the entry whose last request is the oldest makes room for a new
// one.
type Misses struct {
	mu    sync.Mutex // guards the fields below
	known map[unmatchedKey]*list.Element
	order list.List // list of *Miss, the latest first
	kinds uint64    // how many entries have been added
}

type unmatchedKey struct{ method, host, path string }

const (
	// maxUnmatched is the maximum number of entries, and keptPath the maximum size of the path of
	// each, in bytes: an entry with its reason takes at most 3 KiB, and all of them 4 MiB.
	maxUnmatched = 1000
	keptPath     = 512
)

// Add counts a request that matched no endpoint, and stores the reason and the
// nearest endpoint.
func (m *Misses) Add(r *matcher.Request, code string, status int, reason, near string) {
	k := unmatchedKey{cutText(r.Method(), 64), cutText(r.Host(), 256), cutText(r.Path(), keptPath)}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now().UTC()
	e := m.known[k]
	if e == nil {
		e = m.order.PushFront(&Miss{Method: k.method, Host: k.host, Path: k.path, First: now})
		if m.known == nil {
			m.known = map[unmatchedKey]*list.Element{}
		}
		m.known[k] = e
		m.kinds++
		if m.order.Len() > maxUnmatched {
			last := m.order.Remove(m.order.Back()).(*Miss)
			delete(m.known, unmatchedKey{last.Method, last.Host, last.Path})
		}
	} else {
		m.order.MoveToFront(e)
	}
	miss := e.Value.(*Miss)
	miss.Count++
	miss.Last, miss.Status, miss.Code, miss.Nearest = now, status, code, near
	miss.Reason = cutText([]byte(reason), keptReason)
}

// All returns copies of all entries, the latest first.
func (m *Misses) All() []Miss {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Miss, 0, m.order.Len())
	for e := m.order.Front(); e != nil; e = e.Next() {
		all = append(all, *e.Value.(*Miss))
	}
	return all
}

// distinct returns how many different misses there have been.
func (m *Misses) distinct() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kinds
}

// Reset removes all entries.
func (m *Misses) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.kinds = nil, 0
	m.order.Init()
}
