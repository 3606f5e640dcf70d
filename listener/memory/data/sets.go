// Package data lets endpoints find and change the rows of sets.
//
// The sets of a server outlive the specification that declares them: a reload keeps the changes
// that requests have made. An endpoint uses the sets through an Access, which finds the rows that
// the endpoint names while the endpoint is matched, and through Changes, which are made together
// with its response. The reads and changes of one request form one transaction of package state,
// stored with the request.
package data

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/listener/memory/state"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Sets holds all sets of a server. Begin, Compile and Commit may only be called by one goroutine at
// a time; all other methods may be called from any goroutine.
type Sets struct {
	store    *state.Store
	log      *slog.Logger
	seed     uint64         // seed of moves
	scope    renderer.Scope // for the texts of moves
	webhooks Webhooks

	mu      sync.Mutex // guards the fields below, and what the sets know about their files
	current map[string]*set
	next    map[string]*set // set while a specification is compiled

	hashed    map[string][][]string       // what the specification being compiled picks by hash
	referred  map[string][]*item.Resource // whose rows each set of it refers to
	scenarios map[string]*scenario        // scenarios of the specification being compiled
	turns     map[pickOf]*state.Turns     // across reloads
	snapshots []snapshot

	done    chan struct{} // closed by Close
	closing sync.Once
	running sync.WaitGroup // for the goroutines that check files, drop old changes and make moves
	started bool           // guarded by mu
}

// Options contains what sets need from their server.
type Options struct {
	Memory   int64 // maximum size of the changes in bytes; 0 means no bound
	Log      *slog.Logger
	Seed     *uint64        // seed of moves; nil if they need not be repeatable
	Scope    renderer.Scope // for the texts of moves
	Webhooks Webhooks
}

// New returns an empty collection of sets.
func New(o Options) *Sets {
	seed := rand.Uint64()
	if o.Seed != nil {
		seed = *o.Seed
	}
	return &Sets{
		store: state.New(o.Memory), log: o.Log, seed: matcher.Mix(seed), scope: o.Scope, webhooks: o.Webhooks,
		current: map[string]*set{}, turns: map[pickOf]*state.Turns{}, done: make(chan struct{}),
	}
}

// Store returns the rows and their changes.
func (s *Sets) Store() *state.Store { return s.store }

// Begin reads the sets of a specification. It does not reread sets that are unchanged since the
// last Commit.
func (s *Sets) Begin(spec *config.Spec) syntax.Problems {
	var problems syntax.Problems
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = map[string]*set{}
	s.hashed = hashed(spec)
	resources, written := resourcesOf(spec), writtenSets(spec)
	s.referred = referredBy(resources)
	for i := range spec.Data {
		d := new(spec.Data[i])
		for _, r := range resources[d.Name] {
			d.OfResource(r)
		}
		if first := s.next[d.Name]; first != nil {
			problems = append(problems, syntax.Problem{Pos: d.Pos, Key: d.Key + ".name",
				What: fmt.Sprintf("%q is the name of another set, at %s; expected a unique name", d.Name, first.declared.Pos)})
			continue
		}
		made, wrong := s.declare(d, "row")
		problems = append(append(problems, wrong...), doubtSteps(d, written[d.Name])...)
		s.next[d.Name] = made
	}
	problems = append(append(problems, s.declareScenarios(spec)...), s.doubtStates(spec)...)
	for i := range spec.Broken.Data {
		if d := &spec.Broken.Data[i]; s.next[d.Name] == nil { // so that its uses are not reported
			s.next[d.Name] = &set{declared: *d}
		}
	}
	return problems
}

// resourcesOf returns the resources over each set, by its name.
func resourcesOf(spec *config.Spec) map[string][]*item.Resource {
	all := map[string][]*item.Resource{}
	for _, endpoints := range [][]item.Endpoint{spec.Endpoints, spec.Broken.Endpoints} {
		var last *item.Resource
		for i := range endpoints {
			if o := endpoints[i].Resource; o != nil && o.Resource != last { // its operations follow each other
				last = o.Resource
				all[o.Set] = append(all[o.Set], last)
			}
		}
	}
	return all
}

// declare returns a set. It reads the rows of the set again unless the declaration and the file are
// certainly unchanged. name is the name of a row in the texts of the set's moves.
func (s *Sets) declare(d *item.Data, name string) (*set, syntax.Problems) {
	made := &set{declared: *d, key: strings.Split(d.EffectiveMember(), "."), hashed: s.hashed[d.Name], counters: &counters{}}
	made.print = fmt.Sprintf("%s %q", d.Fingerprint(), made.hashed)
	if known := s.current[d.Name]; known != nil {
		made.counters = known.counters
	}
	var problems, wrong syntax.Problems
	made.made, problems = compileNewKeys(d)
	made.steps, wrong = s.compileSteps(made, name)
	problems = append(append(problems, wrong...), doubtFixed(d.Isolate)...)
	made.addMembers()
	made.options = state.Options{Oldest: d.Full == item.FullOldest, TTL: d.TTL}
	if l := d.Limit; l != nil {
		made.options.Limit = state.Limit{Rows: int64(l.Rows), Memory: int64(l.Memory)}
	}
	if known := s.current[d.Name]; known != nil && known.print == made.print && known.settled && known.seen.Same(made.look()) {
		made.Set, made.base, made.seen, made.made, made.settled, made.sum = known.Set, known.base, known.seen, known.made, true, known.sum
		return made, problems
	}
	if known := s.current[d.Name]; known != nil {
		made.Set, made.made.largest = known.Set, known.made.largest // rows may have been added
	}
	var base *state.Base
	base, wrong = made.read()
	made.base, made.anew = base, true
	return made, append(problems, wrong...)
}

