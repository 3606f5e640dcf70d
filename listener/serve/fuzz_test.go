package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"mockserver/config"
	"mockserver/listener/compile"
	"mockserver/listener/protocol/wire"
)

// fuzzed is a configuration that uses values from a request in every kind of place.
const fuzzed = `
- endpoint: {path: /a, response: {body: a}}
- endpoint: {path: /a, host: wins.test, response: {body: '<wins/>', headers: {Content-Type: text/xml}}}
- endpoint: {method: POST, path: /a, response: {body: '{{body|length}}'}}
- endpoint: {method: DELETE, path: /a, response: {status: 204}}
- endpoint: {path: '/users/:id|int', if: query-params.q != none, response: {body: '{"id": {{path-params.id}}}'}}
- endpoint:
    path: /echo/:id
    response:
      headers: {X-Id: "{{path-params.id}}", Set-Cookie: "a={{cookie-params.c}}"}
      body: '{"id": "{{path-params.id}}", "q": {{query-params.q}}, "h": "{{header-params.X-H|upper}}", "all": "{{query-string}} {{host}} {{remote-addr}}"}'
- endpoint:
    path: /xml/:id
    response:
      headers: {Content-Type: application/xml}
      body: '<a id="{{path-params.id}}">{{query-params.q}} {{header-params.X-H}} {{path}}</a>'
- endpoint: {method: POST, path: /json, if: json-params.a contains needle and not json-params.n > 2, response: {status: 201, body: {found: "{{json-params.a}}"}}}
- endpoint:
    method: POST
    path: /json
    response:
      body: '{"a": {{json-params.a}}, "text": "{{json-params.a}}", "n": {{json-params.n|add:1}}, "all": [{% for x in json-params.items %}{% if x > 1 %}{{x}}{% else %}"{{x.y|length}}"{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}]}'
- endpoint: {method: POST, path: /form, response: {body: '{"f": "{{form-params.f}}", "g": {{form-params.g|trim|json}}}'}}
- endpoint: {path: /files/*rest, response: {external-body: {provider: json, path: 'bodies/{{path-params.rest}}'}}}
`

// fuzzedServer serves fuzzed, with a body limit that inputs can reach. Errors in its log fail the
// test.
func fuzzedServer(f *testing.F) *testServer {
	f.Helper()
	dir := f.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bodies"), 0o755); err != nil {
		f.Fatal(err)
	}
	for name, text := range map[string]string{"bodies/one.json": `{"q": "{{query-params.q}}"}`, "secret.json": `"` + outside + `"`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	log := slog.New(slog.NewTextHandler(errorsOf{f}, &slog.HandlerOptions{Level: slog.LevelError}))
	return newServer(f, compile.Options{MaxBody: maxFuzzed, Log: log}).serving(f, config.Parse(filepath.Join(dir, "mock.yml"), []byte(fuzzed)))
}

const (
	maxFuzzed = 2000
	outside   = "what is in no directory that is served"
)

// errorsOf fails a test by panicking with any text that is written to it.
type errorsOf struct{ f *testing.F }

func (e errorsOf) Write(b []byte) (int, error) {
	panic(string(b)) // the fuzzer keeps the input that caused it
}

// fuzzedStatuses lists the statuses with which the server may answer requests to fuzzed.
var fuzzedStatuses = []int{200, 201, 204, 400, 404, 405, 413, 417, 431, 501}

// FuzzRequests sends the bytes of a connection to a whole server. However they are split into
// pieces, the server ends the connection by itself. Each answer is well formed, has one of the
// expected statuses and a body that matches its content type. The requests served are the ones
// that a strict reading of the bytes finds, with the same targets and bodies, and a protocol
// violation after them is refused.
func FuzzRequests(f *testing.F) {
	s := fuzzedServer(f)
	var served []request
	intercept(s, func(x *wire.Exchange) {
		served = append(served, request{string(x.Request.Header.Method()), string(x.Request.Header.RequestURI()), string(x.Request.Body())})
	})
	f.Fuzz(func(t *testing.T, sent []byte, piece uint16) {
		served = nil
		client := &script{Sent: bytes.Clone(sent), Piece: int(piece) + 1}
		conn := generally(s, wire.New(nil, s.Log)).Adopt(client)
		_ = serveOne(s, conn) // the answers show how serving ended
		_ = conn.Close()      // closing a script does not fail
		seen := read(string(sent))
		statuses := checkResponses(t, client.Got.Bytes(), served)
		whole := len(served) == len(seen.requests)
		if !whole && !seen.unsure || len(served) > len(seen.requests) || !slices.Equal(served, seen.requests[:len(served)]) {
			t.Errorf("served %q, want %q:\n%q", served, seen.requests, client.Got.Bytes())
		}
		want := len(served)
		if seen.breach || !whole {
			want++
		}
		if len(statuses) != want {
			t.Errorf("got the answers %v to %q, want %d (%+v)", statuses, served, want, seen)
		} else if want > len(served) && statuses[want-1] < 400 {
			t.Errorf("got the answers %v to %q and a protocol error", statuses, served)
		}
	})
}

