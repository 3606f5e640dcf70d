package fleet

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/listener/control/runs"
)

func TestParseMembers(t *testing.T) {
	for text, want := range map[string][]string{
		"127.0.0.1:8001":                     {"127.0.0.1:8001"},
		"127.0.0.1:8001-8003":                {"127.0.0.1:8001", "127.0.0.1:8002", "127.0.0.1:8003"},
		"a.example:1, [::1]:2-3":             {"a.example:1", "[::1]:2", "[::1]:3"},
		"127.0.0.1:8001,127.0.0.1:8003-8003": {"127.0.0.1:8001", "127.0.0.1:8003"},
	} {
		m, err := ParseMembers(text)
		if got, _ := m.look(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if m, err := ParseMembers("dns:mock-headless.ns:8001"); err != nil || m.name != "mock-headless.ns" || m.port != "8001" {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, text := range []string{
		"", ",", "127.0.0.1", "127.0.0.1:", ":8001", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:3-2", "127.0.0.1:1-", "127.0.0.1:1-65535", "a b:1",
		"127.0.0.1:1,127.0.0.1:1", "127.0.0.1:1-3,127.0.0.1:2", "dns:", "dns:x", "dns:x:0", "dns:x:1-2", "dns:x:1,y:2", "http://x:1", "127.0.0.1:+1", "a.example:1,", "127.0.0.1:1-1000,127.0.0.2:1",
	} {
		if m, err := ParseMembers(text); err == nil {
			t.Errorf("%q is read as %+v", text, m)
		}
	}
}

func FuzzParseMembers(f *testing.F) {
	f.Add("dns:x:1")
	f.Add("[::1]:1-3,a:2")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMembers(text)
		if err == nil && (m.name == "") == (len(m.fixed) == 0) || len(m.fixed) > mostMembers {
			t.Errorf("%q is read as %+v", text, m)
		}
	})
}

func TestNew_OffLoopbackATokenIsNeeded(t *testing.T) {
	for members, needed := range map[string]bool{"127.0.0.1:1,[::1]:2,localhost:3": false, "127.0.0.1:1,10.0.0.1:1": true, "dns:x:1": true, "x:1": true} {
		if _, err := New(Options{Members: members}); (err != nil) != needed {
			t.Errorf("%s: %v", members, err)
		}
		if _, err := New(Options{Members: members, Token: "x"}); err != nil {
			t.Errorf("%s with a token: %v", members, err)
		}
	}
}

func TestOverview_Agree(t *testing.T) {
	a, b := Replica{Instance: "a", Ready: true, Fingerprint: "x"}, Replica{Instance: "b", Ready: true, Fingerprint: "x"}
	other, stopping := b, b
	other.Fingerprint, stopping.Ready, stopping.Why = "y", false, "it stops"
	for _, c := range []struct {
		name     string
		expected int
		members  []Member
		why      string // "" if they agree
		print    string
	}{
		{"two", 0, []Member{{Address: "1", Replica: a}, {Address: "2", Replica: b}}, "", "x"},
		{"two, as expected", 2, []Member{{Address: "1", Replica: a}, {Address: "2", Replica: b}}, "", "x"},
		{"none", 0, nil, "no replica was found", ""},
		{"too few", 3, []Member{{Address: "1", Replica: a}, {Address: "2", Replica: b}}, "the number of replicas is 2; expected 3", "x"},
		{"too many", 1, []Member{{Address: "1", Replica: a}, {Address: "2", Replica: b}}, "the number of replicas is 2; expected 1", "x"},
		{"another configuration", 0, []Member{{Address: "1", Replica: a}, {Address: "2", Replica: other}}, "2 serves a different configuration from 1", ""},
		{"one stops", 0, []Member{{Address: "1", Replica: a}, {Address: "2", Replica: stopping}}, "2 is not ready: it stops", "x"},
		{"one is silent", 0, []Member{{Address: "1", Silent: "gone"}, {Address: "2", Replica: b}}, "1 does not answer: gone", "x"},
	} {
		s := Overview{Expected: c.expected, Replicas: c.members}
		s.agree()
		if s.Agreed != (c.why == "") || strings.Join(s.Why, "; ") != c.why || s.Fingerprint != c.print {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// After the end of a run, a replica that does not answer once may still know how its webhooks ended.
func TestRun_IsNotFinalBecauseAReplicaWasSilentOnce(t *testing.T) {
	final := &runs.Totals{Final: true}
	for name, c := range map[string]struct {
		part  part
		ended time.Duration // how long ago
		want  bool
	}{
		"final":                       {part{Part: runs.Part{Totals: final}}, 0, true},
		"pending":                     {part{Part: runs.Part{Totals: &runs.Totals{}}}, time.Hour, false},
		"no answer":                   {part{Part: runs.Part{Totals: &runs.Totals{}}, failed: errors.New("timeout")}, time.Second, false},
		"no answer after settle":      {part{Part: runs.Part{Totals: &runs.Totals{}}, failed: errors.New("timeout")}, time.Hour, true},
		"never read, but asked again": {part{failed: errors.New("timeout")}, time.Second, false},
		"never read after settle":     {part{failed: errors.New("timeout")}, time.Hour, true},
		"the run is not known":        {part{Part: runs.Part{Totals: &runs.Totals{}}, failed: errors.New("404"), gone: true}, time.Second, true},
		"no answer, but it ended":     {part{Part: runs.Part{Totals: final}, failed: errors.New("timeout")}, time.Second, true},
		"lost before the end":         {part{Part: runs.Part{Totals: &runs.Totals{}, Lost: "dead"}, failed: errors.New("refused")}, time.Second, true},
	} {
		end := time.Now().Add(-c.ended)
		r := &Run{settle: 30 * time.Second, begin: end.Add(-time.Minute), parts: []*part{{Part: runs.Part{Totals: final}}, &c.part}}
		if got := r.merged(&end).Final; got != c.want {
			t.Errorf("%s: final is %v, want %v", name, got, c.want)
		}
	}
}

func TestOrder_SettleIsSentWithAUnit(t *testing.T) {
	for text, want := range map[string]string{"5": "5s", "1.5": "1.5s", "2m": "2m0s", "0": "0s"} {
		o, err := orderOf("run", []string{"--settle", text, "--", "true"}, func(string) string { return "" })
		if err != nil || o.Settle != want {
			t.Errorf("--settle %s: %q, %v; want %s", text, o.Settle, err, want)
		}
	}
}

// A report is found by its name in any directory, and by any name.
func TestReportOf_Directories(t *testing.T) {
	for dir, name := range map[string]string{"reports": "one", "out[1]": "a*b", "[": "[x"} {
		dir = filepath.Join(t.TempDir(), dir)
		text := fmt.Sprintf(`{"form": 1, "id": "r1", "name": %q}`, name)
		harness.WriteFile(t, dir, fileName(name)+"-r1.json", text)
		if r, err := new(Fleet).reportOf(name, order{report: dir}, 0); err != nil || r.ID != "r1" {
			t.Errorf("%s in %s: %+v, %v", name, dir, r, err)
		}
	}
}

// What the load generator did is printed for a run that can be trusted, too.
func TestReport_ExplanationsFollowTheReasons(t *testing.T) {
	var b strings.Builder
	report := &runs.Report{Verdict: runs.RunVerdict{
		Text: "T.", Reasons: []runs.RunCause{{Code: "late", Text: "slow", Replica: "a:1"}}, Explanations: []runs.RunCause{{Code: "generator", Text: "it stopped", Replica: "b:1"}},
	}}
	if want := "0 requests, 0 a second. T.\n  a:1 late: slow\n  b:1 generator: it stopped\n"; report.Write(&b) != nil || b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
