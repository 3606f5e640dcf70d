//go:build unix && !race

// Building for six platforms takes minutes when nothing is cached, and there are no data races to
// find, so runs with the race detector leave these tests out.

package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gopkg.in/yaml.v3"

	"mockserver/internal/harness"
)

const (
	releaseVersion = "v9.8.7-rc.1"
	releaseCommit  = "0123456789ab"
)

// released builds a release once for all tests, and returns its directory. The tests that use it
// are not parallel, so that no other test runs while the build keeps the machine busy.
var released = func() func(*testing.T) string {
	var once sync.Once
	var dir string
	var failed error
	return func(t *testing.T) string {
		t.Helper()
		buildsOnly(t)
		if _, err := exec.LookPath("make"); err != nil {
			t.Skip("a release needs make, which is not installed")
		}
		once.Do(func() {
			dir = filepath.Join(scratch(), "dist")
			failed = tryBuild(t, File(), nil, "make", "-j"+strconv.Itoa(runtime.NumCPU()), "release",
				"DIST="+dir, "VERSION="+releaseVersion, "COMMIT="+releaseCommit)
		})
		if failed != nil {
			t.Fatal(failed)
		}
		return dir
	}
}()

// tools contains the programs that builtTool has built, by their directories.
var tools = struct {
	sync.Mutex
	built map[string]error
}{built: map[string]error{}}

// builtTool returns the path of a program of .ci/tools, such as the one that renders as Helm does. It is
// a test binary, since only tests run it. The first test that needs it builds it, and the other
// tests wait. Linking Helm or BuildKit takes many seconds.
func builtTool(t *testing.T, dir string) string {
	t.Helper()
	buildsOnly(t)
	program := filepath.Join(scratch(), filepath.Base(dir))
	tools.Lock()
	defer tools.Unlock()
	err, known := tools.built[dir]
	if !known {
		err = tryBuild(t, File(dir), nil, "go", "test", "-c", "-o", program, ".")
		tools.built[dir] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// buildsOnly skips a test that builds what takes minutes with nothing cached, unless
// MOCKSERVER_RELEASE_TESTS=1 is set, as .ci/nightly does.
func buildsOnly(t *testing.T) {
	t.Helper()
	if os.Getenv("MOCKSERVER_RELEASE_TESTS") != "1" {
		t.Skip("takes minutes; MOCKSERVER_RELEASE_TESTS=1 runs it")
	}
}

// tryBuild runs a build command. If the test ends first, it kills the command together with the
// processes that it has started.
func tryBuild(t *testing.T, dir string, env []string, command ...string) error {
	build := exec.CommandContext(t.Context(), command[0], command[1:]...)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOTMPDIR="+scratch()) // go build leaves files when it is killed
	build.Env = append(build.Env, env...)
	build.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	build.Cancel = func() error { return syscall.Kill(-build.Process.Pid, syscall.SIGKILL) }
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// releases contains the platform and the binary's format by file name.
var releases = map[string]struct {
	goos, goarch string
	format       func(path string) (string, error)
}{
	"linux-amd64":       {"linux", "amd64", elfMachine},
	"linux-arm64":       {"linux", "arm64", elfMachine},
	"macos-amd64":       {"darwin", "amd64", machoCPU},
	"macos-arm64":       {"darwin", "arm64", machoCPU},
	"windows-amd64.exe": {"windows", "amd64", peMachine},
	"windows-arm64.exe": {"windows", "arm64", peMachine},
}

// releasePackages are the packages of a release that have sums, by the ends of their names.
var releasePackages = []string{"linux-amd64.deb", "linux-amd64.rpm", "linux-arm64.deb", "linux-arm64.rpm"}

// elfMachine returns the machine of an ELF file, or an error if it is not static.
func elfMachine(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return "", fmt.Errorf("it is not static: it has a %v", p.Type)
		}
	}
	libraries, err := f.ImportedLibraries()
	if err == nil && len(libraries) > 0 {
		err = fmt.Errorf("it is not static: it needs %v", libraries)
	}
	return map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine], err
}

func machoCPU(path string) (string, error) {
	f, err := macho.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu], nil
}

func peMachine(path string) (string, error) {
	f, err := pe.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[f.Machine], nil
}

