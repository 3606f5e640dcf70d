package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// One flipped byte in the store loses one webhook of fifty, and the loss is logged.
func TestWebhook_StoreSurvivesAFlippedByte(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	store := t.TempDir()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", `- endpoint:
    method: POST
    path: /later
    response: {status: 201, body: {ok: true}}
    webhook: {url: "`+target.URL+`/{{query-params.n}}", sleep-time: 3600}
`)
	begin := func(args ...string) *Process {
		cmd := exec.Command(Program(t), append([]string{"-c", file, "--webhook-store", store}, args...)...)
		return LaunchCommand(t, cmd, t.TempDir(), nil).Listening()
	}
	p := begin()
	want := map[string]bool{}
	for i := range 50 {
		p.Do("POST", fmt.Sprintf("/later?n=number-%d", i), "").Want(t, 201, `{"ok":true}`)
		want[fmt.Sprintf("/number-%d", i)] = i != 17
	}
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Exited
	logs, err := filepath.Glob(filepath.Join(store, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("got %v, %v; want one file", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.Index(text, []byte("/number-17"))] ^= 1
	if err := os.WriteFile(logs[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	p = begin("--admin", "127.0.0.1:0")
	p.WaitLine(0, "ERROR the webhook store is damaged: records are lost", "records=1 places=1")
	admin := AdminOf(p)
	var l struct {
		Pending, Lost int
		Webhooks      []struct{ ID string }
	}
	harness.Until(t, "all are pending again", func() bool { admin.Get("/__admin/webhooks").Into(t, 200, &l); return l.Pending == 49 })
	if l.Lost != 1 || Value(t, Scrape(t, admin), "mockserver_webhook_store_lost_records_total") != 1 {
		t.Errorf("%d lost, want 1", l.Lost)
	}
	for _, w := range l.Webhooks {
		admin.Do("POST", "/__admin/webhooks/"+w.ID+"/fire", "").Into(t, 200, &struct{}{})
		if r := target.Next(t); !want[r.URI] {
			t.Errorf("got %s, which is lost, or came before", r.URI)
		} else {
			want[r.URI] = false
		}
	}
	target.NothingMore(t, p)
	if kept, err := filepath.Glob(filepath.Join(store, "*.log.damaged")); err != nil || len(kept) != 1 {
		t.Errorf("the damaged file is not kept: %v, %v", kept, err)
	}
}

// The process is killed fifty times while it accepts webhooks: every webhook whose response the
// client saw is delivered, and no webhook is delivered that was not requested.
func TestWebhook_StoreSurvivesKills(t *testing.T) {
	target := NewHookTarget(t, nil)
	store := t.TempDir()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", WithHook("/a", target.URL, ", body: '{{query-params.n}}'"))
	kills := 50
	if !volume.Full() {
		kills = 5
	}
	asked, accepted := 0, map[string]bool{}
	begin := func() *Process {
		return LaunchCommand(t, exec.Command(Program(t), "-c", file, "--webhook-store", store), t.TempDir(), nil).Listening()
	}
	for range kills {
		p := begin()
		after := 1 + rand.IntN(40)
		for i := 0; ; i++ {
			if i == after {
				go func() { _ = p.Cmd.Process.Signal(os.Kill) }() // at some point while the requests below are sent
			}
			asked++
			n := fmt.Sprint(asked)
			a, err := p.Try("POST", "/a?n="+n, "")
			if err != nil {
				break
			}
			if a.Status == 201 {
				accepted[n] = true
			}
		}
		<-p.Exited
	}
	p := begin()
	got := map[string]bool{}
	for len(accepted) > 0 {
		r := target.Next(t)
		got[r.Body] = true
		if r.Header.Get("Idempotency-Key") == "" {
			t.Error("a webhook without a key")
		}
		delete(accepted, r.Body)
	}
	for name := range got {
		var n int
		if _, err := fmt.Sscan(name, &n); err != nil || n < 1 || n > asked {
			t.Errorf("webhook %q was never asked for", name)
		}
	}
	p.Signal(syscall.SIGTERM)
	p.Exit()
}
