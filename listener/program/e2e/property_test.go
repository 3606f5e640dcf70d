package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// nasties are texts that have crashed or confused servers before.
var nasties = []string{
	"", " ", "a", `"`, `\`, `\"`, `\u0000`, `","x":"`, `"}`, "\n", "\r\n", "\r\nX-Evil: 1\r\n\r\n", "\x00", "a\x00b", "\x01\x02\x1f\x7f", "\x80", "\xff\xfe",
	"\xc3", "a\xc3\x28b", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xae\xc0\xae/", "é漢🎈", "\u2028\u2029", "\ufeff", "\ufffd",
	"{{", "}}", "{{method}}", "{%", "{% if %}", "{% raw %}", "{% endraw %}", "{{json-params}}", "{{#if", "{{{{", "%}", "{{env.PATH}}",
	"42", "-0", "1e5", "007", "0x10", "1.", ".5", "+1", "NaN", "Infinity", "1e999", "true", "false", "null", "True", "{}", "[]", `{"a":1}`, "[1,", `"a"`,
	"..", ".", "...", "../../etc/passwd", "/", "//", "/a/b", `..\..`, "?", "?a=b", "#", "#x", "&", "&a=b", "=", ";", ":", "@", "user@evil.test/", "//evil.test/",
	"http://evil.test/", "%", "%2e%2e%2f", "%0d%0a", "%zz", "%25", "+", "a+b", "a b", "<script>", "&amp;", "'", "`", "$(id)", "\t", "a\tb",
	strings.Repeat("long ", 1000), strings.Repeat(`"\`, 1000), strings.Repeat("\x00", 500), strings.Repeat("é", 2000), strings.Repeat("../", 500),
}

// arbitrary returns n texts: the nasties, and others that are assembled at random from pieces of
// them, letters and bytes. The result is always the same.
func arbitrary(n int) []string {
	r := rand.New(rand.NewSource(1))
	texts := slices.Clone(nasties)
	for len(texts) < n {
		var b strings.Builder
		for range r.Intn(12) {
			switch r.Intn(4) {
			case 0:
				b.WriteString(nasties[r.Intn(len(nasties)-5)]) // except the long ones
			case 1:
				b.WriteByte(byte(r.Intn(256)))
			case 2:
				b.WriteRune(rune(r.Intn(0x11000)))
			default:
				b.WriteString(strconv.Itoa(r.Intn(1000)))
			}
		}
		texts = append(texts, b.String())
	}
	return texts
}

// source is one path by which a client's text reaches a template.
type source struct {
	name, expression string
	// carried returns the part of a text that can be sent this way.
	carried func(text string) string
	request func(path, text string) string
}

func whole(text string) string { return text }

// inHeader returns the part of a text that HTTP allows in the value of a header.
func inHeader(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?")), " \t")
}

func percent(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

func posted(path, contentType, body string) string {
	return fmt.Sprintf("POST %s/x HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", path, contentType, len(body), body)
}

// inJSON returns a JSON string with exactly the bytes of text, whether or not they are UTF-8.
func inJSON(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

var sources = []source{
	{"path", "path-params.id", whole, func(path, text string) string {
		return "GET " + path + "/" + percent(text) + " HTTP/1.1\r\nHost: a\r\n\r\n"
	}},
	{"query", "query-params.v", whole, func(path, text string) string {
		return "GET " + path + "/x?u=1&v=" + percent(text) + "&w=2 HTTP/1.1\r\nHost: a\r\n\r\n"
	}},
	{"header", "header-params.X-V", inHeader, func(path, text string) string {
		return "GET " + path + "/x HTTP/1.1\r\nHost: a\r\nX-V: " + text + "\r\n\r\n"
	}},
	{"cookie", "cookie-params.v", func(text string) string {
		return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(inHeader(text), ";", ""), `"`, "'"))
	}, func(path, text string) string {
		return "GET " + path + "/x HTTP/1.1\r\nHost: a\r\nCookie: u=1; v=" + text + "; w=2\r\n\r\n"
	}},
	{"form", "form-params.v", whole, func(path, text string) string {
		return posted(path, "application/x-www-form-urlencoded", "u=1&v="+percent(text)+"&w=2")
	}},
	{"JSON", "json-params.v", whole, func(path, text string) string {
		return posted(path, "application/json", `{"u": 1, "v": `+inJSON(text)+`, "w": 2}`)
	}},
}

// session is a connection that is kept open, with its answers.
type session struct {
	conn net.Conn
	in   *bufio.Reader
}

func newSession(p *Process) *session {
	c := p.Dial()
	return &session{c, bufio.NewReader(c)}
}