// Commit makes the sets that Begin has read the current ones. The changes to a set stay, unless the
// set is gone, or its rows were read again and the set is declared to drop its changes then.
func (s *Sets) Commit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, made := range s.next {
		var mover state.Mover
		if made.steps != nil {
			mover = made.steps.move
		}
		made.SetMover(mover)
		known := s.current[name]
		switch {
		case known == nil:
			s.store.Attach(made.Set)
		case made.anew:
			made.Declare(made.options, made.base, made.declared.OnChange != item.ChangeReset)
		}
	}
	for name := range s.current {
		if s.next[name] == nil {
			s.store.Remove(name)
		}
	}
	s.current, s.next = s.next, nil
	if len(s.current) > 0 && !s.started {
		s.started = true
		s.running.Go(s.run)
		s.running.Go(s.makeMoves)
	}
}

// Close stops the goroutines that Commit has started. Rows may still be found and changed. Close
// may be called again.
func (s *Sets) Close() {
	s.closing.Do(func() { close(s.done) })
	s.running.Wait()
}

// find returns the set that an endpoint names, or the problem with the name.
func (s *Sets) find(name syntax.Text) (*set, syntax.Problems) {
	if found := s.next[name.Value]; found != nil {
		return found, nil
	}
	return nil, unknown("set", name, s.next, "expected the name of a data item, but there are none")
}

// unknown returns the problem with a name that is none of the declared ones; none is what to say if
// there are none.
func unknown[T any](kind string, name syntax.Text, all map[string]T, none string) syntax.Problems {
	names := slices.Sorted(maps.Keys(all))
	if len(names) > 0 {
		none = kind + "s are " + strings.Join(names, ", ")
	}
	return syntax.Problems{{Pos: name.Pos, Key: name.Key,
		What: fmt.Sprintf("there is no %s %q%s; %s", kind, wording.Clip(name.Value), wording.DidYouMean(name.Value, names), none)}}
}

// into returns a function that passes on what was compiled, and adds its problems to a list.
func into[T any](problems *syntax.Problems) func(T, syntax.Problems) T {
	return func(made T, wrong syntax.Problems) T {
		*problems = append(*problems, wrong...)
		return made
	}
}

// run rereads changed files, and drops changes that are too old.
func (s *Sets) run() {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case now := <-ticker.C:
			s.store.Expire(now)
			s.refresh()
		}
	}
}

// refresh rereads files that have changed and are no longer being written.
func (s *Sets) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.current {
		now := known.look()
		if known.declared.From == nil || now.Same(known.seen) && known.settled || !still(now) {
			continue
		}
		before := known.sum
		base, problems := known.read()
		if err := problems.Err(); err != nil {
			s.log.Error("data not read again; the rows stay as they are", "data", known.Name, "error", err.Error())
			continue
		}
		if known.sum == before {
			continue // the content is the same as when it was last read
		}
		known.base = base
		known.Declare(known.options, base, known.declared.OnChange != item.ChangeReset)
		s.log.Info("data read again", "data", known.Name, "rows", base.Len())
	}
}

// try repeats a transaction until there is no conflict.
func (s *Sets) try(what func(*state.Tx) error) error {
	var tx state.Tx
	for {
		tx.Begin(s.store)
		if err := what(&tx); err != nil {
			return err
		}
		if err := tx.Commit(); !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
}

// pickOf is a pick of rows of a set, by the names of both.
type pickOf struct{ set, pick string }

// turnsOf returns the turns of a pick, which outlive a reload.
func (s *Sets) turnsOf(of, endpoint, name string) *state.Turns {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := pickOf{of, endpoint + " " + name}
	if s.turns[key] == nil {
		s.turns[key] = &state.Turns{}
	}
	return s.turns[key]
}

// declareScenarios creates the sets of the scenarios of a specification. Begin calls it.
func (s *Sets) declareScenarios(spec *config.Spec) (problems syntax.Problems) {
	s.scenarios = map[string]*scenario{}
	for _, list := range [][]item.Scenario{spec.Scenarios, spec.Broken.Scenarios} {
		for i := range list {
			d := list[i]
			if d.Name == "" {
				continue // the missing name is reported elsewhere
			}
			if s.next[d.Name] != nil {
				problems = append(problems, syntax.Problem{Pos: d.Pos, Key: d.Key + ".name",
					What: fmt.Sprintf("%q is the name of another scenario, or of a set; expected a unique name", d.Name)})
				continue
			}
			own := d.Rows()
			made, wrong := s.declare(own, d.Name)
			problems = append(append(problems, wrong...), doubtFixed(d.Per)...)
			s.next[d.Name] = made
			s.scenarios[d.Name] = &scenario{
				declared: d, set: made, initial: stateRow("", d.First, "null"),
				begins: slices.ContainsFunc(d.Moves, func(m item.Move) bool { return m.From == d.First }),
			}
		}
	}
	return problems
}

// makeMoves makes the moves of all rows when they are due.
func (s *Sets) makeMoves() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-s.store.Woken():
		case <-timer.C:
		}
		if next, ok := s.store.Advance(); ok {
			timer.Reset(time.Until(next))
		}
	}
}