func TestRelease_ABinaryForEachPlatform(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	dir := released(t)
	want := []string{"SHA256SUMS", "install.sh", "mockserver.json", "mockserver.rb", "npm"}
	for platform := range releases {
		want = append(want, "mockserver-"+releaseVersion+"-"+platform)
	}
	for _, name := range releasePackages {
		want = append(want, "mockserver-"+releaseVersion+"-"+name)
	}
	slices.Sort(want)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for platform, is := range releases {
		path := filepath.Join(dir, "mockserver-"+releaseVersion+"-"+platform)
		if machine, err := is.format(path); err != nil || machine != is.goarch {
			t.Errorf("%s: it is for %q (%v), want %s", platform, machine, err, is.goarch)
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		built := map[string]string{}
		for _, s := range info.Settings {
			built[s.Key] = s.Value
		}
		for key, value := range map[string]string{"GOOS": is.goos, "GOARCH": is.goarch, "CGO_ENABLED": "0", "-trimpath": "true"} {
			if built[key] != value {
				t.Errorf("%s: it is built with %s=%s, want %s", platform, key, built[key], value)
			}
		}
		if stat, err := os.Stat(path); err != nil || stat.Mode().Perm()&0o111 != 0o111 {
			t.Errorf("%s: it has the mode %v (%v), want one that may be run", platform, stat.Mode(), err)
		}
	}
}

func TestRelease_TheChecksumsAreThoseOfTheBinaries(t *testing.T) {
	dir := released(t)
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	sums := regexp.MustCompile(`(?m)^([0-9a-f]{64})  (\S+)$`).FindAllStringSubmatch(string(text), -1)
	if want := len(releases) + len(releasePackages); len(sums) != want || strings.Count(string(text), "\n") != want {
		t.Fatalf("got\n%s\nwant a line for each of %d binaries and packages", text, want)
	}
	for _, sum := range sums {
		content, err := os.ReadFile(filepath.Join(dir, sum[2]))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum[1] {
			t.Errorf("%s: the sum is %x, SHA256SUMS has %s", sum[2], got, sum[1])
		}
	}
	if _, err := exec.LookPath("sha256sum"); err == nil {
		check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
		check.Dir = dir
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %v\n%s", err, out)
		}
	}
}

// nativeRelease returns the released binary for the machine that runs the tests.
func nativeRelease(t *testing.T) string {
	t.Helper()
	for platform, is := range releases {
		if is.goos == runtime.GOOS && is.goarch == runtime.GOARCH {
			return filepath.Join(released(t), "mockserver-"+releaseVersion+"-"+platform)
		}
	}
	t.Skip("no binary is released for this platform")
	return ""
}

func TestRelease_TheNativeBinaryRuns(t *testing.T) {
	native := nativeRelease(t)
	v := LaunchCommand(t, exec.Command(native, "-v"), t.TempDir(), nil)
	want := "mockserver " + releaseVersion + " (commit " + releaseCommit + ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	if code := v.Exit(); code != 0 || !slices.Equal(v.Output(), []string{want}) {
		t.Errorf("-v: got %q and exit code %d, want %q and 0", v.Output(), code, want)
	}
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("released"))
	p := LaunchCommand(t, exec.Command(native, "-c", file), t.TempDir(), nil).Listening()
	p.Get("/a").Want(t, 200, "released")
	h := LaunchCommand(t, exec.Command(native, "health"), t.TempDir(), []string{"PORT=" + PortOf(t, p.URL)})
	if code := h.Exit(); code != 0 {
		t.Errorf("health: got exit code %d", code)
	}
}

// The packages are installed from their files, as npm does it from the registry, and the program gets
// the signals of the launcher.
func TestRelease_NPMInstallsAndRuns(t *testing.T) {
	need(t, "npm", "npx")
	dist, dir := released(t), t.TempDir()
	harness.WriteFile(t, dir, "package.json", `{"private": true}`)
	cpu := strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	for _, name := range []string{"mockserver", runtime.GOOS + "-" + cpu} {
		if code, printed := tool(t, dir, nil, "npm", "pack", "--silent", filepath.Join(dist, "npm", name)); code != 0 {
			t.Fatalf("npm pack: %s", printed)
		}
	}
	packed, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packed) != 2 {
		t.Fatalf("npm packed %v, %v", packed, err)
	}
	install := append([]string{"install", "--offline", "--no-audit", "--no-fund"}, packed...)
	if code, printed := tool(t, dir, nil, "npm", install...); code != 0 {
		t.Fatalf("npm install: %s", printed)
	}
	if code, printed := tool(t, dir, nil, "npx", "--offline", "mockserver", "-v"); code != 0 || !strings.HasPrefix(printed, "mockserver "+releaseVersion+" ") {
		t.Errorf("npx: exit code %d, %s", code, printed)
	}
	file := harness.WriteFile(t, dir, "mock.yml", One("by npm"))
	p := LaunchCommand(t, exec.Command(filepath.Join(dir, "node_modules", ".bin", "mockserver"), "-c", file), dir, nil).Listening()
	p.Get("/a").Want(t, 200, "by npm")
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code != 0 {
		t.Errorf("after SIGTERM: exit code %d", code)
	}
}

