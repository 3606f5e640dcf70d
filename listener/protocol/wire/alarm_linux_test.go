package wire

import (
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"
)

// Times leave the heap in order, whatever the order in which they were added.
func TestAlarm_TimesAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var a alarm
		var want, got []int64
		for range random.IntN(60) {
			due := random.Int64N(40)
			if len(a.times) == 0 || a.times[0] != due {
				want = append(want, due)
			}
			a.push(due)
		}
		for len(a.times) > 0 {
			got = append(got, a.times[0])
			a.pop()
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// The alarm goes off at each time, in order, and stops when it is closed, however many times are
// left.
func TestAlarm_GoesOff(t *testing.T) {
	a := newAlarm()
	left := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.times)
	}
	begun := time.Now()
	a.at(begun.Add(time.Hour))
	a.at(begun.Add(20 * time.Millisecond))
	a.at(begun.Add(-time.Second)) // rings at once
	for left() > 1 {
		select {
		case <-t.Context().Done():
			t.Fatal("the alarm does not go off")
		default:
		}
	}
	if took := time.Since(begun); took < 20*time.Millisecond {
		t.Errorf("the alarm went off after %v, want at least 20ms", took)
	}
	a.close()
	a.at(begun)
	a.close()
	if left() != 1 {
		t.Errorf("%d times are left, want 1", left())
	}
	var none *alarm
	none.at(begun)
	none.close()
	newAlarm().close() // it was never used
}

// The alarm does not store the times of clients that leave during a pause, however many there are:
// it stores only the times of pauses that are nearly over.
func TestPause_KeepsNoTimesOfClientsThatLeft(t *testing.T) {
	l := New(nil, slog.New(slog.DiscardHandler))
	l.StartAlarm()
	defer l.Stop()
	for range 100 {
		client, inner := net.Pipe()
		_ = client.Close() // an error would not matter: both ends are in the test
		if end := l.Adopt(inner).pause(time.Now().Add(time.Hour)); end != pauseLeft {
			t.Fatalf("got %d, want pauseLeft", end)
		}
	}
	l.alarm.mu.Lock()
	defer l.alarm.mu.Unlock()
	if n := len(l.alarm.times); n > 0 {
		t.Errorf("%d times are kept, want none", n)
	}
}
