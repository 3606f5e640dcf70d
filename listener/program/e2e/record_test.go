//go:build unix

package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/recording"
)

// recordedPaths returns the URLs in a recording's file, and the error in the rest of the file, if
// any.
func recordedPaths(t *testing.T, name string) (all []string, broken error) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, broken, err = recording.Read(f, func(l *recording.Line) error {
		all = append(all, l.URL)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, broken
}

// echoed starts a server that answers with the body it receives, and returns its URL.
func echoed(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func proxying(url, dir string) string {
	return fmt.Sprintf("- upstream: {name: real, url: %q, record: {to: %q}}\n- endpoint: {method: any, path: \"/*rest\", response: {proxy: real}}\n", url, dir)
}

// A process that is killed while it records leaves a file that is readable up to the last flush
// and can be imported.
func TestRecord_Killed(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	dir := t.TempDir()
	p := Serving(t, proxying(echoed(t), dir))
	name := filepath.Join(dir, "real-0001.ndjson.zst")
	for i := range 50 {
		p.Do("POST", fmt.Sprint("/before/", i), "body").Want(t, 200, "body")
	}
	var before []string
	harness.Until(t, "the first requests are in the file", func() bool {
		before, _ = recordedPaths(t, name)
		return len(before) == 50
	})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for i := 0; ; i++ {
				if _, err := p.Try("POST", fmt.Sprint("/during/", i), "body"); err != nil {
					return
				}
			}
		})
	}
	harness.Until(t, "further requests are in the file", func() bool {
		all, _ := recordedPaths(t, name)
		return len(all) > 60
	})
	p.Signal(syscall.SIGKILL)
	asking.Wait()
	after, broken := recordedPaths(t, name)
	if len(after) <= 60 || fmt.Sprint(after[:50]) != fmt.Sprint(before) {
		t.Errorf("%d lines, %v; there were %d", len(after), broken, len(before))
	}
	out, err := exec.Command(Program(t), "import", name, "-o", t.TempDir(), "--check").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(" 0 lost\n")) || !bytes.Contains(out, []byte(" 0 different\n")) {
		t.Errorf("import: %v: %s", err, out)
	}
}

// When the disk is full, recorded exchanges are lost and counted; clients get their answers, and
// the file stays valid.
func TestRecord_FullDisk(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system of 128 KiB can be mounted: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	p, admin := Administered(t, proxying(echoed(t), dir))
	const asked = 100
	var noise [4096]byte // random data, which cannot be compressed
	for i := range asked {
		_, _ = rand.Read(noise[:]) // never fails
		body := base64.StdEncoding.EncodeToString(noise[:])
		p.Do("POST", fmt.Sprint("/", i), body).Want(t, 200, body)
	}
	var shown struct {
		Recordings []struct {
			Requests, Dropped int
			Error             string
		}
	}
	harness.Until(t, "all are written or dropped", func() bool {
		admin.Get("/__admin/recordings").Into(t, 200, &shown)
		return shown.Recordings[0].Requests+shown.Recordings[0].Dropped == asked
	})
	r := shown.Recordings[0]
	all, broken := recordedPaths(t, filepath.Join(dir, "real-0001.ndjson.zst"))
	if r.Dropped == 0 || r.Error == "" || len(all) != r.Requests || broken != nil {
		t.Errorf("%+v; %d lines, %v", r, len(all), broken)
	}
	p.WaitLine(0, "data that could not be written is dropped", "no space left")
}
