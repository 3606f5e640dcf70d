//go:build unix

package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gopkg.in/yaml.v3"

	"mockserver/internal/harness"
)

// fakeRelease returns a directory like dist/ of a release whose programs are scripts that print their
// platform, and the sums of the programs by platform.
func fakeRelease(t *testing.T, version string) (dir string, sums map[string]string) {
	t.Helper()
	dir, sums = t.TempDir(), map[string]string{}
	list := ""
	for _, platform := range releasePlatforms {
		script := "#!/bin/sh\necho " + platform + "\n"
		name := "mockserver-" + version + "-" + platform
		harness.WriteFile(t, dir, name, script)
		sums[platform] = fmt.Sprintf("%x", sha256.Sum256([]byte(script)))
		list += sums[platform] + "  " + name + "\n"
	}
	harness.WriteFile(t, dir, "SHA256SUMS", list)
	return dir, sums
}

var releasePlatforms = []string{"linux-amd64", "linux-arm64", "macos-amd64", "macos-arm64", "windows-amd64.exe", "windows-arm64.exe"}

// tool runs a program, and returns its exit code and all its output.
func tool(t *testing.T, dir string, env []string, name string, args ...string) (code int, printed string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// makePackages runs the script that makes packages of a release.
func makePackages(t *testing.T, version, dir string) (code int, printed string) {
	t.Helper()
	need(t, "bash")
	return tool(t, dir, []string{"GITHUB_REPOSITORY=acme/mock"}, File("packaging/build.sh"), version, dir)
}

// readJSON decodes a file.
func readJSON(t *testing.T, into any, path ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPackages_ManifestsHaveTheSums(t *testing.T) {
	t.Parallel()
	dir, sums := fakeRelease(t, "v1.2.3-rc.1")
	if code, printed := makePackages(t, "v1.2.3-rc.1", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, printed)
	}
	url := func(platform string) string {
		return "https://github.com/acme/mock/releases/download/v1.2.3-rc.1/mockserver-v1.2.3-rc.1-" + platform
	}
	var scoop struct {
		Version, Bin string
		Architecture map[string]struct{ URL, Hash string }
	}
	readJSON(t, &scoop, dir, "mockserver.json")
	if scoop.Version != "1.2.3-rc.1" || scoop.Bin != "mockserver.exe" || len(scoop.Architecture) != 2 {
		t.Errorf("the Scoop manifest is %+v", scoop)
	}
	for bits, platform := range map[string]string{"64bit": "windows-amd64.exe", "arm64": "windows-arm64.exe"} {
		if got := scoop.Architecture[bits]; got.URL != url(platform)+"#/mockserver.exe" || got.Hash != sums[platform] {
			t.Errorf("Scoop, %s: %+v, want the sum %s", bits, got, sums[platform])
		}
	}
	formula, err := os.ReadFile(filepath.Join(dir, "mockserver.rb"))
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`on_(\w+) do|url "(.*)"|sha256 "(.*)"`).FindAllStringSubmatch(string(formula), -1)
	place, list := [2]string{}, []string{}
	for _, m := range got {
		switch {
		case m[1] == "macos" || m[1] == "linux":
			place[0] = m[1]
		case m[1] != "":
			place[1] = map[string]string{"arm": "arm64", "intel": "amd64"}[m[1]]
		case m[2] != "":
			list = append(list, place[0]+"-"+place[1]+" "+m[2])
		default:
			list[len(list)-1] += " " + m[3]
		}
	}
	var want []string
	for _, platform := range []string{"macos-arm64", "macos-amd64", "linux-arm64", "linux-amd64"} {
		want = append(want, platform+" "+url(platform)+" "+sums[platform])
	}
	if !slices.Equal(list, want) {
		t.Errorf("the formula has\n%s\nwant\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
	if _, err := exec.LookPath("ruby"); err == nil {
		if code, printed := tool(t, dir, nil, "ruby", "-c", "mockserver.rb"); code != 0 {
			t.Errorf("ruby: %s", printed)
		}
	}
}

func TestPackages_NPM(t *testing.T) {
	t.Parallel()
	dir, _ := fakeRelease(t, "v1.2.3")
	if code, printed := makePackages(t, "v1.2.3", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, printed)
	}
	type fields struct {
		Name, Version        string
		Bin                  map[string]string
		OS, CPU, Files       []string
		OptionalDependencies map[string]string
	}
	var main fields
	readJSON(t, &main, dir, "npm/mockserver/package.json")
	if main.Name != "@example/mockserver" || main.Version != "1.2.3" || main.Bin["mockserver"] != "mockserver.js" || len(main.OptionalDependencies) != 6 {
		t.Errorf("package.json has %+v", main)
	}
	for _, c := range []struct{ os, cpu, program, is string }{
		{"linux", "x64", "mockserver", "linux-amd64"}, {"linux", "arm64", "mockserver", "linux-arm64"},
		{"darwin", "x64", "mockserver", "macos-amd64"}, {"darwin", "arm64", "mockserver", "macos-arm64"},
		{"win32", "x64", "mockserver.exe", "windows-amd64.exe"}, {"win32", "arm64", "mockserver.exe", "windows-arm64.exe"},
	} {
		var one fields
		at := filepath.Join(dir, "npm", c.os+"-"+c.cpu)
		readJSON(t, &one, at, "package.json")
		name := main.Name + "-" + c.os + "-" + c.cpu
		if one.Name != name || one.Version != "1.2.3" || main.OptionalDependencies[name] != "1.2.3" ||
			!slices.Equal(one.OS, []string{c.os}) || !slices.Equal(one.CPU, []string{c.cpu}) || !slices.Equal(one.Files, []string{c.program}) {
			t.Errorf("%s: %+v", name, one)
		}
		if printed, err := exec.Command(filepath.Join(at, c.program)).CombinedOutput(); err != nil || string(printed) != c.is+"\n" {
			t.Errorf("%s contains the program of %q, %v", name, printed, err)
		}
	}
}

func TestPackages_Refused(t *testing.T) {
	t.Parallel()
	dir, _ := fakeRelease(t, "v1.2.3")
	if code, printed := makePackages(t, "e54872b6-dirty", dir); code != 0 || !strings.HasPrefix(printed, "no packages: e54872b6-dirty is not a version") {
		t.Errorf("of a commit: exit code %d, %s", code, printed)
	}
	harness.WriteFile(t, dir, "SHA256SUMS", strings.Repeat("0", 64)+"  mockserver-v1.2.3-linux-amd64\n")
	if code, printed := makePackages(t, "v1.2.3", dir); code == 0 || !strings.Contains(printed, "SHA256SUMS has no mockserver-v1.2.3-linux-arm64") {
		t.Errorf("without all sums: exit code %d, %s", code, printed)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(releasePlatforms)+1 {
		t.Errorf("something was made: %v, %v", entries, err)
	}
}

func TestPackages_TheScriptInstallsWhatHasTheSum(t *testing.T) {
	t.Parallel()
	need(t, "sh", "curl")
	dir, _ := fakeRelease(t, "v1.2.3")
	if code, printed := makePackages(t, "v1.2.3", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, printed)
	}
	bin := filepath.Join(t.TempDir(), "new", "bin")
	env := []string{"MOCKSERVER_FROM=file://" + dir, "MOCKSERVER_BIN=" + bin}
	platform := strings.Replace(runtime.GOOS, "darwin", "macos", 1) + "-" + runtime.GOARCH
	if !slices.Contains(releasePlatforms, platform) {
		code, printed := tool(t, dir, env, "sh", "install.sh")
		if code == 0 {
			t.Errorf("it installs on %s: %s", platform, printed)
		}
		return
	}
	code, printed := tool(t, dir, env, "sh", "install.sh")
	program := filepath.Join(bin, "mockserver")
	if want := "installed " + platform + " as " + program + "\n" + bin + " is not on the PATH\n"; code != 0 || printed != want {
		t.Errorf("exit code %d, got %q, want %q", code, printed, want)
	}
	harness.WriteFile(t, dir, "mockserver-v1.2.3-"+platform, "#!/bin/sh\necho changed\n")
	if code, printed = tool(t, dir, env, "sh", "install.sh"); code != 1 || !strings.Contains(printed, "; expected ") {
		t.Errorf("another program: exit code %d, %q", code, printed)
	}
	if says, err := exec.Command(program).Output(); err != nil || string(says) != platform+"\n" {
		t.Errorf("what was installed prints %q, %v", says, err)
	}
	if entries, err := os.ReadDir(bin); err != nil || len(entries) != 1 {
		t.Errorf("%s has %v, %v", bin, entries, err)
	}
}

// npmLauncher returns the launcher, as installed next to a program that is the given script.
func npmLauncher(t *testing.T, script string) string {
	t.Helper()
	need(t, "node", "sh")
	launcher, err := os.ReadFile(File("packaging/npm/mockserver.js"))
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules", "@acme")
	path := harness.WriteFile(t, filepath.Join(modules, "mock"), "mockserver.js", string(launcher))
	harness.WriteFile(t, filepath.Join(modules, "mock"), "package.json", `{"name": "@acme/mock"}`)
	if script != "" {
		name := "mock-" + runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
		program := harness.WriteFile(t, filepath.Join(modules, name), "mockserver", "#!/bin/sh\n"+script)
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestPackages_TheLauncherPassesArgumentsAndExitCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, printed string
		code            int
	}{
		"arguments":     {`printf '<%s>' "$@"; echo error >&2; exit 3`, "<a b><--port><0>error\n", 3},
		"success":       {"exit 0", "", 0},
		"not installed": {"", "mockserver: the package @acme/mock-", 1},
	} {
		code, printed := tool(t, t.TempDir(), nil, "node", npmLauncher(t, c.script), "a b", "--port", "0")
		if code != c.code || !strings.HasPrefix(printed, c.printed) || c.printed == "" && printed != "" {
			t.Errorf("%s: exit code %d, %q; want %d, %q", name, code, printed, c.code, c.printed)
		}
	}
}

func TestPackages_TheLauncherPassesSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		trap   string
		code   int // -1 if the launcher ends by the signal
	}{
		{syscall.SIGTERM, "exit 5", 5},
		{syscall.SIGINT, "exit 6", 6},
		{syscall.SIGHUP, "exit 7", 7},
		{syscall.SIGTERM, "kill -KILL $$", -1},
	} {
		name := map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGINT: "INT", syscall.SIGHUP: "HUP"}[c.signal]
		cmd := exec.Command("node", npmLauncher(t, "trap '"+c.trap+"' "+name+"\necho ready\nread line\n"))
		hold, err := cmd.StdinPipe() // the program reads it until the signal
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n, err := out.Read(make([]byte, 100)); n == 0 {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		_ = hold.Close()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if got := cmd.ProcessState.ExitCode(); got != c.code || c.code < 0 && status.Signal() != syscall.SIGKILL {
			t.Errorf("%v, %s: the launcher ends with %v", c.signal, c.trap, cmd.ProcessState)
		}
	}
}