func TestRelease_LinuxPackagesInstall(t *testing.T) {
	dist := released(t)
	if runtime.GOOS != "linux" || !slices.Contains(releasePackages, "linux-"+runtime.GOARCH+".deb") {
		t.Skip("no package is for this platform")
	}
	file := filepath.Join(dist, "mockserver-"+releaseVersion+"-linux-"+runtime.GOARCH)
	for name, install := range map[string]func(root string) []string{
		"dpkg": func(root string) []string {
			harness.WriteFile(t, root, "var/lib/dpkg/status", "")
			harness.WriteFile(t, root, "var/lib/dpkg/updates/.keep", "")
			harness.WriteFile(t, root, "var/lib/dpkg/info/.keep", "")
			return []string{"--root=" + root, "--force-not-root", "--force-script-chrootless", "--install", file + ".deb"}
		},
		"rpm": func(root string) []string { return []string{"--root", root, "--install", "--noscripts", file + ".rpm"} },
	} {
		t.Run(name, func(t *testing.T) {
			need(t, name)
			root := t.TempDir()
			if code, printed := tool(t, root, nil, name, install(root)...); code != 0 {
				t.Fatalf("exit code %d: %s", code, printed)
			}
			sameBytes(t, file, filepath.Join(root, "usr/bin/mockserver"))
		})
	}
}

// The working tree of another user, in another directory, produces the same program.
func TestRelease_TheSameSourceGivesTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while, because it builds programs")
	}
	native := nativeRelease(t)
	tree := t.TempDir()
	copyFiles(t, File(), tree, readDockerfile(t, File()).Context)
	makefile, err := os.ReadFile(File("Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	harness.WriteFile(t, tree, "Makefile", string(makefile))
	again := filepath.Join("out", filepath.Base(native))
	if err := tryBuild(t, tree, nil, "make", again, "DIST=out", "VERSION="+releaseVersion, "COMMIT="+releaseCommit); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, native, filepath.Join(tree, again))
}

func sameBytes(t *testing.T, a, b string) {
	t.Helper()
	first, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("%s (%d bytes) and %s (%d bytes) differ", a, len(first), b, len(second))
	}
}

// copyFiles copies the named files from one directory to another.
func copyFiles(t *testing.T, from, to string, names []string) {
	t.Helper()
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		harness.WriteFile(t, to, name, string(content))
	}
}

func TestRelease_MakeListsItsTargets(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	bare, err := exec.Command("make", "--no-print-directory", "-C", File()).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"build", "test", "check", "release", "image", "clean", "help"} {
		if !regexp.MustCompile(`(?m)^ *make ` + target + ` +\S`).Match(bare) {
			t.Errorf("make does not list the target %s:\n%s", target, bare)
		}
		if out, err := exec.Command("make", "--no-print-directory", "-C", File(), "--dry-run", target).CombinedOutput(); err != nil {
			t.Errorf("make %s: %v\n%s", target, err, out)
		}
	}
}

