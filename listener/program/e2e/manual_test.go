package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// notRun lists the commands of the manual that this test leaves out, and the reasons.
var notRun = []struct{ command, why string }{
	{`^(\w+=\S+ )?docker `, "it needs Docker; deploy_container_test.go has tests of the Dockerfile and the files of deploy/"},
	{`^kubectl `, "it needs a cluster"},
	{`^helm `, "it needs a cluster; deploy_chart_test.go renders the chart with the files of the page"},
	{`^(\w+=\S+ )?go test `, "it runs the tests, of which this is one"},
	{`^(mkdir demo|go mod |cp \.\./mockserver|go get |go run \.$)`, "embed_test.go runs it"},
	{`-- k6 run |^\./mockserver compare `, "it needs k6; example_load_test.go runs a script of k6, and run_test.go compares"},
	{`-- wrk |examples/sink.yml --port 3000|localhost:3000/`, "it needs wrk and a minute; run_test.go runs the script for a second"},
	{`/install.sh `, "it needs a release; deploy_packages_test.go runs the script"},
	{benchmarks, "it measures for a minute or so, and bench_test.go for less; that there are its flags is tested"},
}

const benchmarks = `^(go run \.|mockserver) bench( +--(scenario|rival|rate|target)| +-c|$| +#)`

// scene holds what a block of commands needs in addition to the results of earlier blocks and the
// files that the manual tells its reader to write.
type scene struct {
	document, first string            // the first command of the block begins like this
	files           map[string]string // by name; a content such as "examples/…" is copied from that file
	server          string            // is running when the block begins
	edit            string            // is typed before the block
	varies          bool              // the output differs each time, or on each machine
}

var scenes = []scene{
	{document: "README.md", first: "curl 127.0.0.1:8001/__admin/verdict", varies: true},
	{document: "README.md", first: "go run . validate -c first.yml", edit: "sed -i.bak s/status:/statsu:/ first.yml"},
	{document: "README.md", first: "curl localhost:8000/helo/ann", edit: "sed -i.bak s/statsu:/status:/ first.yml", server: "mockserver -c first.yml"},
	{document: "docs/admin-api.md", first: "curl", server: "mockserver -c examples/tasks.yml --admin 127.0.0.1:8001"},
	{document: "docs/openapi.md", first: "mockserver validate -c examples/petstore.yml -m mocks.yml", files: map[string]string{"mocks.yml": "examples/petstore-mocks.yml"}, edit: "sed -i.bak 's/^listPets:/listPet:/' mocks.yml"},
	{document: "docs/openapi.md", first: "mockserver validate -m pets.yml", files: map[string]string{"pets.yml": "examples/petstore.yml"}, edit: "sed -i.bak '112s/Order/Ordr/; 68,69s/^/#/' pets.yml"},
	{document: "docs/operations.md", first: "curl -s 127.0.0.1:8001/__admin/verdict", varies: true},
	{document: "docs/configuration.md", first: "ls -a mocks", files: map[string]string{
		"mocks/.a.yml.swp": "", "mocks/README.md": "", "mocks/a.yml": One("a"), "mocks/b.json": `[{"endpoint": {"path": "/b", "response": {"status": 200}}}]`, "mocks/data/c.yml": One("c"), "more.yml": One("more"),
	}},
	{document: "docs/configuration.md", first: "mockserver validate -c api.yml", files: map[string]string{"api.yml": "- endpoint:\n    methd: GET\n    path: /a\n    response:\n      status: \"200\"\n"}},
	{document: "docs/command-line.md", first: "mockserver petstore.yml", files: map[string]string{"petstore.yml": "examples/petstore.yml"}},
	{document: "docs/command-line.md", first: "mockserver health", server: "mockserver -c examples/tasks.yml"},
	{document: "docs/openapi-reference.md", first: "curl -H 'Prefer: code=404'", server: "mockserver -m examples/petstore.yml"},
	{document: "docs/openapi-reference.md", first: "curl -d '{\"items\"", server: "mockserver -m orders.yml --validate", files: map[string]string{"orders.yml": ordersDocument}},
	{document: "docs/openapi-reference.md", first: "mockserver -m petstore.yml", files: map[string]string{"petstore.yml": "examples/petstore.yml", "mocks.yml": "examples/petstore-mocks.yml", "endpoints.yml": One("x")}},
}

const ordersDocument = `openapi: 3.0.3
info: {title: orders, version: "1"}
paths:
  /orders:
    post:
      parameters: [{name: limit, in: query, schema: {type: integer, minimum: 1}}]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              properties:
                items: {type: array, items: {type: object, required: [price], properties: {sku: {type: string}, price: {type: number}}}}
      responses: {"201": {description: made}}
`

