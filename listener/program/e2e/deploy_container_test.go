//go:build unix && !race

package e2e_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/config/settings"
	"mockserver/listener/control/health"

	"gopkg.in/yaml.v3"

	"mockserver/internal/harness"
)

// image is the output of .ci/tools/dockerfile for a Dockerfile. The tool reads it as Docker does.
type image struct {
	Warnings []string
	Images   []string
	Runs     []struct {
		Args, Env []string
		Dir       string
	}
	Copies []string
	Config struct {
		User         string
		ExposedPorts map[string]struct{}
		Env          []string
		Entrypoint   []string
		Cmd          []string
		WorkingDir   string
		Labels       map[string]string
		StopSignal   string
		Healthcheck  struct {
			Test                           []string
			Interval, Timeout, StartPeriod time.Duration
		}
	}
	Context []string
}

// tryDockerfile reads the Dockerfile of a directory.
func tryDockerfile(t *testing.T, dir string, args ...string) (image, error) {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	read := exec.Command(builtTool(t, ".ci/tools/dockerfile"), append([]string{dir}, args...)...)
	read.Stderr = new(strings.Builder)
	out, err := read.Output()
	if err != nil {
		return image{}, fmt.Errorf("%w: %s", err, read.Stderr)
	}
	var i image
	if err := json.Unmarshal(out, &i); err != nil {
		t.Fatal(err)
	}
	return i, nil
}

func readDockerfile(t *testing.T, dir string, args ...string) image {
	t.Helper()
	i, err := tryDockerfile(t, dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestContainer_TheLinterFindsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	if found := readDockerfile(t, File()).Warnings; len(found) > 0 {
		t.Errorf("the Dockerfile: %q", found)
	}
	text, err := os.ReadFile(File("Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	// Docker 24 and older read a Dockerfile with their built-in parser, unless its first line
	// selects another one.
	if !strings.HasPrefix(string(text), "# syntax=docker/dockerfile:1\n") && strings.Contains(string(text), "--start-interval") {
		t.Error("Docker 24 and older refuse --start-interval")
	}
	for _, c := range []struct{ name, old, new, says string }{
		{"a shell around the program", `ENTRYPOINT ["/usr/local/bin/mockserver"]`, `ENTRYPOINT /usr/local/bin/mockserver`, "JSONArgsRecommended"},
		{"a variable that is not there", `version="$VERSION"`, `version="$VERSOIN"`, "UndefinedVar"},
		{"a relative directory", "WORKDIR /app", "WORKDIR app", "WorkdirRelativePath"},
		{"two entry points", "USER ", "ENTRYPOINT [\"/a\"]\nUSER ", "MultipleInstructionsDisallowed"},
		{"a secret", "ENV CONFIG=", "ENV API_TOKEN=x CONFIG=", "SecretsUsedInArgOrEnv"},
		{"mixed cases", " AS build", " as build", "FromAsCasing"},
		{"an instruction that is none", "EXPOSE", "EXPOES", "unknown instruction: EXPOES"},
	} {
		if strings.Count(string(text), c.old) == 0 {
			t.Fatalf("%s: there is no %q in the Dockerfile", c.name, c.old)
		}
		dir := t.TempDir()
		harness.WriteFile(t, dir, "Dockerfile", strings.Replace(string(text), c.old, c.new, 1))
		harness.WriteFile(t, dir, ".dockerignore", "")
		found, err := tryDockerfile(t, dir)
		if says := fmt.Sprint(found.Warnings, err); !strings.Contains(says, c.says) {
			t.Errorf("%s: the linter prints %s, want %s in it", c.name, says, c.says)
		}
	}
}

func TestContainer_TheImage(t *testing.T) {
	i := readDockerfile(t, File(), "VERSION="+releaseVersion, "COMMIT="+releaseCommit)
	c := i.Config
	settings, err := settings.Read(nil, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	// The image contains only copied files: only the build stage is based on another image.
	if len(i.Images) != 2 || !slices.ContainsFunc(i.Images, func(s string) bool { return strings.Contains(s, "/golang:") }) ||
		!slices.Contains(i.Images, "local://context") {
		t.Errorf("the build begins from %q, want golang and the build context alone", i.Images)
	}
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(c.User) {
		t.Errorf("it runs as %q, want the number of a user and a group other than root", c.User)
	}
	if _, ok := c.ExposedPorts[strconv.Itoa(settings.Port)+"/tcp"]; !ok || len(c.ExposedPorts) != 1 {
		t.Errorf("it exposes %v, want the default port %d", c.ExposedPorts, settings.Port)
	}
	if c.WorkingDir != "/app" || !slices.Contains(c.Env, "CONFIG=/app/mockserver.yml") {
		t.Errorf("it runs in %s with %q, want /app and CONFIG=/app/mockserver.yml", c.WorkingDir, c.Env)
	}
	if slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "PORT=") || strings.HasPrefix(e, "HOST=") }) {
		t.Errorf("it sets the address with %q; the defaults do", c.Env)
	}
	if len(c.Entrypoint) != 1 || strings.HasPrefix(c.Entrypoint[0], c.WorkingDir+"/") || !path.IsAbs(c.Entrypoint[0]) || len(c.Cmd) != 0 {
		t.Errorf("it runs %q %q, want one program outside of %s, and nothing after it", c.Entrypoint, c.Cmd, c.WorkingDir)
	}
	if want := []string{"CMD", c.Entrypoint[0], "health"}; !slices.Equal(c.Healthcheck.Test, want) || c.Healthcheck.Timeout <= health.Timeout {
		t.Errorf("its health check is %q within %v, want %q within more than %v", c.Healthcheck.Test, c.Healthcheck.Timeout, want, health.Timeout)
	}
	if c.StopSignal != "SIGTERM" {
		t.Errorf("it is stopped with %q", c.StopSignal)
	}
	for label, want := range map[string]string{"version": releaseVersion, "revision": releaseCommit, "licenses": "MIT", "title": "mockserver"} {
		if got := c.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("the label %s is %q, want %q", label, got, want)
		}
	}
	// Modules are downloaded before the source is copied, so that they are not downloaded again
	// whenever it changes.
	sum, all := slices.Index(i.Copies, "/go.sum -> "+i.Runs[0].Dir+"/"), slices.Index(i.Copies, "/ -> "+i.Runs[0].Dir+"/")
	if len(i.Runs) != 2 || strings.Join(i.Runs[0].Args[2:], " ") != "go mod download" || sum < 0 || all < sum {
		t.Errorf("it runs %q and copies %q, want go mod download between go.sum and the source", i.Runs, i.Copies)
	}
}

