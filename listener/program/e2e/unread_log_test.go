package e2e_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// waitEnded waits until the program has ended, whether or not its output is read.
func waitEnded(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(harness.Patience):
		t.Fatal("the program does not end")
	}
}

// Requests, and the end of the program, do not wait for a log that nobody reads. Once it is read
// again, it has each line in order, or the number of those that were left out.
func TestProgram_ALogThatNobodyReadsStopsNothing(t *testing.T) {
	t.Parallel()
	const requests = 400 // of 16 KiB: more than is queued
	for _, format := range []string{"println", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p, admin := Administered(t, One("fine"), "--access-log", "-f", format)
			long := strings.Repeat("x", 16<<10)
			p.Unread.Lock()
			for i := range requests {
				p.Get(fmt.Sprintf("/a?i=%d&%s", i, long)).Want(t, 200, "fine")
			}
			unmatched := p.Get("/nowhere?" + long)
			dropped := Value(t, Scrape(t, admin), "mockserver_log_dropped_lines_total")
			p.Unread.Unlock()
			if unmatched.Status != 404 || dropped == 0 {
				t.Errorf("got %d for an unmatched request and %v lines dropped, want 404 and some", unmatched.Status, dropped)
			}
			p.WaitLine(0, "log lines dropped")
			p.Get("/a?last").Want(t, 200, "fine")
			p.WaitLine(0, "/a?last")
			stdout, _ := p.Stopped()
			next := 0
			for _, m := range regexp.MustCompile(`/a\?i=(\d+)&`).FindAllStringSubmatch(stdout, -1) {
				if i, _ := strconv.Atoi(m[1]); i != next {
					t.Fatalf("line %d is followed by line %d", next-1, i)
				}
				next++
			}
			// Of the unmatched request there are two lines.
			note := regexp.MustCompile(`WARN.*log lines dropped.*lines"?[=:](\d+)`).FindStringSubmatch(stdout)
			if note == nil || note[1] != strconv.Itoa(requests+2-next) || note[1] != fmt.Sprint(dropped) {
				t.Errorf("%d lines were written, and %q, %v dropped; want %d together", next, note, dropped, requests+2)
			}
			if last := strings.Index(stdout, "/a?last"); last < strings.Index(stdout, "log lines dropped") {
				t.Error("the line about dropped lines is not where they were")
			}
		})
	}
	t.Run("at the end", func(t *testing.T) {
		t.Parallel()
		p := Serving(t, One("fine"), "--access-log")
		p.Unread.Lock()
		for range 10 {
			p.Get("/nowhere?" + strings.Repeat("x", 16<<10))
		}
		p.Signal(syscall.SIGTERM)
		waitEnded(t, p)
		p.Unread.Unlock()
		if code := p.Exit(); code != 0 {
			t.Errorf("got exit code %d, want 0", code)
		}
	})
}