// block is a block of a document.
type block struct {
	line             int // the number of its first line in the document
	language, before string
	lines            []string
}

var writes = regexp.MustCompile("(?s)Write `([^`]+)`[^`]*:\\s*$")

// blocksOf returns the blocks of a document, each with the paragraph before it.
func blocksOf(t *testing.T, document string) (found []block) {
	t.Helper()
	text, err := os.ReadFile(File(document))
	if err != nil {
		t.Fatal(err)
	}
	inside, paragraph := false, ""
	for i, line := range strings.Split(string(text), "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			found = append(found, block{line: i + 2, language: language, before: paragraph})
			inside = true
		case fence:
			inside, paragraph = false, ""
		case inside:
			last := &found[len(found)-1]
			last.lines = append(last.lines, line)
		case line != "":
			paragraph += line + "\n"
		case !strings.HasSuffix(strings.TrimSpace(paragraph), ":"):
			paragraph = ""
		}
	}
	return found
}

// step is a command of a block, and the output that the manual shows for it.
type step struct {
	line           int
	command, shown string
}

// steps returns the commands of a block. A command whose quotes are open continues on the next
// line.
func (b *block) steps() (steps []step) {
	for i, line := range b.lines {
		command, begins := strings.CutPrefix(line, "$ ")
		last := len(steps) - 1
		switch {
		case begins:
			steps = append(steps, step{line: b.line + i, command: command})
		case last >= 0 && strings.Count(steps[last].command, "'")%2 == 1:
			steps[last].command += "\n" + line
		case last >= 0:
			steps[last].shown += line + "\n"
		}
	}
	return steps
}

// Every block of commands in the README and the manual runs as written, in the order of the
// document, and prints the output shown.
func TestManual_CommandsRunAndPrintWhatIsShown(t *testing.T) {
	volume.Only(t)
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "jq", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the commands of the manual need ", tool)
		}
	}
	pages, err := filepath.Glob(File("docs/*.md"))
	if err != nil || len(pages) < 5 {
		t.Fatalf("documents: %v, %v", pages, err)
	}
	documents := []string{"README.md"}
	for _, page := range pages {
		documents = append(documents, "docs/"+filepath.Base(page))
	}
	used := map[string]bool{}
	for _, document := range documents {
		found := blocksOf(t, document)
		for _, b := range found {
			for _, s := range b.steps() {
				if why, command := leftOut(s.command); why != "" {
					used[command] = true
				}
			}
			if b.language == "console" && len(b.steps()) == 0 {
				t.Errorf("%s:%d: no line of the block is a command", document, b.line)
			}
			if slices.Contains([]string{"sh", "bash", "shell"}, b.language) {
				t.Errorf("%s:%d: a block of commands must be ```console, with $ before each", document, b.line)
			}
		}
		t.Run(document, func(t *testing.T) {
			t.Parallel()
			follow(t, document, found)
		})
	}
	for _, c := range notRun {
		if !used[c.command] {
			t.Errorf("%s leaves nothing out", c.command)
		}
	}
}

func leftOut(command string) (why, by string) {
	for _, c := range notRun {
		if regexp.MustCompile(c.command).MatchString(command) {
			return c.why, c.command
		}
	}
	return "", ""
}

// follow runs the commands of a document.
func follow(t *testing.T, document string, found []block) {
	r := newReader(t)
	var played []string
	for _, b := range found {
		if name := writes.FindStringSubmatch(b.before); name != nil && b.language != "console" {
			harness.WriteFile(t, r.dir, name[1], r.there.Replace(strings.Join(b.lines, "\n")+"\n"))
		}
		steps := b.steps()
		if b.language != "console" || len(steps) == 0 {
			continue
		}
		var here scene
		for _, s := range scenes {
			if s.document == document && strings.HasPrefix(steps[0].command, s.first) && !slices.Contains(played, s.first) {
				here = s
				played = append(played, s.first)
				break
			}
		}
		r.set(here)
		shows := slices.ContainsFunc(steps, func(s step) bool { return s.shown != "" })
		for _, s := range steps {
			if why, by := leftOut(s.command); why != "" {
				t.Logf("%s:%d: %s is left out: %s", document, s.line, s.command, why)
				r.hasFlags(s.command, by)
				continue
			}
			got, isServer := r.typed(s)
			switch {
			case here.varies:
				r.hasSchema(s.command, got)
				r.hasSchema(s.command, s.shown)
			case !shows || s.shown == "" && (isServer || strings.Contains(s.command, "# ")):
			case !asShown(s.shown).MatchString(got):
				t.Errorf("%s:%d: %s\nprints %s\nthe manual shows %s", document, s.line, s.command, got, s.shown)
			}
		}
	}
	for _, s := range scenes {
		if s.document == document && !slices.Contains(played, s.first) {
			t.Errorf("no block of %s begins with %s", document, s.first)
		}
	}
}