func TestContainer_TheBuildContextIsSourceOnly(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"Dockerfile", ".dockerignore"} {
		text, err := os.ReadFile(File(name))
		if err != nil {
			t.Fatal(err)
		}
		harness.WriteFile(t, dir, name, string(text))
	}
	list := exec.Command("go", "list", "-f", `{{range .EmbedFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`, "./...")
	list.Dir = File()
	embedded, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := append(strings.Fields(strings.ReplaceAll(string(embedded), File()+"/", "")), "LICENSE", "config/load.go", "go.mod", "go.sum", "main.go")
	slices.Sort(want)
	for _, name := range append([]string{
		".git/config", ".git/hooks/a.go", ".env", "mocks/private.yml", "deploy/app/key.pem", "mockserver", "dist/a.go", "id_rsa",
		"main_test.go", "internal/harness/harness.go", "config/load_test.go", "config/testdata/a.go", "config/notes.txt", "config/a.js", "listener/control/admin/page/notes.txt", ".ci/tools/a.go", "README.md",
	}, want...) {
		harness.WriteFile(t, dir, name, "")
	}
	if got := readDockerfile(t, dir).Context; !slices.Equal(got, want) {
		t.Errorf("the build gets %q, want %q", got, want)
	}
}

// root is the root file system of the image, with the program built as the Dockerfile builds it.
// The files that the Dockerfile copies from the base image are missing.
type root struct {
	dir string
	image
}

// buildImage follows the Dockerfile in a clean copy of the build context.
func buildImage(t *testing.T) root {
	t.Helper()
	i := readDockerfile(t, File(), "VERSION="+releaseVersion, "COMMIT="+releaseCommit)
	source := t.TempDir()
	copyFiles(t, File(), source, i.Context)
	last := i.Runs[len(i.Runs)-1]
	var env []string
	for _, variable := range last.Env {
		if !strings.HasPrefix(variable, "PATH=") { // the PATH of the base image
			env = append(env, variable)
		}
	}
	if err := tryBuild(t, source, env, last.Args...); err != nil { // source takes the place of last.Dir
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "mockserver-image-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the image and the test have different users
		t.Fatal(err)
	}
	t.Cleanup(func() {
		writable(t, dir, true)
		_ = os.RemoveAll(dir)
	})
	for _, c := range i.Copies {
		from, to, _ := strings.Cut(c, " -> ")
		name, built := strings.CutPrefix(from, last.Dir+"/")
		switch {
		case strings.HasPrefix(to, last.Dir):
			continue // copied into the build stage
		case !built:
			continue // copied from the base image, which is not available here
		}
		copyFiles(t, source, dir, []string{name})
		target := filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name), target); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, i.Config.Entrypoint[0]), 0o755); err != nil {
		t.Fatalf("the entry point is not copied: %v", err)
	}
	return root{dir, i}
}

