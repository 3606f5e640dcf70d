package pollset

import (
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns the ends of a connection; the descriptor of the first has the smallest free number.
func pair(t *testing.T) (here, there int) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ends[0], ends[1]
}

func write(t *testing.T, fd int) {
	t.Helper()
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		t.Fatal(err)
	}
}

// outcome is what ready was called with.
type outcome struct {
	e   *Entry
	due bool
}

func collecting(t *testing.T) (*Set, chan outcome) {
	out := make(chan outcome, 1<<16)
	s := New(func(e *Entry, due bool) { out <- outcome{e, due} })
	t.Cleanup(s.Close)
	return s, out
}

func TestSet_ReportsInput(t *testing.T) {
	s, out := collecting(t)
	here, there := pair(t)
	e := &Entry{}
	for range 3 { // what comes before it is added and what comes later
		write(t, there)
		if !s.Add(e, here, 0) {
			t.Fatal("it was not added")
		}
		if got := <-out; got != (outcome{e, false}) {
			t.Errorf("got %+v", got)
		}
		unix.Read(here, make([]byte, 10))
		s.Add(e, here, 0)
		write(t, there)
		<-out
		unix.Read(here, make([]byte, 10))
	}
	s.Add(e, here, 0)
	unix.Close(there)
	<-out
	if s.Take(e) {
		t.Error("it was in the set twice")
	}
	unix.Close(here)
	s.End()
	s.Wait()
}

// An entry is due after its timeout, or after the limit set later, unless it was taken.
func TestSet_Timeouts(t *testing.T) {
	s, out := collecting(t)
	var all [4]Entry
	for i, timeout := range []time.Duration{time.Nanosecond, time.Hour, 0, time.Nanosecond} {
		here, there := pair(t)
		defer unix.Close(here)
		defer unix.Close(there)
		if !s.Add(&all[i], here, timeout) {
			t.Fatal("it was not added")
		}
	}
	s.Take(&all[3])
	s.Expire()
	if got := <-out; got != (outcome{&all[0], true}) || len(out) > 0 {
		t.Errorf("got %+v, and %d others", got, len(out))
	}
	s.End()
	if s.Add(&all[0], 0, 0) {
		t.Error("an entry was added after the end")
	}
	for i := range all {
		s.Limit(&all[i], 0)
	}
	s.Expire()
	if late := []*Entry{(<-out).e, (<-out).e}; !slices.Contains(late, &all[1]) || !slices.Contains(late, &all[2]) || len(out) > 0 {
		t.Errorf("got %v, and %d others", late, len(out))
	}
	s.Done(&all[3])
	s.Wait()
}

// Of the set, Take and the timeout, exactly one gets an entry, also while descriptors are closed and
// their numbers are used again with events pending.
func TestSet_ModelOfReusedNumbers(t *testing.T) {
	for seed := range uint64(20) {
		modelRun(t, rand.New(rand.NewPCG(seed, 0)))
	}
}

// modelled is a connection of the model.
type modelled struct {
	Entry
	here, there int
	added       int // how often it was added
	got         int // how often it was reported or taken
	input       bool
}

func modelRun(t *testing.T, random *rand.Rand) {
	var mu sync.Mutex
	open := map[*modelled]bool{} // those in the set
	var s *Set
	reported := 0
	wrong := func(format string, args ...any) { t.Errorf(format, args...) }
	finish := func(c *modelled) { // closes both ends: their numbers are free again
		delete(open, c)
		unix.Close(c.here)
		unix.Close(c.there)
	}
	s = New(func(e *Entry, due bool) {
		mu.Lock()
		defer mu.Unlock()
		c := e.Owner.(*modelled)
		reported++
		if c.got++; c.got != c.added || !open[c] {
			wrong("an entry that was added %d times was got %d times", c.added, c.got)
		}
		if !c.input && !due {
			wrong("an entry without input was reported")
		}
		finish(c)
	})
	for range 2000 {
		mu.Lock()
		var one *modelled
		for one = range open {
			break
		}
		mu.Unlock()
		switch n := random.IntN(10); {
		case n < 4 || one == nil:
			c := &modelled{}
			c.here, c.there = pair(t)
			c.Owner = c
			mu.Lock()
			open[c] = true
			c.added++
			mu.Unlock()
			if !s.Add(&c.Entry, c.here, 0) {
				wrong("an entry was not added")
			}
		case n < 7: // input, which is pending from now on
			mu.Lock()
			if open[one] {
				one.input = true
				write(t, one.there)
			}
			mu.Unlock()
		default: // whoever takes it closes it, or adds it again
			if !s.Take(&one.Entry) {
				continue
			}
			mu.Lock()
			one.got++
			if one.got != one.added {
				wrong("an entry that was added %d times was got %d times", one.added, one.got)
			}
			if n == 7 {
				one.added++
				mu.Unlock()
				if !s.Add(&one.Entry, one.here, 0) {
					wrong("an entry was not added again")
				}
				continue
			}
			finish(one)
			mu.Unlock()
			s.Done(&one.Entry)
		}
	}
	for { // each that has input is reported, and each other is still there
		mu.Lock()
		left, rest := 0, []*modelled(nil)
		for c := range open {
			if c.input {
				left++
			} else {
				rest = append(rest, c)
			}
		}
		mu.Unlock()
		if left > 0 {
			continue
		}
		for _, c := range rest {
			if !s.Take(&c.Entry) {
				wrong("an entry was lost")
			}
			mu.Lock()
			finish(c)
			mu.Unlock()
			s.Done(&c.Entry)
		}
		break
	}
	s.End()
	s.Wait()
	s.Close()
	if reported == 0 {
		t.Error("nothing was reported")
	}
}

