package alarm

import "testing"

func TestSystem_CannotBeReadIsSaid(t *testing.T) {
	timer := newSystem().(*timerfd)
	t.Cleanup(func() { _ = timer.Close() })
	timer.Set(0)
	if timer.read(^uintptr(0)); timer.err == nil {
		t.Error("no error for a descriptor that does not exist")
	}
	if err := timer.Wait(); err != nil {
		t.Errorf("and then %v", err)
	}
}