// writable makes dir and everything below it writable, or read-only.
func writable(t *testing.T, dir string, yes bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() &^ 0o222
		if yes {
			mode |= 0o200
		}
		return os.Chmod(name, mode)
	})
	if err != nil {
		t.Error(err)
	}
}

// launch runs the program of the image with its environment, in its directory, as its user and with
// the image as its root. If the test may not change root or user, the program runs as the user of
// the test, outside the image.
func (r root) launch(t *testing.T, env []string, command ...string) *Process {
	t.Helper()
	env = append(slices.Concat([]string{"HOST=", "PORT="}, r.Config.Env), env...)
	if os.Getuid() == 0 {
		uid, gid, _ := strings.Cut(r.Config.User, ":")
		cmd := &exec.Cmd{Path: command[0], Args: command, SysProcAttr: &syscall.SysProcAttr{
			Chroot:     r.dir,
			Credential: &syscall.Credential{Uid: number(t, uid), Gid: number(t, gid)},
		}}
		return LaunchCommand(t, cmd, r.Config.WorkingDir, env)
	}
	command = slices.Clone(command)
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], "="+r.Config.WorkingDir, "="+r.dir+r.Config.WorkingDir)
	}
	env = append(env, "SSL_CERT_FILE="+r.dir+certificates)
	for i := range command {
		if strings.HasPrefix(command[i], "/") {
			command[i] = r.dir + command[i]
		}
	}
	return LaunchCommand(t, exec.Command(command[0], command[1:]...), r.dir+r.Config.WorkingDir, env)
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// certificates is the first file in which Go looks for certificates on Linux.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