// A set may be closed while ready is called, which uses it: a server that cuts requests off does not wait.
func TestSet_ClosedWhileServing(t *testing.T) {
	here, there := pair(t)
	defer unix.Close(here)
	defer unix.Close(there)
	serving := make(chan struct{})
	var s *Set
	s = New(func(e *Entry, _ bool) {
		close(serving)
		for over := false; !over; { // until Close is called
			s.mu.Lock()
			over = s.over
			s.mu.Unlock()
		}
		s.Drop(e, true)
	})
	s.Add(&Entry{Stays: true}, here, 0)
	write(t, there)
	<-serving
	s.Close()
}

// A duplicate waits like the original, which Drop has made epoll forget.
func TestSet_Duplicate(t *testing.T) {
	s, out := collecting(t)
	here, there := pair(t)
	e := &Entry{}
	s.Add(e, here, 0)
	if !s.Take(e) {
		t.Fatal("it was not there")
	}
	second, err := unix.FcntlInt(uintptr(here), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(os.NewSyscallError("fcntl", err))
	}
	s.Drop(e, true)
	unix.Close(here)
	if !s.Add(e, second, 0) {
		t.Fatal("it was not added")
	}
	write(t, there)
	<-out
	s.End()
	s.Wait()
	unix.Close(second)
	unix.Close(there)
}

// An entry that stays is reported for each input, for what is left of one, and for the end that came with
// the last one; and no more once it was dropped, by which its slot is free.
func TestSet_Stays(t *testing.T) {
	here, there := pair(t)
	defer unix.Close(here)
	e := &Entry{Stays: true}
	out := make(chan int, 100)
	var s *Set
	s = New(func(e *Entry, _ bool) {
		b := make([]byte, 1)
		n, _ := unix.Read(here, b)
		if e.Again = e.Again || n == 1; n > 0 && b[0] != 'd' && !s.Add(e, here, time.Hour) {
			t.Error("it was not added again")
		} else if n == 0 || b[0] == 'd' {
			s.Drop(e, true)
		}
		out <- n
	})
	defer s.Close()
	if !s.Add(e, here, 0) {
		t.Fatal("it was not added")
	}
	send := func(text string) {
		if _, err := unix.Write(there, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"x", "xy", "xyz", "d"} {
		send(text)
		for range text {
			if n := <-out; n != 1 {
				t.Errorf("%q: got %d", text, n)
			}
		}
	}
	send("x")
	if len(s.free) != len(s.slots) || e.Stays || s.Take(e) {
		t.Errorf("it was dropped: %+v; %d slots, %d free", e, len(s.slots), len(s.free))
	}
	e.Stays = true
	s.Add(e, here, 0)
	<-out
	send("y")
	unix.Close(there)
	if n := []int{<-out, <-out}; n[0] != 1 || n[1] != 0 {
		t.Errorf("the end with an input: got %v", n)
	}
	s.End()
	s.Wait()
}

// Also while it is served, an entry that stays may get input, or be closed by its client.
func TestSet_StaysWhileServed(t *testing.T) {
	var here, there [32]int
	var got [32]int
	var entries [32]Entry
	done := make(chan struct{}, len(here))
	var s *Set
	s = New(func(e *Entry, _ bool) {
		i := e.Owner.(int)
		b := make([]byte, 8)
		n, _ := unix.Read(here[i], b)
		got[i] += n
		e.Again = e.Again || n == len(b)
		if e.Stays = true; n > 0 {
			s.Add(e, here[i], 0)
			return
		}
		s.Drop(e, false)
		unix.Close(here[i])
		done <- struct{}{}
	})
	defer s.Close()
	for i := range here {
		here[i], there[i] = pair(t)
		entries[i].Owner = i
		if !s.Add(&entries[i], here[i], 0) {
			t.Fatal("it was not added")
		}
	}
	const pieces = 300
	for n := range pieces {
		for i := range there {
			piece := []byte("0123456789")[:1+(n+i)%10]
			_, err := unix.Write(there[i], piece)
			for ; err == unix.EAGAIN; _, err = unix.Write(there[i], piece) { // it is full until it is read
				runtime.Gosched()
			}
			if err != nil {
				t.Fatal(err)
			}
			if n+1 == pieces {
				unix.Close(there[i])
			}
		}
	}
	for range here {
		<-done
	}
	for i := range got {
		want := 0
		for n := range pieces {
			want += 1 + (n+i)%10
		}
		if got[i] != want {
			t.Errorf("connection %d: got %d bytes, want %d", i, got[i], want)
		}
	}
	s.End()
	s.Wait()
	if len(s.free) != len(s.slots) {
		t.Errorf("%d slots, %d free", len(s.slots), len(s.free))
	}
}
