package upstream

import "time"

// ReadWatching is like Read, but returns ErrLeft as soon as the client disconnects, even while the
// upstream sends nothing.
func (x *Exchange) ReadWatching(p []byte, w Waiter) (int, error) {
	return x.watching(w, x.Read, p)
}

// watching reads in another goroutine, while this one watches whether the client disconnects.
func (x *Exchange) watching(w Waiter, read func([]byte) (int, error), into []byte) (n int, err error) {
	type result struct {
		n   int
		err error
	}
	done, woken := make(chan result, 1), make(chan struct{})
	conn := x.conn
	if conn != nil { // nil if the whole answer has arrived
		if x.Streamed {
			x.extend()
		}
		x.unhurry()
	}
	go func() {
		defer close(woken)
		n, err := read(into)
		done <- result{n, err}
		w.Wake()
	}()
	for {
		left := w.Wait()
		if left {
			if conn != nil {
				_ = conn.SetReadDeadline(time.Unix(1, 0)) // ends the read; if this fails, it has already ended
			}
			<-woken
			return 0, ErrLeft
		}
		select {
		case r := <-done:
			<-woken // after that, nothing uses the Waiter anymore
			return r.n, r.err
		default:
		}
	}
}