func TestContainer_TheProgramIsBuiltAsTheDockerfileSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while, because it builds programs")
	}
	if runtime.GOOS != "linux" {
		t.Skip("a program for Linux does not run here")
	}
	r := buildImage(t)
	program := filepath.Join(r.dir, r.Config.Entrypoint[0])
	if machine, err := elfMachine(program); err != nil || machine != runtime.GOARCH {
		t.Errorf("it is for %q (%v)", machine, err)
	}

	// Bodies are fetched over HTTPS, verified with the certificates in the image.
	remote := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"far": true}`) }))
	t.Cleanup(remote.Close)
	if !slices.Contains(r.Copies, certificates+" -> "+certificates) {
		t.Errorf("%s is not copied: %q", certificates, r.Copies)
	}
	harness.WriteFile(t, r.dir, certificates, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: remote.Certificate().Raw})))
	copyFiles(t, File("deploy/app"), filepath.Join(r.dir, r.Config.WorkingDir), []string{"mockserver.yml", "data/cities.json"})
	harness.WriteFile(t, r.dir+r.Config.WorkingDir, "more.yml", "- endpoint: {path: /far, response: {external-body: {provider: json, path: '"+remote.URL+"/'}}}\n")
	writable(t, r.dir, false)

	env := []string{"PORT=" + freePort(t)}
	asks := func() *Process { return r.launch(t, env, r.Config.Healthcheck.Test[1:]...) }
	if h := asks(); h.Exit() != 1 {
		t.Errorf("before it is started: healthy: %q", h.Output())
	}
	run := func(args ...string) *Process {
		return r.launch(t, env, slices.Concat(r.Config.Entrypoint, args)...)
	}
	directory := run("-c", r.Config.WorkingDir).Listening()
	directory.Get("/far").Want(t, 200, `{"far": true}`)
	directory.Signal(syscall.SIGTERM)
	directory.Exit()
	p := run("-m", r.Config.WorkingDir+"/more.yml").Listening()
	p.Get("/hello/ann").Want(t, 200, `{"hello": "ann"}`)
	p.Get("/cities").Want(t, 200, "[\"Basel\", \"Bern\", \"Chur\"]\n")
	p.Get("/far").Want(t, 200, `{"far": true}`)
	if h := asks(); h.Exit() != 0 {
		t.Errorf("while it runs: not healthy: %q", h.Output())
	}
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code != 0 {
		t.Errorf("stopped with exit code %d", code)
	}
	if h := asks(); h.Exit() != 1 {
		t.Errorf("after it was stopped: healthy: %q", h.Output())
	}
	empty := r.launch(t, []string{"CONFIG=/app/none.yml"}, r.Config.Entrypoint...)
	if code := empty.Exit(); code != 2 || !containsAll(strings.Join(empty.Output(), "\n"), []string{"/app/none.yml"}) {
		t.Errorf("without a configuration: exit code %d and %q, want 2 and the name of the file", code, empty.Output())
	}
	sameBytes(t, program, nativeRelease(t)) // at the end, since it may be skipped on a slow machine
}

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return PortOf(t, l.Addr().String())
}

// documents returns the YAML documents of a file. An unknown key is an error in the file or in the
// test.
func documents[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	decoder := yaml.NewDecoder(f)
	var all []T
	for {
		var one T
		if err := decoder.Decode(&one); err != nil {
			if err.Error() != "EOF" {
				t.Fatalf("%s: %v", file, err)
			}
			return all
		}
		all = append(all, one)
	}
}

func TestDeploy_ComposeAgreesWithTheImage(t *testing.T) {
	c := readDockerfile(t, File()).Config
	file := documents[struct {
		Services map[string]struct {
			Image, Build   string
			Ports, Volumes []string
			Environment    map[string]string
			ReadOnly       bool `yaml:"read_only"`
		}
	}](t, File("deploy/compose.yml"))[0]
	service, ok := file.Services["mockserver"]
	if !ok || len(service.Ports) != 2 || len(service.Volumes) != 2 || !service.ReadOnly {
		t.Fatalf("got %+v", file)
	}
	if _, err := os.Stat(File("deploy", service.Build, "Dockerfile")); err != nil {
		t.Error(err)
	}
	if _, inner, _ := strings.Cut(service.Ports[0], ":"); !has(c.ExposedPorts, inner+"/tcp") {
		t.Errorf("it publishes %s, the image exposes %v", service.Ports[0], c.ExposedPorts)
	}
	mount := strings.Split(service.Volumes[0], ":")
	if mount[1] != c.WorkingDir || mount[2] != "ro" {
		t.Errorf("it mounts %q, the image reads %s", mount, c.WorkingDir)
	}
	// The admin address is published only to this machine.
	if want := "127.0.0.1" + service.Environment["MOCKSERVER_ADMIN"] + service.Environment["MOCKSERVER_ADMIN"]; service.Ports[1] != want {
		t.Errorf("it publishes %s, want %s", service.Ports[1], want)
	}
	environment := service.Environment
	if text := environment["MOCKSERVER_ADMIN_TOKEN"]; text != "${MOCKSERVER_ADMIN_TOKEN:-}" {
		t.Errorf("the token is %q, want the one of the environment", text)
	}
	for name, text := range environment {
		if text == "${"+name+":-}" {
			environment[name] = "" // unless the environment has one
		}
	}
	if mount := strings.Split(service.Volumes[1], ":"); mount[1] != "/certs" || mount[2] != "ro" {
		t.Errorf("it mounts certificates as %q", mount)
	}
	served(t, environment, File("deploy", mount[0], strings.TrimPrefix(configurationOf(t, c.Env), c.WorkingDir)))
}

func has[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

// environ returns variables in the form of the environment of a process.
func environ(variables map[string]string) []string {
	var all []string
	for name, value := range variables {
		all = append(all, name+"="+value)
	}
	return all
}

// configurationOf returns the value of the variable CONFIG.
func configurationOf(t *testing.T, env []string) string {
	t.Helper()
	for _, variable := range env {
		if file, ok := strings.CutPrefix(variable, "CONFIG="); ok {
			return file
		}
	}
	t.Fatalf("no CONFIG in %q", env)
	return ""
}

// served serves a configuration that answers /hello/:name, with an admin address on all addresses
// of the container. It returns the admin address as a process.
func served(t *testing.T, variables map[string]string, file string) *Process {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	variables["MOCKSERVER_ADMIN"] = ":0" // its port may be taken here
	NeedsProcess(t)
	p := Launch(t, environ(variables), "-c", file).Listening()
	p.Get("/hello/ann").Want(t, 200, `{"hello": "ann"}`)
	admin := AdminOf(p)
	admin.Get("/__admin/counts").Refusal(t, 401, "unauthorized")
	return admin
}

// object contains the fields of a Kubernetes object that the tests read.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	Spec       struct {
		Selector map[string]any
		Ports    []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     struct {
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				EnableServiceLinks *bool `yaml:"enableServiceLinks"`
				Containers         []struct {
					Env             []struct{ Name, Value string }
					Ports           []containerPort
					StartupProbe    probe `yaml:"startupProbe"`
					ReadinessProbe  probe `yaml:"readinessProbe"`
					LivenessProbe   probe `yaml:"livenessProbe"`
					SecurityContext struct {
						ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
						AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
					} `yaml:"securityContext"`
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
						SubPath   string `yaml:"subPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
				}
			}
		}
	}
}

