//go:build linux && !race

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// builder builds images with Buildah and runs them with Podman, with its own store.
type builder struct {
	t     *testing.T
	store []string
}

// newBuilder skips the test if no container can be run at all, as in most sandboxes.
func newBuilder(t *testing.T) *builder {
	t.Helper()
	if os.Getenv("MOCKSERVER_IMAGE_TESTS") == "" {
		t.Skip("takes minutes to build an image if nothing is cached; MOCKSERVER_IMAGE_TESTS=1 runs it")
	}
	for _, program := range []string{"buildah", "podman", "sh", "ldd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here (apt-get install buildah podman crun runc)", program)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root can build and run images without further setup")
	}
	dir := t.TempDir()
	b := &builder{t: t, store: []string{"--storage-driver", "vfs", "--root", dir + "/store", "--runroot", dir + "/run"}}
	t.Cleanup(func() { _, _ = b.try("buildah", "rmi", "--all", "--force") })
	return b
}

// try runs a program with the store, and returns what it printed.
func (b *builder) try(program string, args ...string) (string, error) {
	cmd := exec.Command(program, append(slices.Clone(b.store), args...)...)
	cmd.Dir = File()
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (b *builder) do(program string, args ...string) string {
	b.t.Helper()
	out, err := b.try(program, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// goEnv returns a setting of the Go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// base creates the image that the Dockerfile builds in, under the given name. It contains a shell
// and the certificates of this machine; this machine's Go is mounted. Modules and cached builds
// also come from this machine, so that nothing is downloaded.
func (b *builder) base(name string) (mounts []string) {
	b.t.Helper()
	dir := b.t.TempDir()
	sh, err := exec.LookPath("sh")
	if err != nil {
		b.t.Fatal(err)
	}
	libraries, _ := exec.Command("ldd", sh).Output() // a static shell has none
	files := map[string]string{sh: "/bin/sh", certificates: certificates}
	for _, library := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
		files[library] = library
	}
	for from, to := range files {
		content, err := os.ReadFile(from)
		if err != nil {
			b.t.Skipf("the base image cannot be built: %v", err)
		}
		harness.WriteFile(b.t, dir+"/root", to, string(content))
		if err := os.Chmod(filepath.Join(dir, "root", to), 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
	file := harness.WriteFile(b.t, dir, "Dockerfile", `FROM scratch
COPY root /
COPY root/bin /tmp/
ENV PATH=/usr/local/go/bin:/bin GOPROXY=file:///modules GOSUMDB=off GOTOOLCHAIN=local GOCACHE=/compiled
`)
	b.do("buildah", "bud", "--format", "docker", "-q", "-t", "docker.io/library/"+name, "-f", file, dir)
	download := exec.Command("go", "mod", "download")
	download.Dir = File()
	if out, err := download.CombinedOutput(); err != nil {
		b.t.Skipf("not all modules are available: %v: %s", err, out)
	}
	return []string{
		"-v", goEnv(b.t, "GOROOT") + ":/usr/local/go:ro", "-v", goEnv(b.t, "GOMODCACHE") + "/cache/download:/modules:ro",
		"-v", goEnv(b.t, "GOCACHE") + ":/compiled",
	}
}

// run returns the command that runs an image in the network of this machine.
func (b *builder) run(args ...string) []string {
	return slices.Concat([]string{"podman"}, b.store, []string{"--cgroup-manager", "cgroupfs", "run", "--network", "host", "--pull", "never",
		"--ulimit", "nofile=1000:1000", "--ulimit", "nproc=900:900"}, args)
}

// runtime returns the first runtime that can run anything here.
func (b *builder) runtime() string {
	b.t.Helper()
	dir := b.t.TempDir()
	harness.WriteFile(b.t, dir, "main.go", "package main\n\nfunc main() {}\n")
	harness.WriteFile(b.t, dir, "go.mod", "module tiny\n")
	if err := tryBuild(b.t, dir, []string{"CGO_ENABLED=0"}, "go", "build", "-o", "tiny", "."); err != nil {
		b.t.Fatal(err)
	}
	file := harness.WriteFile(b.t, dir, "Dockerfile", "FROM scratch\nCOPY tiny /tiny\nENTRYPOINT [\"/tiny\"]\n")
	b.do("buildah", "bud", "--format", "docker", "-q", "-t", "localhost/tiny", "-f", file, dir)
	var why []string
	for _, name := range []string{"crun", "runc"} {
		command := b.run("--rm", "localhost/tiny")
		command = slices.Insert(command, 1, "--runtime", name)
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err == nil {
			return name
		}
		why = append(why, fmt.Sprintf("%s: %v: %s", name, err, out))
	}
	b.t.Skipf("no container runs here: %q", why)
	return ""
}

// knowsStartInterval reports whether this Buildah knows HEALTHCHECK --start-interval: Buildah does
// from version 1.36 on, which belongs to Podman 5.1.
func knowsStartInterval(t *testing.T, version string) bool {
	t.Helper()
	found := regexp.MustCompile(`version (\d+)\.(\d+)`).FindStringSubmatch(version)
	if found == nil {
		t.Fatalf("Buildah has no version: %s", version)
	}
	major, minor := number(t, found[1]), number(t, found[2])
	return major > 1 || minor >= 36
}

// The released image is built from the Dockerfile and run, as users do.
func TestImage_IsBuiltAndRun(t *testing.T) {
	b := newBuilder(t)
	run := b.runtime()
	i := readDockerfile(t, File(), "VERSION="+releaseVersion, "COMMIT="+releaseCommit)
	text, err := os.ReadFile(File("Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	version := b.do("buildah", "--version")
	if interval := " --start-interval=1s"; !knowsStartInterval(t, version) {
		if !strings.Contains(source, interval) {
			t.Fatalf("the Dockerfile has no%s to leave out", interval)
		}
		t.Logf("%s does not know%s: it is left out", version, interval)
		source = strings.Replace(source, interval, "", 1)
	}
	file := harness.WriteFile(t, t.TempDir(), "Dockerfile", source)
	base := regexp.MustCompile(`(?m)^FROM .*?(golang:\S+)`).FindStringSubmatch(source)[1]
	if !strings.Contains(base, runtime.Version()[len("go"):]) {
		t.Logf("the base image is %s, this is %s", base, runtime.Version())
	}
	b.do("buildah", slices.Concat([]string{"bud", "--format", "docker", "--pull-never", "--isolation", "chroot", "--platform", "linux/" + runtime.GOARCH,
		"--ignorefile", File(".dockerignore"), "--build-arg", "VERSION=" + releaseVersion, "--build-arg", "COMMIT=" + releaseCommit,
		"-t", "localhost/mockserver", "-f", file}, b.base(base), []string{File()})...)

	var inspected []struct {
		Size         int64
		Architecture string
		Config       struct {
			User, WorkingDir, StopSignal string
			Entrypoint, Env              []string
			ExposedPorts                 map[string]struct{}
			Healthcheck                  struct{ Test []string }
			Labels                       map[string]string
		}
		HealthCheck struct{ Test []string }
	}
	if err := json.Unmarshal([]byte(b.do("podman", "image", "inspect", "localhost/mockserver")), &inspected); err != nil || len(inspected) != 1 {
		t.Fatalf("%v, %d images", err, len(inspected))
	}
	image, c := inspected[0], inspected[0].Config
	if c.User != i.Config.User || c.WorkingDir != i.Config.WorkingDir || c.StopSignal != "SIGTERM" || !slices.Equal(c.Entrypoint, i.Config.Entrypoint) ||
		!slices.Contains(c.Env, "CONFIG=/app/mockserver.yml") || len(c.ExposedPorts) != 1 || image.Architecture != runtime.GOARCH ||
		c.Labels["org.opencontainers.image.version"] != releaseVersion {
		t.Errorf("got %+v, want the one of %+v", image, i.Config)
	}
	health := image.HealthCheck.Test // where Podman reports it
	if len(health) == 0 {
		health = c.Healthcheck.Test
	}
	if !slices.Equal(health, i.Config.Healthcheck.Test) {
		t.Errorf("its health check is %q, want %q", health, i.Config.Healthcheck.Test)
	}
	// The image contains the program and the certificates, and nothing that built them.
	if image.Size < 10<<20 || image.Size > 60<<20 {
		t.Errorf("it has %d MB", image.Size>>20)
	}

	app := File("deploy/app")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	command := b.run("--name", "mock", "--read-only", "--cap-drop", "all", "-v", app+":/app:ro", "-e", "PORT="+port, "-e", "HOST=127.0.0.1", "localhost/mockserver")
	command = slices.Insert(command, 1, "--runtime", run)
	p := LaunchCommand(t, exec.Command(command[0], command[1:]...), t.TempDir(), nil).Listening()
	p.Get("/hello/ann").Want(t, 200, `{"hello": "ann"}`)
	p.Get("/cities").Want(t, 200, "[\"Basel\", \"Bern\", \"Chur\"]\n")

	podman := func(args ...string) (string, error) {
		return b.try("podman", append([]string{"--runtime", run, "--cgroup-manager", "cgroupfs"}, args...)...)
	}
	pid, err := podman("inspect", "--format", "{{.State.Pid}}", "mock")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	uid, gid, _ := strings.Cut(i.Config.User, ":")
	for _, want := range []string{`Uid:\s+` + uid + `\s`, `Gid:\s+` + gid + `\s`, `CapEff:\s+0{16}\n`} {
		if !regexp.MustCompile(want).Match(status) {
			t.Errorf("no %s in the status of the process:\n%s", want, status)
		}
	}
	if out, err := podman("healthcheck", "run", "mock"); err != nil {
		t.Errorf("while it runs: not healthy: %v %s", err, out)
	}
	if out, err := podman("stop", "--time", "30", "mock"); err != nil {
		t.Error(err, out)
	}
	if code := p.Exit(); code != 0 {
		t.Errorf("stopped with exit code %d: %q", code, p.Output())
	}
	if code, err := podman("inspect", "--format", "{{.State.ExitCode}}", "mock"); err != nil || code != strconv.Itoa(0) {
		t.Errorf("the runtime saw it end with %s (%v)", code, err)
	}
	if out, err := podman("healthcheck", "run", "mock"); err == nil {
		t.Errorf("after it was stopped: healthy: %s", out)
	}
}
