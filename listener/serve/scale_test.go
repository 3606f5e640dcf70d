//go:build !race

package serve

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/internal/harness/volume"
	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// scaled lists requests to timed, and the expected bodies.
var scaled = []struct{ name, request, body string }{
	{"fixed", "GET /static HTTP/1.1\r\nHost: mock.test\r\n\r\n", `{"hello": "world"}`},
	{"path", "GET /users/abc HTTP/1.1\r\nHost: mock.test\r\n\r\n", `{"id": "abc"}`},
	{"json", "POST /orders HTTP/1.1\r\nHost: mock.test\r\nContent-Length: 24\r\n\r\n{\"project\": \"x\", \"n\": 1}", `{"project": "x"}`},
}

// Requests of two connections that are served at the same time write to no common cache line,
// whether or not they are recorded, and with any number of endpoints: each write to a shared line
// would make the other CPU wait. The test compares the memory of the server, as far as it is
// reachable, before and after; it finds the use of locks by holding all of them.
func TestScale_NothingIsWrittenByTwo(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("with one CPU, counters are in one place")
	}
	numbers := []int{0, 2000}
	if !volume.Full() {
		numbers = numbers[1:]
	}
	for _, endpoints := range numbers {
		for name, recorded := range map[string]*record.Options{"off": nil, "recorded": {Journal: record.JournalOptions{Slowest: -1}}} {
			t.Run(fmt.Sprintf("%s/%d", name, endpoints), func(t *testing.T) {
				s := newServer(t, compile.Options{})
				if recorded != nil {
					s.Recorder = record.New(*recorded)
				}
				s.serving(t, config.Parse("mock.yml", []byte(timed+many(endpoints)))).listen(t)
				clients := []*asker{connected(t, s), connected(t, s)}
				for range 10 - min(endpoints, 10) { // the memory of two consecutive connections may be adjacent
					clients = append(clients, connected(t, s))
				}
				for _, c := range scaled {
					for _, client := range clients {
						client.ask(t, c.request, c.body, 1)
					}
					if recorded != nil {
						s.crowd(t, c.name, func() { clients[0].ask(t, c.request, c.body, 1000) })
						clients[1].ask(t, c.request, c.body, 1)
					}
					m := reach(s, nil)
					for i, a := range clients[1:] {
						b := clients[i]
						if common := m.writtenByBoth(func() { a.ask(t, c.request, c.body, 1) }, func() { b.ask(t, c.request, c.body, 1) }); len(common) > 0 {
							t.Errorf("%s: connections %d and %d write %s", c.name, i, i+1, strings.Join(common, ", "))
						}
					}
				}
				if common := reach(s, nil).neighbours(reflect.TypeFor[wire.Connection]().PkgPath()); len(common) > 0 {
					t.Errorf("in the same cache line: %s", strings.Join(common, ", ")) // locks, which are set and reset, do not show above
				}
				if recorded != nil {
					begin := func(shard uint32) func() { return func() { s.Recorder.Enter(shard) } }
					if common := reach(s, nil).writtenByBoth(begin(1), begin(2)); len(common) > 0 {
						t.Errorf("requests in progress: both write %s", strings.Join(common, ", "))
					}
				}
				m := reach(s, reflect.TypeFor[wire.Connection]())
				defer m.hold()()
				for _, c := range scaled {
					clients[0].ask(t, c.request, c.body, 1)
				}
			})
		}
	}
}

// crowd sends requests until those of two connections are counted separately.
func (s *testServer) crowd(t *testing.T, name string, ask func()) {
	t.Helper()
	i := slices.IndexFunc(scaled, func(c struct{ name, request, body string }) bool { return c.name == name })
	counters := s.Current().Responses[i].Counters
	for deadline := time.Now().Add(time.Minute); counters.At(1) == counters.At(2); ask() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: two connections are counted in one place", name)
		}
	}
}

// asker is a client that has at most a hundred requests in flight.
type asker struct {
	net.Conn
	in *bufio.Reader
}

func connected(t *testing.T, s *testServer) *asker {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // its error does not matter
	return &asker{conn, bufio.NewReader(conn)}
}

func (a *asker) ask(t *testing.T, request, body string, times int) {
	t.Helper()
	must(t, a.SetDeadline(time.Now().Add(20*time.Second)))
	var resp fasthttp.Response
	const together = 100 // many requests a second, even on a busy machine
	for i := range times {
		if i%together == 0 {
			_, err := io.WriteString(a, strings.Repeat(request, min(together, times-i)))
			must(t, err)
		}
		if err := resp.Read(a.in); err != nil || string(resp.Body()) != body {
			t.Fatalf("got %q, want %q: %v", resp.Body(), body, err)
		}
	}
}

// memory is the memory reachable from a server, with its earlier contents.
type memory struct {
	parts []part
	locks []sync.Locker
	seen  map[reached]bool
	skip  reflect.Type // values of this type are not followed
}

type part struct {
	kind    reflect.Type
	is, was []byte
}

type reached struct {
	at   unsafe.Pointer
	kind reflect.Type
}

// cacheLine is the size of a cache line in bytes.
const cacheLine = 64