// request is one complete request.
type request struct{ method, target, body string }

// checkResponses reads all answers with net/http and returns their statuses, except those of interim
// answers.
func checkResponses(t *testing.T, raw []byte, served []request) (statuses []int) {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(raw))
	for {
		if _, err := r.Peek(1); err != nil {
			return statuses
		}
		final := len(statuses)
		method := "GET" // for input that is not a request
		if final < len(served) {
			method = served[final].method
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("answer %d is not valid: %v:\n%q", final, err, raw)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("answer %d is broken: %v:\n%q", final, err, raw)
		}
		if resp.StatusCode == http.StatusContinue {
			continue
		}
		statuses = append(statuses, resp.StatusCode)
		if !slices.Contains(fuzzedStatuses, resp.StatusCode) {
			t.Fatalf("got status %d:\n%q", resp.StatusCode, raw)
		}
		if len(body) > 0 && !soundBody(resp.Header.Get("Content-Type"), body) || bytes.Contains(body, []byte(outside)) {
			t.Fatalf("got a body of %s: %q", resp.Header.Get("Content-Type"), body)
		}
	}
}

// soundBody reports whether a body is valid for its content type.
func soundBody(kind string, body []byte) bool {
	switch {
	case !utf8.Valid(body):
		return false
	case kind == typeJSON:
		return json.Valid(body)
	case strings.Contains(kind, "xml"):
		d := xml.NewDecoder(bytes.NewReader(body))
		for {
			if _, err := d.Token(); err != nil {
				return err == io.EOF
			}
		}
	}
	return true
}

// reading is the meaning of a client's bytes according to RFC 9112. Unlike the server, the function
// read uses regular expressions and has all the bytes at once.
type reading struct {
	requests []request // the complete ones
	breach   bool      // something invalid follows the requests
	unsure   bool      // fasthttp may refuse more than RFC 9112 does
}

const (
	tokenText = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	valueText = `[^\x00-\x08\x0a-\x1f\x7f]*`
	extText   = `[ \t]*;[ \t]*` + tokenText + `(?:[ \t]*=[ \t]*(?:` + tokenText + `|"(?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])*"))?`
	hostText  = `(?:\[[0-9A-Za-z._~:%-]+\]|[0-9A-Za-z._~!$&'()*+,;=%-]+)`
)

var (
	requestForm = regexp.MustCompile("^(" + tokenText + `) ([!-~]+) HTTP/1\.([0-9])$`)
	fieldForm   = regexp.MustCompile("^(" + tokenText + "):(" + valueText + ")$")
	hostForm    = regexp.MustCompile(`^` + hostText + `(?::[0-9]*)?$`)
	targetForm  = regexp.MustCompile(`^(?:/[^#]*|(?i:https?)://` + hostText + `(?::[0-9]*)?(?:[/?][^#]*)?)$`)
	sizeForm    = regexp.MustCompile(`^([0-9A-Fa-f]{1,15})(?:` + extText + `)*$`)
)

// read reads requests until one closes the connection.
func read(raw string) (r reading) {
	for {
		for range maxEmpty {
			raw = strings.TrimPrefix(raw, "\r\n")
		}
		if raw == "" || raw == "\r" {
			return r
		}
		lines, rest, ok := headLines(raw)
		if !ok {
			r.breach = true
			return r
		}
		form := requestForm.FindStringSubmatch(lines[0])
		fields := map[string][]string{}
		for _, line := range lines[1:] {
			field := fieldForm.FindStringSubmatch(line)
			if field == nil {
				form = nil
				break
			}
			name := strings.ToLower(field[1])
			fields[name] = append(fields[name], strings.Trim(field[2], " \t"))
		}
		if form == nil || !soundHead(form[1], form[2], form[3], fields) {
			r.breach = true
			return r
		}
		r.unsure = r.unsure || refusedMore(form[2], fields)
		text, rest, ok := body(rest, fields)
		if !ok {
			r.breach = true
			return r
		}
		r.requests = append(r.requests, request{form[1], form[2], text})
		if raw = rest; closes(form[3], fields["connection"]) {
			return r
		}
	}
}