// exchange sends a request and returns the answer. The headers determine where the answer ends.
func (s *session) exchange(request string) (message, error) {
	if _, err := io.WriteString(s.conn, request); err != nil {
		return message{}, err
	}
	var m message
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return m, fmt.Errorf("after %q: %w", m.lines, err)
		}
		line = strings.TrimSuffix(line, "\r\n")
		switch {
		case m.status == "":
			m.status = line
		case line == "":
			lengths := m.values("Content-Length")
			if len(lengths) != 1 {
				return m, fmt.Errorf("lengths %q", lengths)
			}
			n, err := strconv.Atoi(lengths[0])
			if err != nil {
				return m, err
			}
			body := make([]byte, n)
			_, err = io.ReadFull(s.in, body)
			m.body = string(body)
			return m, err
		default:
			m.lines = append(m.lines, line)
		}
	}
}

// printable returns a text without control characters, which a header may lose.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}

// TestProperty_NoTextOfARequestChangesTheStructureOfAReply sends arbitrary texts from every part
// of a request to every part of an answer.
func TestProperty_NoTextOfARequestChangesTheStructureOfAReply(t *testing.T) {
	t.Parallel()
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, r.RequestURI)
	})
	var b strings.Builder
	for i, s := range sources {
		for _, method := range []string{"GET", "POST"} {
			fmt.Fprintf(&b, "- endpoint: {method: %s, path: '/own%d/:id', response: {headers: {X-Echo: %s}, body: %s}}\n", method, i,
				quoted("[{{"+s.expression+"}}]"), quoted(strings.ReplaceAll(`{"in": "{{v}}", "out": {{v}}, "mixed": "a{{v}}b", "list": [{{v}}]}`, "{{v}}", "{{"+s.expression+"}}")))
			fmt.Fprintf(&b, "- endpoint: {method: %s, path: '/far%d/:id', response: {headers: {X-Echo: %s}, external-body: {provider: json, path: %s}}}\n", method, i,
				quoted("[{{"+s.expression+"}}]"), quoted(up.URL+strings.ReplaceAll("/base/{{v}}/end?q={{v}}&last=1", "{{v}}", "{{"+s.expression+"}}")))
		}
	}
	p := Serving(t, b.String())
	for i, s := range sources {
		t.Run("from the "+s.name, func(t *testing.T) {
			t.Parallel()
			c := newSession(p)
			for _, text := range arbitrary(500) {
				if text = s.carried(text); text == "" && s.name == "path" {
					continue // an empty segment does not match a parameter
				}
				sent := text
				if s.name == "JSON" && !utf8.ValidString(text) {
					text = "" // a body that is not UTF-8 is not JSON, and its values are missing
				}
				own, err := c.exchange(s.request(fmt.Sprintf("/own%d", i), sent))
				if err != nil {
					t.Fatalf("%.100q: %v", text, err)
				}
				checkHeaders(t, own, text)
				checkJSON(t, own, text)
				far, err := c.exchange(s.request(fmt.Sprintf("/far%d", i), sent))
				if err != nil {
					t.Fatalf("%.100q: %v", text, err)
				}
				if climbs(text) {
					if !strings.HasPrefix(far.status, "HTTP/1.1 404 ") {
						t.Errorf("%.200q: got %q, want 404: the path would leave its directory", text, far.status)
					}
				} else {
					checkHeaders(t, far, text)
					checkURL(t, far, text)
				}
				if t.Failed() {
					return // one failing text is enough
				}
			}
		})
	}
}

// checkHeaders checks that an answer has the declared headers and no others.
func checkHeaders(t *testing.T, m message, text string) {
	t.Helper()
	if m.status != "HTTP/1.1 200 OK" || len(m.lines) != 4 || !slices.Equal(m.names(), []string{"content-type", "x-echo"}) {
		t.Errorf("%.200q: got %q with headers %.300q and body %.300q", text, m.status, m.lines, m.body)
		return
	}
	got := m.values("X-Echo")[0]
	if strings.ContainsAny(got, "\r\n\x00") || printable(got) != "["+printable(text)+"]" {
		t.Errorf("%.200q: got header %.200q", text, got)
	}
}

