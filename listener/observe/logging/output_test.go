package logging

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

const patience = time.Minute

// gated is a writer that a test can hold.
type gated struct {
	gate sync.Mutex
	into bytes.Buffer
}

func (g *gated) Write(b []byte) (int, error) {
	g.gate.Lock()
	defer g.gate.Unlock()
	return g.into.Write(b)
}

func TestOutput_LinesKeepTheirOrder(t *testing.T) {
	var stdout, stderr gated
	out := NewOutput("println", &stdout, &stderr)
	var want [2]strings.Builder
	for i := range 20_000 {
		to, wanted := out.Stdout(), &want[0]
		if i%7 < 2 {
			to, wanted = out.Stderr(), &want[1]
		}
		line := fmt.Sprintf("line %d\n", i)
		wanted.WriteString(line)
		if n, err := io.WriteString(to, line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	out.Flush(patience)
	if stdout.into.String() != want[0].String() || stderr.into.String() != want[1].String() || out.Dropped() != 0 {
		t.Errorf("lines are missing or out of order; %d were dropped", out.Dropped())
	}
	out.Flush(patience) // nothing is left to wait for
}

// announced is a writer that passes each write on to a test.
type announced chan string

func (a announced) Write(b []byte) (int, error) {
	a <- string(b)
	return len(b), nil
}

func TestOutput_AStreamThatNobodyReadsDoesNotHoldUpTheOther(t *testing.T) {
	var stdout gated
	stderr := make(announced, 1)
	out := NewOutput("println", &stdout, stderr)
	log := New("println", out.Stdout(), out.Stderr())
	for round := range 3 {
		stdout.gate.Lock()
		log.Info("held")
		log.Error("urgent")
		select {
		case <-stderr:
		case <-time.After(patience):
			t.Fatal("an error waits for standard output to be read")
		}
		out.Flush(time.Millisecond) // waits no longer than that
		stdout.gate.Unlock()
		out.Flush(patience)
		if got := strings.Count(stdout.into.String(), "\n"); got != round+1 {
			t.Errorf("standard output has %d lines, want %d", got, round+1)
		}
	}
}

func TestOutput_DroppedLinesAreCounted(t *testing.T) {
	var stdout, stderr gated
	out := NewOutput("json", &stdout, &stderr)
	const lines, writers = 2000, 4
	stderr.gate.Lock()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range lines {
				_, _ = io.WriteString(out.Stderr(), strings.Repeat("x", 1023)+"\n") // never fails
			}
		})
	}
	all.Wait()
	stderr.gate.Unlock()
	out.Flush(patience)
	got, note := strings.Count(stderr.into.String(), "x\n"), fmt.Sprintf(`"level":"ERROR","msg":"log lines dropped","lines":%d}`, out.Dropped())
	if got+int(out.Dropped()) != lines*writers || out.Dropped() == 0 || !strings.HasSuffix(stderr.into.String(), note+"\n") {
		t.Errorf("%d lines were written, %d dropped, want %d together and at the end %s", got, out.Dropped(), lines*writers, note)
	}
}