// closes reports whether the connection closes after a request with these Connection lines. In
// HTTP/1.0, the first line must ask to keep it open.
func closes(minor string, lines []string) bool {
	has := func(option string, lines []string) bool {
		return regexp.MustCompile(`(?i)(?:^|,)[ \t]*` + option + `[ \t]*(?:,|$)`).MatchString(strings.Join(lines, ","))
	}
	return has("close", lines) || minor == "0" && !has("keep-alive", lines[:min(1, len(lines))])
}

// headLines splits a head into its lines.
func headLines(raw string) (lines []string, rest string, ok bool) {
	for size := 0; ; {
		line, after, ok := strings.Cut(raw, "\n")
		size += len(line) + 1
		if !ok || !strings.HasSuffix(line, "\r") || size > wire.MaxHeader {
			return nil, "", false
		}
		line = strings.TrimSuffix(line, "\r")
		raw = after
		if line == "" {
			return lines, raw, true
		}
		lines = append(lines, line)
	}
}

func soundHead(method, target, minor string, fields map[string][]string) bool {
	hosts, lengths, codings := fields["host"], fields["content-length"], fields["transfer-encoding"]
	switch {
	case len(hosts) > 1, minor != "0" && len(hosts) == 0, len(hosts) == 1 && !hostForm.MatchString(hosts[0]) && !(minor == "0" && hosts[0] == ""):
		return false
	case len(lengths) > 1, len(codings) > 1, len(lengths)+len(codings) > 1, len(codings) == 1 && minor == "0":
		return false
	case len(lengths) == 1 && !regexp.MustCompile(`^[0-9]{1,18}$`).MatchString(lengths[0]):
		return false
	case len(codings) == 1 && !regexp.MustCompile(`^(?i:chunked)$`).MatchString(codings[0]):
		return false
	case minor != "0" && slices.ContainsFunc(fields["expect"], func(e string) bool { return e != "" && !regexp.MustCompile(`^(?i:100-continue)$`).MatchString(e) }):
		return false
	case method == "CONNECT":
		return false // its answer closes the connection
	}
	return targetForm.MatchString(target) || method == "OPTIONS" && target == "*"
}

// refusedMore reports whether fasthttp may refuse more than RFC 9112 does: a host with escapes or
// an invalid address, a target that resembles a URL, a name in Trailer.
func refusedMore(target string, fields map[string][]string) bool {
	hosts := strings.Join(fields["host"], "") + target
	return strings.ContainsAny(hosts, "%[]") || strings.Contains(hosts, "//") || fields["trailer"] != nil
}

// body removes a body from the front of raw.
func body(raw string, fields map[string][]string) (text, rest string, ok bool) {
	if lengths := fields["content-length"]; len(lengths) == 1 {
		n, err := strconv.Atoi(lengths[0])
		if err != nil || n > maxFuzzed || n > len(raw) {
			return "", "", false
		}
		return raw[:n], raw[n:], true
	}
	if len(fields["transfer-encoding"]) == 0 {
		return "", raw, true
	}
	for {
		line, after, ok := strings.Cut(raw, "\r\n")
		form := sizeForm.FindStringSubmatch(line)
		if !ok || form == nil {
			return "", "", false
		}
		size, err := strconv.ParseInt(form[1], 16, 64)
		if err != nil || len(text)+int(size) > maxFuzzed {
			return "", "", false
		}
		if size == 0 {
			rest, ok = trailers(after)
			return text, rest, ok
		}
		if len(after) < int(size)+2 || after[size:size+2] != "\r\n" {
			return "", "", false
		}
		text += after[:size]
		raw = after[size+2:]
	}
}

func trailers(raw string) (rest string, ok bool) {
	for {
		line, after, ok := strings.Cut(raw, "\r\n")
		if !ok || line != "" && !fieldForm.MatchString(line) {
			return "", false
		}
		if raw = after; line == "" {
			return raw, true
		}
	}
}
