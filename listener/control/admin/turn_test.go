package admin

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

func TestTurn_RepliesAreMadeOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Admin{turn: make(chan struct{}, 1)}
		inside, goOn := 0, make(chan struct{})
		show := a.inTurn(func(w http.ResponseWriter, _ *http.Request) {
			inside++
			<-goOn
			w.Header().Set("X-Made", "yes")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "made")
		})
		ask := func(ctx context.Context) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			go show(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
			synctest.Wait()
			return w
		}
		leaving, leave := context.WithCancel(t.Context())
		first, second, left := ask(t.Context()), ask(t.Context()), ask(leaving)
		leave()
		for n := range 2 {
			if synctest.Wait(); inside != n+1 {
				t.Fatalf("%d requests have had their turn after %d answers", inside, n)
			}
			goOn <- struct{}{}
		}
		synctest.Wait()
		for _, w := range []*httptest.ResponseRecorder{first, second} {
			if w.Code != http.StatusTeapot || w.Body.String() != "made" || w.Header().Get("X-Made") != "yes" {
				t.Errorf("got %d %q", w.Code, w.Body)
			}
		}
		if inside != 2 || left.Body.Len() > 0 {
			t.Errorf("a client that has left gets %q", left.Body)
		}
	})
}

// A handler that panics releases its turn.
func TestTurn_APanicEndsIt(t *testing.T) {
	a := &Admin{turn: make(chan struct{}, 1)}
	func() {
		defer func() { _ = recover() }()
		a.inTurn(func(http.ResponseWriter, *http.Request) { panic("of a test") })(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	if len(a.turn) != 0 {
		t.Error("the turn is kept")
	}
}