func TestRelease_ImageTags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ref   string
		known string // the tags of the repository
		want  string // the image tags; "" if the tag is refused
	}{
		{"refs/heads/feature", "", ""},
		{"refs/heads/v1", "v1", ""},
		{"refs/heads/v1.0", "v1.0", ""},
		{"refs/pull/7/merge", "", ""},
		{"refs/tags/1.0.0", "1.0.0", ""},
		{"v1.0.0", "v1.0.0", ""},
		{"refs/tags/v", "v", ""},
		{"refs/tags/v2", "v2", ""},
		{"refs/tags/v1.", "v1.", ""},
		{"refs/tags/v1..2", "v1..2", ""},
		{"refs/tags/vnext", "vnext", ""},
		{"refs/tags/v-rc.1", "v-rc.1", ""},
		{"refs/tags/v1.2.3-", "v1.2.3-", ""},
		{"refs/tags/v1.2.3+b7", "v1.2.3+b7", ""},
		{"refs/tags/v1.2.3-rc+b7", "v1.2.3-rc+b7", ""},
		{"refs/tags/v1.2.3-a/b", "v1.2.3-a/b", ""},
		{"refs/tags/v1.2.3", "", ""}, // tags were not fetched
		{"refs/tags/v1.2.3", "v1.2.30 v1.2", ""},
		{"refs/heads/main", "v0.4.0", "dev"},
		{"refs/heads/main", "", "dev"},
		{"refs/tags/v0.4.0", "v0.4.0", "v0.4.0 latest"},
		{"refs/tags/v0.3.3.1", "v0.3.3 v0.3.3.1", "v0.3.3.1 latest"},
		{"refs/tags/v0.3.3", "v0.3.3 v0.3.3.1", "v0.3.3"},
		{"refs/tags/v0.10.0", "v0.10.0 v0.2.0 v0.9.9", "v0.10.0 latest"},
		{"refs/tags/v1.0.1", "v1.0.0 v1.0.1 v2.0.0", "v1.0.1"},
		{"refs/tags/v2.0.0", "v1.0.1 v2.0.0 v3 vnext v9.9.9-rc.1 v9.9.9+b7 w9.9.9", "v2.0.0 latest"},
		{"refs/tags/v1.0.0-rc.1", "v1.0.0-rc.1", "v1.0.0-rc.1"},
		{"refs/tags/v2.0.0-rc.1", "v1.0.0 v2.0.0-rc.1", "v2.0.0-rc.1"},
		{"refs/tags/v2.0.0-rc.1-2", "v1.0.0 v2.0.0-rc.1-2", "v2.0.0-rc.1-2"},
	} {
		tags := exec.Command(File(".ci/tags.sh"), c.ref, "registry.test/Some/Name")
		tags.Stdin = strings.NewReader(strings.ReplaceAll(c.known, " ", "\n") + "\n")
		want := ""
		if names := strings.Fields(c.want); len(names) > 0 {
			want = "version=" + names[0] + "\ntags=registry.test/some/name:" + strings.Join(names, ",registry.test/some/name:") + "\n"
		}
		if out, err := tags.Output(); string(out) != want || (err != nil) != (want == "") {
			t.Errorf("%s of %s: got %q (%v), want %q", c.ref, c.known, out, err, want)
		}
	}
}

// actionlint returns the problems of a workflow file; "" if there are none.
func actionlint(t *testing.T, file string) string {
	t.Helper()
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	lint := exec.Command("go", "tool", "actionlint", "-no-color", "-shellcheck=", "-pyflakes=", absolute)
	lint.Dir = File(".ci/tools")
	var problems strings.Builder // written by go itself, which reports its downloads there
	lint.Stderr = &problems
	out, err := lint.Output()
	if (err != nil) != (len(out) > 0) {
		t.Fatalf("actionlint: %v\n%s%s", err, out, problems.String())
	}
	return string(out)
}