// checkJSON checks that a body is JSON, and that it contains the text unchanged.
func checkJSON(t *testing.T, m message, text string) {
	t.Helper()
	if !utf8.ValidString(m.body) {
		t.Errorf("%.200q: the body is not UTF-8: %.300q", text, m.body)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(m.body), &got); err != nil || len(got) != 4 {
		t.Errorf("%.200q: got %.300q: %v", text, m.body, err)
		return
	}
	text = string([]rune(text)) // bytes that are not UTF-8 are replaced one by one
	inside, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	outside := inside
	if !strings.ContainsAny(text, "{[\" \t\r\n") && json.Valid([]byte(text)) {
		outside = []byte(text) // a number, true, false or null
	}
	mixed, err := json.Marshal("a" + text + "b")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string][]byte{"in": inside, "out": outside, "mixed": mixed, "list": slices.Concat([]byte("["), outside, []byte("]"))} {
		if text == "" && (field == "out" || field == "list") {
			continue // for some sources, an empty value cannot be told from a missing one
		}
		if !sameJSON(got[field], want) {
			t.Errorf("%.200q: got %s %.300s, want %.300s", text, field, got[field], want)
		}
	}
}

// sameJSON compares JSON values, and numbers digit for digit.
func sameJSON(a, b []byte) bool {
	read := func(text []byte) any {
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		return v
	}
	return reflect.DeepEqual(read(a), read(b))
}

var requestURI = regexp.MustCompile(`^/base/([^/?#&=+:@ ]*)/end\?q=([^/?#&=+:@ ]*)&last=1$`)

// climbs reports whether a text has a segment of one or two dots.
func climbs(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }),
		func(segment string) bool { return segment == "." || segment == ".." })
}

// checkURL checks that the requested URL has the declared parts, with the text in two of them.
func checkURL(t *testing.T, m message, text string) {
	t.Helper()
	parts := requestURI.FindStringSubmatch(m.body)
	if parts == nil {
		t.Errorf("%.200q: the remote was asked for %.300q", text, m.body)
		return
	}
	for _, part := range parts[1:] {
		if got, err := url.PathUnescape(part); err != nil || got != text {
			t.Errorf("%.200q: got %.300q as a part of the URL: %v", text, got, err)
		}
	}
	if strings.Trim(parts[1], ".") == "" && parts[1] != "" {
		t.Errorf("%.200q: the segment %q leaves its directory", text, parts[1])
	}
}

// TestProperty_AReplyIsJSONWhateverJSONComes renders JSON values of every kind, and texts that
// are almost JSON.
func TestProperty_AReplyIsJSONWhateverJSONComes(t *testing.T) {
	t.Parallel()
	p := Serving(t, fmt.Sprintf("- endpoint: {method: POST, path: '/own0/:id', response: {headers: {X-Echo: '[{{json-params.v}}]'}, body: %s}}\n",
		quoted(`{"in": "{{json-params.v}}", "out": {{json-params.v}}, "all": {{json-params}}, "first": [{{json-params.v|first}}, {{json-params.v|last}}, {{json-params.v|json}}]}`)))
	c := newSession(p)
	for _, value := range []string{
		`"\ud800"`, `"\udc00x"`, `"\ud83d\ude00"`, `"\ud83dx"`, `"\u0000"`, `["\ud800"]`, "\"\xff\"", "{\"a\": \"\xff\"}", "{\"\xff\": 1}", "[\"\xed\xa0\x80\", 1]",
		"\"a\nb\"", "{\"a\": \"\n\x01\"}", `{"a":"\"}]"}`, `[1,{"a":[true,null]}]`, `{}`, `[]`, `{"a":1,"a":2}`, " [ 1 , 2 ] ",
		"1e999", "-0", "01", "+1", "1.", ".5", "-", "NaN", "tru", "True", `'a'`, `"a`, `"\x"`, `"\u12"`, "{a: 1}", "[1,]", "{,}", "1 2", "/**/1", "",
		strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("[", 100000), strings.Repeat(`{"a":`, 50000) + "1" + strings.Repeat("}", 50000),
		strings.Repeat("9", 5000), `"` + strings.Repeat(`\\\"`, 5000) + `"`,
	} {
		m, err := c.exchange(posted("/own0", "application/json", `{"v": `+value+`}`))
		if err != nil {
			t.Fatalf("%.100q: %v", value, err)
		}
		if m.status != "HTTP/1.1 200 OK" || len(m.lines) != 4 || !slices.Equal(m.names(), []string{"content-type", "x-echo"}) {
			t.Errorf("%.100q: got %q with headers %.300q", value, m.status, m.lines)
		}
		if !validJSON(m.body) {
			t.Errorf("%.100q: got %.300q", value, m.body)
		}
	}
}

// validJSON reports whether a body is JSON in UTF-8. encoding/json refuses nesting deeper than
// 10,000; for such bodies the brackets are counted.
func validJSON(body string) bool {
	if !utf8.ValidString(body) {
		return false
	}
	if len(body) < 100000 {
		return json.Valid([]byte(body))
	}
	return strings.Count(body, "{") == strings.Count(body, "}") && strings.Count(body, "[") == strings.Count(body, "]")
}