type containerPort struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
}

type probe struct {
	HTTPGet        struct{ Path, Port string } `yaml:"httpGet"`
	TimeoutSeconds int                         `yaml:"timeoutSeconds"`
}

func TestDeploy_KubernetesAgreesWithTheImage(t *testing.T) {
	c := readDockerfile(t, File()).Config
	objects := map[string]object{}
	for _, o := range documents[object](t, File("deploy/kubernetes.yml")) {
		objects[o.APIVersion+" "+o.Kind] = o
	}
	configMap, service, pod := objects["v1 ConfigMap"], objects["v1 Service"], objects["apps/v1 Deployment"].Spec.Template
	if len(objects) != 3 || len(pod.Spec.Containers) != 1 || len(pod.Spec.Volumes) != 2 {
		t.Fatalf("got %+v", objects)
	}
	box := pod.Spec.Containers[0]
	if !pod.Spec.SecurityContext.RunAsNonRoot || !box.SecurityContext.ReadOnlyRootFilesystem ||
		box.SecurityContext.AllowPrivilegeEscalation == nil || *box.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("it may do too much: %+v, %+v", pod.Spec.SecurityContext, box.SecurityContext)
	}
	if pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks {
		t.Error("a service of the name mockserver sets variables that begin like ours")
	}
	if len(box.Ports) != 2 || !has(c.ExposedPorts, strconv.Itoa(box.Ports[0].ContainerPort)+"/tcp") || len(service.Spec.Ports) != 2 ||
		service.Spec.Ports[0].TargetPort != box.Ports[0].Name || service.Spec.Ports[1].TargetPort != box.Ports[1].Name {
		t.Errorf("ports %+v and %+v, the image exposes %v", box.Ports, service.Spec.Ports, c.ExposedPorts)
	}
	labels := fmt.Sprint(pod.Metadata.Labels)
	if fmt.Sprint(service.Spec.Selector) != labels || fmt.Sprint(objects["apps/v1 Deployment"].Spec.Selector["matchLabels"]) != labels {
		t.Errorf("the service selects %v, the deployment %v, the pod is %v", service.Spec.Selector, objects["apps/v1 Deployment"].Spec.Selector, labels)
	}
	mount, volume := box.VolumeMounts[0], pod.Spec.Volumes[0]
	if mount.MountPath != c.WorkingDir || mount.SubPath != "" || mount.Name != volume.Name || volume.ConfigMap.Name != configMap.Metadata.Name {
		t.Errorf("it mounts %+v of %+v, the image reads %s", mount, volume, c.WorkingDir)
	}
	text, ok := configMap.Data[path.Base(configurationOf(t, c.Env))]
	if !ok {
		t.Fatalf("the configuration is not %s: %v", configurationOf(t, c.Env), configMap.Data)
	}
	variables := map[string]string{}
	for _, v := range box.Env {
		variables[v.Name] = v.Value
	}
	annotations, port := pod.Metadata.Annotations, strconv.Itoa(box.Ports[1].ContainerPort)
	if variables["MOCKSERVER_ADMIN"] != ":"+port || annotations["prometheus.io/port"] != port || annotations["prometheus.io/scrape"] != "true" {
		t.Errorf("the admin address is %s, Prometheus requests %v, the port is %s", variables["MOCKSERVER_ADMIN"], annotations, port)
	}
	admin := served(t, variables, harness.WriteFile(t, t.TempDir(), "mockserver.yml", text))
	if got := admin.Get(annotations["prometheus.io/path"]); !strings.Contains(got.Body, "mockserver_ready 1\n") {
		t.Errorf("the path that Prometheus requests answers %d %s", got.Status, got.Body)
	}
	for name, p := range map[string]probe{"startup": box.StartupProbe, "readiness": box.ReadinessProbe, "liveness": box.LivenessProbe} {
		if got := admin.Get(p.HTTPGet.Path); got.Status != 200 || !strings.Contains(got.Body, `"status"`) || p.HTTPGet.Port != box.Ports[1].Name || p.TimeoutSeconds < 2 {
			t.Errorf("the %s probe %+v is answered %d %s", name, p, got.Status, got.Body)
		}
	}
	if box.LivenessProbe.HTTPGet.Path == box.ReadinessProbe.HTTPGet.Path {
		t.Error("a pod that is not ready, since it stops, would be killed")
	}
}
