//go:build linux

package e2e_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// When connections have used up their share of the file descriptors, some are left for the admin
// address, which reports the problem. Waiting connections are served as soon as descriptors are
// free again.
func TestProgram_ServesTheAdminAddressWithoutDescriptors(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", "- endpoint: {path: /a, response: {body: fine}}\n")
	p := LaunchCommand(t, exec.Command("sh", "-c", `ulimit -n 64; exec "$0" "$@"`, Program(t), "-c", file, "--admin", "127.0.0.1:0"), t.TempDir(), nil).Listening()
	_, admin, _ := strings.Cut(p.WaitLine(0, "admin", "http://"), "http://")
	admin = "http://" + strings.FieldsFunc(admin, func(r rune) bool { return r == ' ' || r == '"' || r == '/' })[0]
	release := holdOpen(p, 80, "")
	p.WaitLine(0, "cannot accept a connection", "too many open files")
	var verdict struct {
		Trusted bool
		Reasons []struct{ Code string }
	}
	for deadline := time.Now().Add(harness.Patience); verdict.Reasons == nil || verdict.Trusted; {
		resp, err := http.Get(admin + "/__admin/verdict")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(resp.Body).Decode(&verdict)
		_ = resp.Body.Close()
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("verdict %+v, %v; want one that is not trusted", verdict, err)
		}
	}
	release()
	p.Get("/a").Want(t, 200, "fine")
}
