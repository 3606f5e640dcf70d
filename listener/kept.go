package listener

import (
	"strconv"
	"strings"

	"mockserver/config"
)

// kept is the state of endpoints, which outlives snapshots: an endpoint that a reload
// leaves as it is goes on with what it had.
type kept struct {
	before, now map[string]any // of the snapshot that is served, and of the one that is compiled
	alike       map[string]int // endpoints of the latter, by what they have in common
}

// begin is called before a specification is compiled, and commit once it is served.
func (k *kept) begin() { k.now, k.alike = map[string]any{}, map[string]int{} }

func (k *kept) commit() { k.before, k.now, k.alike = k.now, nil, nil }

// keep returns what an endpoint had in the snapshot before, or else what fresh makes. An
// endpoint is the same if its method, host, path and condition are, and for each kind
// of state what that is made from, which is given as a text. Of several that are the
// same, each has its own, in their order.
func keep[T any](k *kept, e *config.Endpoint, made string, fresh func() *T) *T {
	name := strings.Join([]string{made, e.EffectiveMethod(), e.Host, e.Path.Value, e.If.Value}, "\x00")
	k.alike[name]++
	name += "\x00" + strconv.Itoa(k.alike[name])
	had, ok := k.before[name].(*T)
	if !ok {
		had = fresh()
	}
	k.now[name] = had
	return had
}
