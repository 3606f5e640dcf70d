package timerfd

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestTimer_GoesOffOnceAndNotTooEarly(t *testing.T) {
	timer, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{-time.Second, 0, time.Microsecond, 3 * time.Millisecond} {
		begun := time.Now()
		timer.Set(time.Hour)
		timer.Set(after)
		if err := timer.Wait(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < after {
			t.Errorf("set to %v it went off after %v", after, took)
		}
	}
	ended := make(chan error)
	go func() { ended <- timer.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it went off again: %v", err)
	case <-time.After(10 * time.Millisecond): // the timer is not set, so nothing can wake it
	}
	if err := timer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("the wait ended with %v, want an error that it is closed", err)
	}
	timer.Set(0)
	if err := timer.Wait(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("waiting for a closed one: %v", err)
	}
}

func TestTimer_CannotBeReadIsSaid(t *testing.T) {
	timer, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = timer.Close() })
	timer.Set(0)
	if timer.read(^uintptr(0)); timer.err == nil {
		t.Error("no error for a descriptor that does not exist")
	}
	if err := timer.Wait(); err != nil {
		t.Errorf("and then %v", err)
	}
}