// hasFlags fails the test unless mockserver bench has the flags of a command of the manual that is
// left out because it measures. It does not check other commands.
func (r *reader) hasFlags(command, by string) {
	r.t.Helper()
	if by != benchmarks {
		return
	}
	usage := r.run("mockserver bench -h")
	command, _, _ = strings.Cut(command, "  #")
	command = regexp.MustCompile(`'.*'`).ReplaceAllString(command, "") // removes the flags of other programs
	for _, flag := range regexp.MustCompile(` --?[a-z]+`).FindAllString(command, -1) {
		if !strings.Contains(usage, flag+" ") && !strings.Contains(usage, flag+",") {
			r.t.Errorf("%s: there is no flag %s", command, flag)
		}
	}
}

// hasSchema fails the test unless an answer of the admin API conforms to the API's OpenAPI
// document.
func (r *reader) hasSchema(command, body string) {
	r.t.Helper()
	_, path, _ := strings.Cut(command, "127.0.0.1:8001")
	if !json.Valid([]byte(body)) || path == "" {
		r.t.Errorf("%s: cannot check %s: the command has no admin path, or the body is not JSON", command, body)
	}
	DocumentOf(r.t, http.DefaultClient, "http://127.0.0.1:"+r.ports[1]).Check(r.t, "GET", path, Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body})
}

