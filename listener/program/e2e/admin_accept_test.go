//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// pidfdGetfd is the number of the system call pidfd_getfd(2), which package syscall lacks.
const pidfdGetfd = 438

// deafen makes accepting fail in a program: it shuts down the program's listening socket.
func deafen(p *Process) {
	p.T.Helper()
	deaf := false
	err := p.Cmd.Process.WithHandle(func(handle uintptr) {
		for number := uintptr(3); number < 64 && !deaf; number++ {
			fd, _, errno := syscall.Syscall(pidfdGetfd, handle, number, 0)
			switch errno {
			case 0:
			case syscall.EBADF: // the process has no such descriptor
				continue
			default:
				p.T.Skipf("the sockets of another process are not accessible here: %v", errno)
			}
			if listens, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN); err == nil && listens == 1 {
				deaf = true
				if err := syscall.Shutdown(int(fd), syscall.SHUT_RDWR); err != nil {
					p.T.Error(err)
				}
			}
			_ = syscall.Close(int(fd)) // this closes only a copy
		}
	})
	if err != nil || !deaf {
		p.T.Fatalf("no listening socket found: %v", err)
	}
}

// When the server can accept no more connections, it finishes its work in progress as it does
// after a signal: it answers requests and sends queued reports.
func TestProgram_ThatCannotAcceptDrains(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // the test takes its socket away
	reached, release := make(chan struct{}, 10), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached <- struct{}{}
		<-release
		fmt.Fprint(w, `"late"`)
	}))
	t.Cleanup(remote.Close)
	arrived := make(chan struct{}, 10)
	h := newSentryHost(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	p := reporting(t, h.DSN, fails(t)+
		`- endpoint: {path: /second, response: {external-body: {provider: json, path: "http://`+Free(t)+`/"}}}`+"\n"+
		`- endpoint: {path: /late, response: {external-body: {provider: json, path: "`+remote.URL+`/"}}}`)
	late := make(chan Response, 1)
	go func() {
		a, err := p.Try("GET", "/late", "")
		if err != nil {
			t.Error(err)
		}
		late <- a
	}()
	p.Get("/fails")
	for _, c := range []chan struct{}{reached, arrived} {
		select {
		case <-c:
		case <-time.After(harness.Patience):
			t.Fatal("a request or a report does not arrive")
		}
	}
	p.Get("/second") // its report is queued after the first
	deafen(p)
	p.WaitLine(0, "serving ended", "accept")
	p.WaitLine(0, "stopping", "grace")
	letGo()
	(<-late).Want(t, 200, `"late"`)
	if code := p.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if got := h.Kinds(); len(got) != 2 || got["upstream_failed GET /second"] != 1 {
		t.Errorf("reported %v", got)
	}
}