func TestPackages_NotesOfARelease(t *testing.T) {
	t.Parallel()
	need(t, "bash", "awk")
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.2.0] - 2026-01-02\n\n### Added\n\n- two\n\n## [1.1.0] - 2025-01-02\n\n- one\n"
	for version, want := range map[string]string{
		"v1.2.0": "### Added\n\n- two\n", "v1.1.0": "- one\n", "v1.2.0-rc.1": "### Added\n\n- two\n", "v1.3.0-rc.1": "- new\n", "v1.3.0": "", "v1.1": "",
	} {
		notes := exec.Command(File("packaging/notes.sh"), version)
		notes.Stdin = strings.NewReader(changelog)
		if got, err := notes.Output(); string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q (%v), want %q", version, got, err, want)
		}
	}
}

// The step of the action that runs the load test passes each input to the script.
func TestAction_PassesItsInputs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(File("deploy/action/action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct {
			Description, Default string
			Required             bool
		}
		Runs struct {
			Using string
			Steps []struct {
				If, Shell, Run, Uses string
				Env, With            map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(File("deploy/action/run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, step := range action.Runs.Steps {
		if step.Run != "" && step.Shell != "bash" {
			t.Errorf("a step has the shell %q", step.Shell)
		}
		for name := range step.Env {
			if !strings.Contains(step.Run+string(script), "$"+name) && !strings.Contains(string(script), "${"+name) {
				t.Errorf("nothing reads %s", name)
			}
		}
		for _, value := range slices.AppendSeq(slices.AppendSeq([]string{step.If}, maps.Values(step.Env)), maps.Values(step.With)) {
			for _, m := range regexp.MustCompile(`inputs\.(\w+)`).FindAllStringSubmatch(value, -1) {
				used[m[1]] = true
			}
		}
	}
	for name, input := range action.Inputs {
		if !used[name] || input.Description == "" {
			t.Errorf("the input %s is not used, or has no description: %+v", name, input)
		}
		delete(used, name)
	}
	if len(used) > 0 || action.Runs.Using != "composite" {
		t.Errorf("the action uses %v, which are not inputs", used)
	}
}

func TestAction_FailsOnTheVerdict(t *testing.T) {
	t.Parallel()
	need(t, "bash", "curl")
	load := "curl -sf $MOCK_URL/tasks/7 >/dev/null"
	if _, err := exec.LookPath("wrk"); err == nil {
		load = "wrk -t1 -c4 -d1s $MOCK_URL/tasks/7"
	}
	for _, c := range []struct {
		name, config, command, verdict string
		code                           int
		says                           string
	}{
		{"trusted", File("examples/tasks.yml"), load, trusts, 0, "can be trusted"},
		{"not trusted", File("examples/tasks.yml"), load, trustsNot, 3, "::error::The timing cannot be trusted"},
		{"a command that fails", File("examples/tasks.yml"), "false; exit 8", trusts, 1, ""},
		{"a command that fails with 3", File("examples/tasks.yml"), "exit 3", trusts, 3, "run: exit code 3, that of the command"},
		{"an invalid configuration", harness.WriteFile(t, t.TempDir(), "bad.yml", "- endpont: {}\n"), load, trusts, 2, "unknown key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := []string{
				"PROGRAM=" + Program(t), "CONFIG=" + c.config, "COMMAND=" + c.command, "NAME=a run", "PORT=0",
				"ARGUMENTS=--verdict " + c.verdict + " --sentry-dsn /*", "REPORT=report", // which is no pattern
			}
			code, says := tool(t, dir, env, File("deploy/action/run.sh"))
			if code != c.code || !strings.Contains(says, c.says) || strings.Contains(says, "::error::") != (c.verdict == trustsNot) {
				t.Errorf("exit code %d, want %d; got the output %q, want %q in it", code, c.code, says, c.says)
			}
			reports, err := filepath.Glob(filepath.Join(dir, "report", "*.html"))
			if err != nil || (len(reports) == 1) != (c.code != 2) {
				t.Errorf("the reports are %v, %v", reports, err)
			}
		})
	}
}