var (
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d+Z|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT|dur=[\d\\.]+`)
	dots  = "…"
)

// asShown returns an expression that an output must match: the output shown, with other times, and
// with any text where dots abbreviate it.
func asShown(shown string) *regexp.Regexp {
	pattern := times.ReplaceAllString(regexp.QuoteMeta(strings.TrimRight(shown, "\n")), `[-:.,=\w ]+`)
	return regexp.MustCompile("^" + strings.ReplaceAll(pattern, dots, "[^\n]*") + "\n*$")
}

// reader follows the manual: it has a directory, a shell, and the server that it started last.
type reader struct {
	t            *testing.T
	dir          string
	ports        [3]string // replace 8000, 8001 and 8080
	shell        io.Writer
	printed      *bufio.Reader
	server       *Process
	there, shown *strings.Replacer
}

const prompt = "--- the command ended with"

// newReader returns a reader in a directory like a clone, with the program on the PATH and without
// any settings of this process.
func newReader(t *testing.T) *reader {
	r := &reader{t: t, dir: t.TempDir(), ports: [3]string{portOfOurs(t), portOfOurs(t), portOfOurs(t)}}
	for _, name := range []string{"examples", "deploy"} {
		if err := os.Symlink(File(name), filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var there, back []string
	for i, named := range []string{"8000", "8001", "8080"} {
		there = append(there, ":"+named, ":"+r.ports[i], "--port "+named, "--port "+r.ports[i], "-p "+named, "-p "+r.ports[i])
		back = append(back, ":"+r.ports[i], ":"+named)
	}
	r.there, r.shown = strings.NewReplacer(there...), strings.NewReplacer(append(back, "\r\n", "\n")...)
	home := t.TempDir()
	harness.WriteFile(t, home, ".curlrc", "no-progress-meter\n") // on a terminal, curl shows no progress meter here
	cmd := exec.CommandContext(t.Context(), "sh")
	cmd.Dir = r.dir
	cmd.Env = append([]string{"HOME=" + home, "MOCKSERVER_VERDICT=" + unbothered, "PATH=" + filepath.Dir(Program(t)) + ":" + os.Getenv("PATH")}, r.env()...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it exits when its input ends
	})
	r.shell, r.printed = in, bufio.NewReader(out)
	// This function replaces go run and go build, so that the same program is not built again.
	r.run(`go() {
if [ "$1 $2" = "run ." ]; then shift 2; mockserver "$@" && return 0; echo "exit status $?"; return 1
elif [ "$1 $2" = "build -o" ]; then cp "$(command -v mockserver)" "$3"
else command go "$@"; fi; }
ls() { command ls -C "$@"; }`) // as it prints to a terminal
	return r
}

// env returns the environment of commands: the default port, and the address that the log shows.
func (r *reader) env() []string { return []string{"PORT=" + r.ports[0], "HOST=0.0.0.0"} }

// unbothered sets up a verdict that does not depend on the state of the machine that runs the test.
const unbothered = "throttled=off,cpu-quota=off,machine=off,steal=off,cpu-wait=off,probe-p99=off,echo-p99=off,accept=off,backlog=off,scheduler-p99=off,gc-pause=off,descriptors=off,own-p99=off"

// lastPort is the port that was tried last; it is below the ports that systems assign.
var lastPort atomic.Int32

// portOfOurs returns a port that is free and is given to no other test.
func portOfOurs(t *testing.T) string {
	t.Helper()
	lastPort.CompareAndSwap(0, int32(20_000+os.Getpid()%10_000))
	for range 1000 {
		port := strconv.Itoa(int(lastPort.Add(1)))
		if socket, err := net.Listen("tcp", ":"+port); err == nil {
			_ = socket.Close() // the server will listen on it
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// set prepares a scene.
func (r *reader) set(s scene) {
	r.t.Helper()
	for name, content := range s.files {
		if strings.HasPrefix(content, "examples/") {
			text, err := os.ReadFile(File(content))
			if err != nil {
				r.t.Fatal(err)
			}
			content = string(text)
		}
		harness.WriteFile(r.t, r.dir, name, content)
	}
	if s.edit != "" {
		r.run(s.edit)
	}
	if s.server != "" {
		r.typed(step{command: s.server})
	}
}

// serves matches commands that start a server, which keeps running; ends matches other commands of
// the program, which exit.
var (
	serves = regexp.MustCompile(`^(?:mockserver|go run \.)( [^#&>]*)?(?:&|#.*)?$`)
	ends   = regexp.MustCompile(`^ *(validate|export|schema|run|compare|bench|fleet|import|ca|health|version)\b| -h\b`)
)

// typed runs a step and returns what it prints. A server replaces the one before it, and prints
// that it listens.
func (r *reader) typed(s step) (printed string, server bool) {
	r.t.Helper()
	if args := serves.FindStringSubmatch(s.command); args != nil && !ends.MatchString(args[1]) {
		if r.server != nil {
			_ = r.server.Cmd.Process.Kill() // it may have exited already
			<-r.server.Exited
		}
		env := r.env()
		if strings.Contains(args[1], "--admin") {
			env = append(env, "MOCKSERVER_VERDICT="+unbothered)
		}
		r.server = LaunchIn(r.t, r.dir, env, strings.Fields(r.there.Replace(args[1]))...).Listening()
		return r.shown.Replace(r.server.WaitLine(0, "listening", "http://")) + "\n", true
	}
	if target, ok := strings.CutPrefix(s.command, "websocat ws://localhost:8000"); ok {
		return r.talk(target, strings.Split(strings.TrimSpace(s.shown), "\n")), false
	}
	return r.shown.Replace(r.run(r.there.Replace(s.command))), false
}

var dice = regexp.MustCompile(`^[1-6] \(`)

// talk holds a conversation over a WebSocket, in place of the client that the manual uses: the
// server sends first, and then answers each line that is typed.
func (r *reader) talk(target string, lines []string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), harness.Patience)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, r.server.URL+target, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer socket.CloseNow()
	for i := 0; i < len(lines); i += 2 {
		if i > 0 {
			_ = socket.Write(ctx, websocket.MessageText, []byte(lines[i-1])) // an error is also that of Read
		}
		_, text, err := socket.Read(ctx)
		heard := string(text)
		if err != nil {
			r.t.Fatalf("%s: %v", lines[i], err)
		}
		if dice.MatchString(heard) && dice.MatchString(lines[i]) {
			continue
		}
		lines[i] = heard
	}
	return strings.Join(lines, "\n") + "\n"
}

// run has the shell run a command, and returns what it prints. If the command fails, the test
// fails, except for validate and health.
func (r *reader) run(command string) string {
	r.t.Helper()
	fmt.Fprintf(r.shell, "{ :\n%s\n} </dev/null\nprintf '\\n%s %%d\\n' $?\n", command, prompt)
	var out strings.Builder
	for {
		line, err := r.printed.ReadString('\n')
		if err != nil {
			r.t.Fatalf("%s: the shell exited: %v\n%s", command, err, out.String())
		}
		if status, ended := strings.CutPrefix(line, prompt); ended {
			text := strings.TrimSuffix(out.String(), "\n")
			if strings.TrimSpace(status) != "0" && !strings.Contains(command, "validate") && !strings.Contains(command, "health") {
				r.t.Errorf("%s ends with status %s and prints %s", command, strings.TrimSpace(status), text)
			}
			return text
		}
		out.WriteString(line)
	}
}