func reach(s *testServer, skip reflect.Type) *memory {
	m := &memory{seen: map[reached]bool{}, skip: skip}
	m.add(reflect.TypeOf(s).Elem(), unsafe.Pointer(s), 1)
	return m
}

// add adds n values of a type.
func (m *memory) add(kind reflect.Type, at unsafe.Pointer, n int) {
	if at == nil || n == 0 || kind.Size() == 0 || kind == m.skip || m.seen[reached{at, kind}] || strings.HasPrefix(kind.PkgPath(), "reflect") {
		return
	}
	m.seen[reached{at, kind}] = true
	is := unsafe.Slice((*byte)(at), n*int(kind.Size()))
	m.parts = append(m.parts, part{kind, is, slices.Clone(is)})
	for i := range n {
		m.follow(kind, unsafe.Add(at, i*int(kind.Size())))
	}
}

// follow adds the values that an added value refers to.
func (m *memory) follow(kind reflect.Type, at unsafe.Pointer) {
	switch kind.Kind() {
	case reflect.Pointer:
		m.add(kind.Elem(), *(*unsafe.Pointer)(at), 1)
	case reflect.Slice:
		all := *(*[]byte)(at) // the length counts elements, not bytes
		m.add(kind.Elem(), unsafe.Pointer(unsafe.SliceData(all)), cap(all))
	case reflect.Array:
		for i := range kind.Len() {
			m.follow(kind.Elem(), unsafe.Add(at, i*int(kind.Elem().Size())))
		}
	case reflect.Interface:
		if v := reflect.NewAt(kind, at).Elem().Elem(); v.Kind() == reflect.Pointer {
			m.add(v.Type().Elem(), v.UnsafePointer(), 1)
		}
	case reflect.Map:
		for entries := reflect.NewAt(kind, at).Elem().MapRange(); entries.Next(); {
			for _, v := range []reflect.Value{entries.Key(), entries.Value()} {
				if v.Kind() == reflect.Pointer {
					m.add(v.Type().Elem(), v.UnsafePointer(), 1)
				}
			}
		}
	case reflect.Struct:
		m.fields(kind, at)
	}
}

func (m *memory) fields(kind reflect.Type, at unsafe.Pointer) {
	switch lock := reflect.NewAt(kind, at).Interface().(type) {
	case *sync.Mutex:
		m.locks = append(m.locks, lock)
	case *sync.RWMutex:
		m.locks = append(m.locks, lock)
	}
	if kind.PkgPath() == "sync/atomic" && strings.HasPrefix(kind.Name(), "Pointer[") {
		m.add(kind.Field(0).Type.Elem().Elem(), *(*unsafe.Pointer)(at), 1) // its first field is _ [0]*T
		return
	}
	for f := range kind.Fields() {
		m.follow(f.Type, unsafe.Add(at, f.Offset))
	}
}

// hold locks all unlocked mutexes until the returned function is called.
func (m *memory) hold() (release func()) {
	held := slices.DeleteFunc(m.locks, func(l sync.Locker) bool { return !l.(interface{ TryLock() bool }).TryLock() })
	return func() {
		for _, l := range held {
			l.Unlock()
		}
	}
}

// neighbours returns values of a package's types that share a cache line.
func (m *memory) neighbours(pkg string) []string {
	var found []string
	lines := map[uintptr]reflect.Type{}
	for _, p := range m.parts {
		if p.kind.PkgPath() != pkg {
			continue
		}
		first := uintptr(unsafe.Pointer(&p.is[0]))
		for line := first / cacheLine; line <= (first+uintptr(len(p.is))-1)/cacheLine; line++ {
			if other := lines[line]; other != nil {
				found = append(found, fmt.Sprintf("a %s and a %s", other, p.kind))
			}
			lines[line] = p.kind
		}
	}
	return found
}

// writtenByBoth describes the cache lines that both functions write to. It repeats the comparison,
// so that unrelated writes, which occur in only some of the tries, do not count.
func (m *memory) writtenByBoth(a, b func()) []string {
	var common map[uintptr]string
	for range 5 {
		m.written(func() {}) // skips earlier writes
		first, second := m.written(a), m.written(b)
		for line := range first {
			if second[line] == "" || common != nil && common[line] == "" {
				delete(first, line)
			} else if first[line] != second[line] {
				first[line] += " and " + second[line]
			}
		}
		common = first
	}
	return slices.Sorted(maps.Values(common))
}

// written returns the cache lines that f writes to, with the types of the values in them.
func (m *memory) written(f func()) map[uintptr]string {
	f()
	lines := map[uintptr]string{}
	for quiet := 0; quiet < 3; quiet++ { // some of its work is done after the answer is written
		runtime.Gosched()
		for i := range m.parts {
			p := &m.parts[i]
			if string(p.is) == string(p.was) {
				continue
			}
			for at := range p.is {
				if p.is[at] != p.was[at] {
					p.was[at], quiet = p.is[at], 0
					lines[uintptr(unsafe.Pointer(&p.is[at]))/cacheLine] = p.kind.String()
				}
			}
		}
	}
	return lines
}
