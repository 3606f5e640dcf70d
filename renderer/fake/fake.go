// Package fake invents data, such as names and addresses, with gofakeit.
package fake

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/brianvoe/gofakeit/v7"

	view "mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// Data generates one kind of invented data. It is safe for concurrent use.
type Data struct {
	info   *gofakeit.Info
	params *gofakeit.MapParams
	fakers sync.Pool // of *faker: a generator is not safe for concurrent use, and sharing one would need a lock
}

// New returns a Data for a kind of gofakeit; - and _ in the name are ignored. It generates some
// data at once, so that a kind that needs parameters is reported when the configuration is loaded.
// what says what is wrong with the name.
func New(name string) (d *Data, what string) {
	d = &Data{info: gofakeit.GetFuncLookup(name), params: gofakeit.NewMapParams()}
	key := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	if d.info == nil {
		d.info = gofakeit.GetFuncLookup(key)
	}
	d.fakers.New = newFaker
	if d.info == nil {
		return nil, fmt.Sprintf("unknown kind of data %q%s; expected one of gofakeit's names, such as name, email, phone, city, uuid, sentence",
			name, wording.DidYouMean(key, slices.Sorted(maps.Keys(gofakeit.FuncLookups))))
	}
	if _, err := d.generate(&matcher.Random{}); err != nil {
		return nil, fmt.Sprintf("fake(%q) cannot be made here: %v", name, err)
	}
	return d, ""
}

// IsKind reports whether gofakeit has a kind of data with exactly that name.
func IsKind(name string) bool { return gofakeit.GetFuncLookup(name) != nil }

// faker is a generator that uses the random numbers of the current request.
type faker struct {
	gofakeit.Faker
	own    rand.PCG        // used if the request has no seed: a generator needs many numbers
	seeded *matcher.Random // nil if the request has no seed
}

func newFaker() any {
	f := &faker{own: *rand.NewPCG(rand.Uint64(), rand.Uint64())}
	f.Rand = numbers{f}
	return f
}

// numbers is the source of the random numbers of a faker.
type numbers struct{ of *faker }

// Uint64 returns the next number.
func (n numbers) Uint64() uint64 {
	if n.of.seeded != nil {
		return n.of.seeded.Uint64()
	}
	return n.of.own.Uint64()
}

// generate returns invented data. The library panics if some parameters are missing; generate then
// returns an ordinary error.
func (d *Data) generate(random *matcher.Random) (made any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it needs parameters: %v", p)
		}
	}()
	faker := d.fakers.Get().(*faker)
	defer d.fakers.Put(faker)
	if faker.seeded = nil; random.Seeded() {
		faker.seeded = random
	}
	return d.info.Generate(&faker.Faker, d.params, d.info)
}

// Value returns invented data.
func (d *Data) Value(random *matcher.Random) value.Value {
	made, err := d.generate(random)
	if err != nil {
		return value.Value{}
	}
	switch made := made.(type) {
	case string:
		return value.OfText([]byte(made))
	case bool:
		return value.OfBool(made)
	}
	b, err := json.Marshal(made)
	if err != nil {
		return value.Value{}
	}
	switch {
	case view.IsNumber(b):
		return value.Value{Kind: value.Number, Raw: b}
	case b[0] == '[':
		return value.Value{Kind: value.Array, Raw: b}
	case b[0] == '"':
		v := view.Value{Kind: view.String, Raw: b}
		return value.OfText(v.AppendText(nil))
	}
	return value.Value{Kind: value.Object, Raw: b}
}