// workflows returns the files of the workflows.
func workflows(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(File(".github/workflows/*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("found the workflows %q, %v", files, err)
	}
	return files
}

func TestRelease_WorkflowsAreValid(t *testing.T) {
	for _, file := range workflows(t) {
		if says := actionlint(t, file); says != "" {
			t.Error(says)
		}
	}
	text, err := os.ReadFile(File(".github/workflows/release.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, says string }{
		"a job that is not there": {"needs: check", "needs: chekc", "chekc"},
		"an output that is not":   {"steps.tags.outputs.tags", "steps.tag.outputs.tags", `property "tag" is not defined`},
		"an input that is not":    {"platforms:", "platform:", `input "platform" is not defined`},
		"a key that is not":       {"timeout-minutes:", "time-out:", `unexpected key "time-out"`},
	} {
		if !bytes.Contains(text, []byte(c.old)) {
			t.Fatalf("%s: there is no %q", name, c.old)
		}
		broken := harness.WriteFile(t, t.TempDir(), "release.yml", strings.ReplaceAll(string(text), c.old, c.new))
		if says := actionlint(t, broken); !strings.Contains(says, c.says) {
			t.Errorf("%s: actionlint prints %q, want %q in it", name, says, c.says)
		}
	}
}

// workflow contains the fields of a workflow that the tests read.
type workflow struct {
	On          map[string]struct{ Branches, Tags []string }
	Permissions map[string]string
	Concurrency struct{ Group string }
	Jobs        map[string]struct {
		Uses, Needs string
		Permissions map[string]string
		Steps       []struct {
			Uses, Run string
			With      map[string]string
		}
	}
}

func readWorkflow(t *testing.T, file string) workflow {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// Releases are built with the Go version of the image, which is not older than go.mod requires;
// actions are pinned; no job has more permissions than it needs.
func TestRelease_WorkflowsArePinnedAndMayDoLittle(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile(File("go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	dockerfile, err := os.ReadFile(File("Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	image := regexp.MustCompile(`(?m)^FROM .*golang:(` + string(language[1]) + `\.\d+)-alpine `).FindSubmatch(dockerfile)
	if image == nil {
		t.Fatalf("the Dockerfile does not name an exact version of Go %s", language[1])
	}
	may := map[string][]string{}
	for _, file := range workflows(t) {
		w := readWorkflow(t, file)
		if !maps.Equal(w.Permissions, map[string]string{}) && !maps.Equal(w.Permissions, map[string]string{"contents": "read"}) || w.Permissions == nil {
			t.Errorf("%s: its jobs have the permissions %v", file, w.Permissions)
		}
		for name, job := range w.Jobs {
			for scope, access := range job.Permissions {
				if access == "write" {
					may[name] = append(may[name], scope)
				}
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !regexp.MustCompile(`^[\w-]+/[\w-]+@(v\d+|[0-9a-f]{40})$`).MatchString(step.Uses) {
					t.Errorf("%s: %s: %s is not pinned", file, name, step.Uses)
				}
				if v, ok := step.With["go-version"]; ok && v != string(image[1]) {
					t.Errorf("%s: %s: it uses Go %s, the image is built with %s", file, name, v, image[1])
				}
			}
		}
	}
	want := map[string][]string{"image": {"packages"}, "binaries": {"contents"}}
	if !maps.EqualFunc(may, want, slices.Equal) {
		t.Errorf("jobs may write %v, want %v", may, want)
	}
}

func TestRelease_WorkflowsCheckBeforeTheyPublish(t *testing.T) {
	t.Parallel()
	ci, release := readWorkflow(t, File(".github/workflows/ci.yml")), readWorkflow(t, File(".github/workflows/release.yml"))
	steps := ci.Jobs["check"].Steps
	if n := len(steps); n < 2 || steps[n-2].Run != ".ci/run" || steps[n-1].Run != ".ci/nightly" {
		t.Errorf("ci.yml does not run .ci/run and .ci/nightly: %+v", steps)
	}
	if release.Jobs["check"].Uses != "./.github/workflows/ci.yml" {
		t.Errorf("release.yml checks with %q", release.Jobs["check"].Uses)
	}
	if on := release.On["push"]; !slices.Equal(on.Branches, []string{"main"}) || !slices.Equal(on.Tags, []string{"v*"}) || len(release.On) != 1 {
		t.Errorf("it releases on %+v", release.On)
	}
	if on := ci.On["push"]; !slices.Equal(on.Branches, []string{"**", "!main"}) {
		t.Errorf("it checks on %+v", ci.On)
	}
	for job, needs := range map[string]string{"image": "check", "binaries": "image"} {
		if got := release.Jobs[job].Needs; got != needs {
			t.Errorf("the job %s waits for %q, want %s", job, got, needs)
		}
	}
	if got := release.Concurrency.Group; got != "release-${{ github.ref }}" {
		t.Errorf("got the concurrency group %q, want one for each ref", got)
	}
	built, published, tagged := false, false, false
	for _, step := range release.Jobs["image"].Steps {
		tagged = tagged || step.With["fetch-depth"] == "0" // otherwise the tags are missing
		if strings.HasPrefix(step.Uses, "docker/build-push-action@") {
			built = step.With["platforms"] == "linux/amd64,linux/arm64" && step.With["push"] == "true" &&
				strings.Contains(step.With["build-args"], "VERSION=") && strings.Contains(step.With["build-args"], "COMMIT=")
		}
	}
	for _, step := range release.Jobs["binaries"].Steps {
		published = published || containsAll(step.Run, []string{"gh release create", "packaging/notes.sh", "dist/SHA256SUMS dist/*.*"})
	}
	if !built || !published || !tagged {
		t.Errorf("the image is built for two machines and pushed: %v, with all tags known: %v; the binaries are published: %v", built, tagged, published)
	}
}
