//go:build unix

package e2e_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// attacked is the configuration that the hostile clients attack: it uses values from a request in
// every kind of place.
const attacked = `
- endpoint: {path: /a, response: {body: a}}
- endpoint: {path: /a, host: wins.test, response: {body: wins}}
- endpoint: {method: POST, path: /a, response: {body: '{{body|length}}'}}
- endpoint: {method: PUT, path: /a, response: {body: put}}
- endpoint:
    path: /echo/:id
    response:
      headers: {X-Id: "{{path-params.id}}"}
      body: '{"id": "{{path-params.id}}", "q": "{{query-params.q}}", "h": "{{header-params.X-H}}", "c": "{{cookie-params.c}}", "e": "{{header-params.Expect}}"}'
- endpoint: {method: POST, path: /json, if: json-params.a contains needle, response: {body: {found: "{{json-params.a}}"}}}
- endpoint:
    method: POST
    path: /json
    response:
      body: '{"a": {{json-params.a}}, "text": "{{json-params.a}}", "n": {{json-params.n}}, "all": [{% for x in json-params.items %}{% if x > 1 %}{{x}}{% else %}null{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}]}'
- endpoint: {method: POST, path: /form, response: {body: '{"f": "{{form-params.f}}", "last": "{{form-params.k99999}}"}'}}
- endpoint: {path: /bodied, response: {body: '{{body}}'}}
- endpoint: {path: /secret, response: {body: secret}}
- endpoint: {path: /files/*rest, response: {body: '{"rest": "{{path-params.rest}}"}'}}
`

// hostile is one case: what a client sends on a connection of its own, and what it must get back.
type hostile struct {
	name  string
	rfc   string // the section that defines it
	send  string
	want  []int  // the statuses of the answers, in order
	ends  bool   // the connection is closed after them; otherwise it serves one more request
	alone bool   // nothing follows, and the client does not close: the server must
	half  bool   // nothing follows, and the client closes its sending side
	holds string // a text that the body of the last answer contains
}

const (
	host     = "Host: a\r\n"
	chunked  = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	next     = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	plainGET = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
)

// getA returns a GET request with the given header lines, which have no line ends.
func getA(target string, lines ...string) string {
	return "GET " + target + " HTTP/1.1\r\n" + host + strings.Join(append(lines, ""), "\r\n") + "\r\n"
}

// postA returns a POST request to /a with the given header lines.
func postA(body string, lines ...string) string {
	return "POST /a HTTP/1.1\r\n" + host + strings.Join(append(lines, ""), "\r\n") + "\r\n" + body
}

// bad returns a case that is answered with 400, after which the connection is closed.
func bad(rfc, name, send string) hostile {
	return hostile{name: name, rfc: rfc, send: send, want: []int{400}, ends: true}
}

// fine returns a case that is answered with the status, after which the connection is kept.
func fine(rfc, name, send string, status int, holds string) hostile {
	return hostile{name: name, rfc: rfc, send: send, want: []int{status}, holds: holds}
}

// ended returns a case that is answered with the statuses, after which the connection is closed.
func ended(rfc, name, send string, statuses ...int) hostile {
	return hostile{name: name, rfc: rfc, send: send, want: statuses, ends: true}
}

func hostileLines() []hostile {
	return []hostile{
		bad("9112 2.2", "bare LF behind the request line", "GET /a HTTP/1.1\nHost: a\r\n\r\n"),
		bad("9112 2.2", "bare LF behind a header", "GET /a HTTP/1.1\r\nHost: a\nX-A: b\r\n\r\n"),
		bad("9112 2.2", "bare LF behind another header", "GET /a HTTP/1.1\r\nHost: a\r\nX-A: b\nX-B: c\r\n\r\n"),
		bad("9112 2.2", "bare LF behind the last header", "GET /a HTTP/1.1\r\nHost: a\n\r\n"),
		bad("9112 2.2", "bare LF as the blank line", "GET /a HTTP/1.1\r\nHost: a\r\n\n"),
		{name: "bare LF everywhere, nothing follows", rfc: "9112 2.2", send: "GET /a HTTP/1.1\nHost: a\n\n", want: []int{400}, ends: true, alone: true},
		{name: "bare LF behind the request line, nothing follows", rfc: "9112 2.2", send: "GET /a HTTP/1.1\n", want: []int{400}, ends: true, alone: true},
		{name: "a bare LF and nothing else", rfc: "9112 2.2", send: "\n", want: []int{400}, ends: true, alone: true},
		bad("9112 2.2", "bare LF before the request line", "\n"+plainGET),
		bad("9112 2.2", "bare CR in the request line", "GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 2.2", "bare CR in a value", getA("/a", "X-A: b\rc")),
		bad("9112 2.2", "bare CR in a name", getA("/a", "X-A\rB: c")),
		bad("9112 2.2", "CR CR LF behind a header", getA("/a", "X-A: b\r")),
		fine("9112 2.2", "one blank line before the request line", "\r\n"+plainGET, 200, "a"),
		fine("9112 2.2", "a blank line behind a body", postA("ab\r\n", "Content-Length: 2"), 200, "2"),
		bad("9112 2.2", "thousands of blank lines", strings.Repeat("\r\n", 5000)+plainGET),
		{name: "a blank line and the end", rfc: "9112 2.2", send: "\r\n", ends: true, half: true},
		bad("9112 2.2", "a blank before the request line", " "+plainGET),
		bad("9112 2.2", "a blank before the first header", "GET /a HTTP/1.1\r\n Host: a\r\n\r\n"),
		bad("9112 5.1", "a blank before the colon", getA("/a", "X-A : b")),
		bad("9112 5.1", "a tab before the colon", getA("/a", "X-A\t: b")),
		bad("9112 5.1", "a blank inside a name", getA("/a", "X A: b")),
		bad("9112 5.1", "a blank before the colon of Transfer-Encoding", postA("0\r\n\r\n", "Transfer-Encoding : chunked")),
		bad("9112 5.1", "a blank before the colon of Content-Length", postA("ab", "Content-Length : 2")),
		bad("9110 5.1", "an empty name", getA("/a", ": b")),
		bad("9110 5.1", "a header without a colon", getA("/a", "X-A")),
		bad("9110 5.6.2", "a byte above 0x7f in a name", getA("/a", "X-\xe9: b")),
		bad("9110 5.6.2", "a delimiter in a name", getA("/a", "X[A]: b")),
		bad("9110 5.6.2", "NUL in a name", getA("/a", "X-\x00A: b")),
		bad("9110 5.5", "NUL in a value", getA("/a", "X-A: b\x00c")),
		bad("9110 5.5", "a control character in a value", getA("/a", "X-A: b\x01c")),
		bad("9110 5.5", "DEL in a value", getA("/a", "X-A: b\x7fc")),
		bad("9110 5.5", "60,000 control characters in a value", getA("/a", "X-A: "+strings.Repeat("\x01", 60000))),
		bad("9110 5.5", "NUL beside close", getA("/a", "Connection: close,a\x00b")),
		bad("9110 5.5", "NUL behind close", getA("/a", "Connection: close", "Connection: a\x00bcdefg")),
		bad("9112 2.2", "bare CR beside close, which hides a header", postA("", "Content-Length: 0", "Connection: close,\rTransfer-Encoding: chunked")),
		fine("9110 5.5", "a tab in a value", getA("/echo/1", "X-H: b\tc"), 200, `"h": "b\tc"`),
		fine("9110 5.5", "bytes above 0x7f in a value", getA("/echo/1", "X-H: \xff\xc3\xa9"), 200, "\ufffd\u00e9"),
		fine("9110 5.5", "an empty value", getA("/echo/1", "X-H:"), 200, `"h": ""`),
		fine("9110 5.5", "blanks around a value", getA("/echo/1", "X-H: \t b \t "), 200, `"h": "b"`),
		fine("9110 5.3", "a header twice", getA("/echo/1", "X-H: b", "X-H: c"), 200, `"h": "b"`),
		bad("9112 5.2", "obs-fold with a blank", getA("/a", "X-A: b", " c")),
		bad("9112 5.2", "obs-fold with a tab", getA("/a", "X-A: b", "\tc")),
		bad("9112 5.2", "obs-fold of nothing", getA("/a", "X-A: b", " ")),
		bad("9112 5.2", "obs-fold that hides a Content-Length", postA("ab", "X-A: b", " Content-Length: 2")),
		bad("9112 5.2", "obs-fold in Transfer-Encoding", postA("0\r\n\r\n", "Transfer-Encoding:", " chunked")),
		fine("6585 5", "10,000 headers within 64 KiB", getA("/a", slices.Repeat([]string{"A:b"}, 10000)...), 200, "a"),
		ended("6585 5", "a header block over 64 KiB", getA("/a", slices.Repeat([]string{"X-A: 0123456789"}, 5000)...), 431),
		ended("6585 5", "one line over 64 KiB", getA("/a", "X-A: "+strings.Repeat("x", 70<<10)), 431),
		ended("6585 5", "one name over 64 KiB", getA("/a", strings.Repeat("x", 70<<10)), 431),
	}
}

func hostileRequestLines() []hostile {
	return []hostile{
		bad("9112 3", "no version, as HTTP/0.9 has it", "GET /a\r\n"),
		bad("9112 3", "no version, and headers", "GET /a\r\nHost: a\r\n\r\n"),
		bad("9112 2.3", "http/1.1 in lower case", "GET /a http/1.1\r\nHost: a\r\n\r\n"),
		bad("9110 2.5", "HTTP/9.9", "GET /a HTTP/9.9\r\nHost: a\r\n\r\n"),
		bad("9110 2.5", "HTTP/2.0", "GET /a HTTP/2.0\r\nHost: a\r\n\r\n"),
		bad("9110 2.5", "HTTP/0.9 spelt out", "GET /a HTTP/0.9\r\nHost: a\r\n\r\n"),
		fine("9110 2.5", "HTTP/1.2 is served as 1.1", "GET /a HTTP/1.2\r\nHost: a\r\n\r\n", 200, "a"),
		bad("9112 2.3", "HTTP/1.10", "GET /a HTTP/1.10\r\nHost: a\r\n\r\n"),
		bad("9112 2.3", "HTTP/01.1", "GET /a HTTP/01.1\r\nHost: a\r\n\r\n"),
		bad("9112 2.3", "HTTP/1,1", "GET /a HTTP/1,1\r\nHost: a\r\n\r\n"),
		bad("9112 2.3", "another protocol", "GET /a RTSP/1.0\r\nHost: a\r\n\r\n"),
		bad("9113 3.4", "half of the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3", "two blanks before the target", "GET  /a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3", "two blanks behind the target", "GET /a  HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3", "a blank behind the version", "GET /a HTTP/1.1 \r\nHost: a\r\n\r\n"),
		bad("9112 3", "tabs between the parts", "GET\t/a\tHTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3", "a blank inside the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.1", "no method", " /a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.1", "CR in the method", "\rREW /a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n"),
		bad("9112 3.1", "NUL in the method", "G\x00ET /a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.1", "a delimiter in the method", "GE(T /a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.1", "a byte above 0x7f in the method", "G\xc3\x8bT /a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3", "a quoted request line", "\"GET /a HTTP/1.1\"\r\nHost: a\r\n\r\n"),
		fine("9110 9.1", "BREW on a declared path", "BREW /a HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"),
		fine("9110 9.1", "BREW on another path", "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n", 404, "endpoint_not_found"),
		fine("9110 9.1", "get in lower case is another method", "get /a HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"),
		fine("9110 9.1", "a method of 60,000 letters", strings.Repeat("A", 60000)+" /a HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"),
		fine("9110 9.3.8", "TRACE", "TRACE /a HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"),
		{name: "CONNECT to an authority", rfc: "9110 9.3.6", send: "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", want: []int{501}, ends: true, holds: `"code":"not_implemented"`},
		ended("9110 9.3.6", "CONNECT, and TLS at once", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 501),
		ended("9110 9.3.6", "CONNECT behind a good one", plainGET+"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", 200, 501),
		bad("9110 9.3.6", "CONNECT without a port", "CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n"),
		bad("9112 3.2.3", "CONNECT to a path", "CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.2", "an authority with GET", "GET a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"),
		bad("9112 3.2", "a path without its slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
		fine("9110 9.3.7", "OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 200, ""),
		bad("9112 3.2.4", "GET *", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.2.4", "OPTIONS *x", "OPTIONS *x HTTP/1.1\r\nHost: a\r\n\r\n"),
		fine("9112 3.2.2", "an absolute target wins over Host", "GET http://wins.test/a HTTP/1.1\r\nHost: other.test\r\n\r\n", 200, "wins"),
		fine("9112 3.2.2", "an absolute target with a port", "GET HTTP://Wins.Test:80/a HTTP/1.1\r\nHost: other.test\r\n\r\n", 200, "wins"),
		fine("9112 3.2.2", "an absolute target of https", "GET https://wins.test/a HTTP/1.1\r\nHost: wins.test\r\n\r\n", 200, "wins"),
		fine("9112 3.2.2", "an absolute target without a path", "GET http://wins.test HTTP/1.1\r\nHost: a\r\n\r\n", 404, "GET /"),
		bad("9112 3.2", "an absolute target without Host", "GET http://wins.test/a HTTP/1.1\r\n\r\n"),
		bad("9110 4.2.4", "an absolute target with userinfo", "GET http://u:p@wins.test/a HTTP/1.1\r\nHost: wins.test\r\n\r\n"),
		bad("9110 4.2.1", "an absolute target without a host", "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9110 4.2.1", "an absolute target with a bad host", "GET http://a\"b/a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9110 4.2", "an absolute target of another scheme", "GET ftp://a/a HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9110 4.2", "a target of file:", "GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.2", "a fragment", getA("/a#b")),
		bad("9112 3.2", "a fragment behind a query", getA("/a?b#c")),
		bad("9112 3.2", "a fragment in an absolute target", "GET http://a/a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("9112 3.2", "NUL in the target", getA("/a\x00")),
		bad("9112 3.2", "DEL in the target", getA("/a\x7f")),
		bad("9112 3.2", "a tab in the target", getA("/a\tb")),
		{name: "raw UTF-8 in the target", rfc: "9112 3.2", send: getA("/echo/\xc3\xa9"), want: []int{400}, ends: true, holds: "%C3%A9"},
		bad("9112 3.2", "a raw byte above 0x7f in the target", getA("/echo/\xff")),
		bad("9112 3.2", "raw UTF-8 in the query", getA("/a?q=\xc3\xa9")),
		bad("9112 3.2", "raw UTF-8 in the path of an absolute target", "GET http://a/\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n"),
		bad("3629 3", "raw overlong UTF-8 in the target", getA("/files/\xc0\xaf")),
		bad("3629 3", "raw overlong dots in the target", getA("/files/\xc0\xae\xc0\xae/secret")),
		fine("3986 2.1", "encoded UTF-8 in the target", getA("/echo/%C3%A9?q=%c3%a9"), 200, "\"id\": \"\u00e9\", \"q\": \"\u00e9\""),
		fine("3986 2.5", "encoded bytes that are no UTF-8 are data", getA("/echo/%ff?q=%e9"), 200, `"id": "`+"\ufffd"+`", "q": "`+"\ufffd"+`"`),
		fine("3629 3", "encoded overlong dots lead nowhere", getA("/files/%c0%ae%c0%ae%c0%afsecret"), 200, "\ufffdsecret"),
		fine("3986 2.1", "%zz stands for itself", getA("/echo/%zz%"), 200, `"id": "%zz%"`),
		fine("3629 3", "overlong UTF-8 is no slash", getA("/echo/%c0%af?q=%c0%af"), 200, "\ufffd"),
		fine("3986 2.1", "%00 is data", getA("/echo/%00?q=%00"), 200, `"id": "\u0000", "q": "\u0000"`),
		fine("9110 5.5", "%0d%0a never ends a header", getA("/echo/a%0d%0aX-Evil:1%00"), 200, `"id": "a\r\nX-Evil:1\u0000"`),
		fine("3986 5.2.4", "%2e%2e%2f does not resolve else", getA("/files/%2e%2e%2fsecret"), 200, `"rest": "../secret"`),
		fine("3986 5.2.4", "/../ does not resolve else", getA("/files/../secret"), 200, `"rest": "../secret"`),
		fine("3986 5.2.4", "/x/../secret is not /secret", getA("/x/../secret"), 404, "endpoint_not_found"),
		fine("3986 5.2.4", "/%2e%2e/secret is not /secret", getA("/%2e%2e/secret"), 404, "endpoint_not_found"),
		fine("3986 6.2", "//a is not /a", getA("//a"), 404, "endpoint_not_found"),
		fine("9112 3", "a path of slashes", getA("/"+strings.Repeat("/", 60000)), 404, "endpoint_not_found"),
		fine("9110 4.1", "a target of 8 KiB", getA("/echo/"+strings.Repeat("x", 8<<10)), 200, strings.Repeat("x", 8<<10)),
		ended("6585 5", "a target over 64 KiB", getA("/"+strings.Repeat("x", 70<<10)), 431),
		fine("3986 3.4", "10,000 query parameters", getA("/echo/1?"+strings.Repeat("a=b&", 10000)+"q=last"), 200, `"q": "last"`),
		fine("3986 3.4", "a query of separators", getA("/echo/1?"+strings.Repeat("&=%&+", 1000)), 200, `"q": ""`),
		fine("6265 5.4", "a cookie header of garbage", getA("/echo/1", `Cookie: ;;=;a==b; "c"="x; \x; c=`+"\xff"+`"; c="ok"`), 200, `"c": `),
	}
}

func hostileHosts() []hostile {
	withHost := func(lines ...string) string {
		return "GET /a HTTP/1.1\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
	}
	return []hostile{
		{name: "no Host", rfc: "9112 3.2", send: withHost(), want: []int{400}, ends: true, holds: `"message":"there is no Host header`},
		bad("9112 3.2", "no Host in HTTP/1.2", "GET /a HTTP/1.2\r\n\r\n"),
		bad("9112 3.2", "Host twice", withHost("Host: a", "Host: a")),
		bad("9112 3.2", "Host twice, spelt differently", withHost("Host: a", "hOST: b")),
		bad("9110 4.2.1", "an empty Host", withHost("Host:")),
		bad("9110 4.2.1", "a Host that is a port", withHost("Host: :80")),
		bad("9110 7.2", "a Host with a blank", withHost("Host: a b")),
		bad("9110 7.2", "a Host with a slash", withHost("Host: a/b")),
		bad("9110 7.2", "a Host with userinfo", withHost("Host: u@a")),
		bad("9110 7.2", "a Host with a query", withHost("Host: a?b")),
		bad("9110 7.2", "a Host with a fragment", withHost("Host: a#b")),
		bad("9110 7.2", "a Host with a backslash", withHost(`Host: a\b`)),
		bad("9110 7.2", "a Host in angle brackets", withHost("Host: <a>")),
		bad("9110 7.2", "two hosts in one", withHost("Host: a, b")),
		bad("9110 7.2", "a Host with a control character", withHost("Host: a\x01b")),
		bad("9110 7.2", "a Host with bytes above 0x7f", withHost("Host: \xc3\xa9.test")),
		bad("9110 7.2", "a Host with a port that is none", withHost("Host: a:b")),
		bad("9110 7.2", "a Host with two ports", withHost("Host: a:1:2")),
		bad("9110 7.2", "a Host with half an IPv6 address", withHost("Host: [::1")),
		bad("9110 7.2", "a bad Host beside an absolute target", "GET http://a/a HTTP/1.1\r\nHost: a/b\r\n\r\n"),
		fine("9110 7.2", "a Host with a port", withHost("Host: wins.test:8000"), 200, "wins"),
		fine("9110 7.2", "a Host with an empty port", withHost("Host: wins.test:"), 200, "wins"),
		fine("9110 7.2", "a Host with an IPv6 address", withHost("Host: [::1]:80"), 200, "a"),
		fine("9110 7.2", "a Host with an underscore", withHost("Host: my_service"), 200, "a"),
		fine("9110 7.2", "a Host behind other headers", withHost("X-A: b", "Host: wins.test"), 200, "wins"),
	}
}

func hostileLengths() []hostile {
	const te, cl = "Transfer-Encoding: chunked", "Content-Length: 5"
	const five = "5\r\n01234\r\n0\r\n\r\n"
	return []hostile{
		bad("9112 6.1", "Content-Length before Transfer-Encoding", postA(five, cl, te)),
		bad("9112 6.1", "Transfer-Encoding before Content-Length", postA(five, te, cl)),
		bad("9112 6.1", "Transfer-Encoding and Content-Length: 0", postA("0\r\n\r\n", "Content-Length: 0", te)),
		bad("9112 6.1", "both with a body of exactly that length", postA(five, "Content-Length: "+fmt.Sprint(len(five)), te)),
		bad("9112 6.1", "both with GET", getA("/a", cl, te)+five),
		bad("9112 6.1", "both on a path that is not declared", "POST /none HTTP/1.1\r\nHost: a\r\n"+cl+"\r\n"+te+"\r\n\r\n"+five),
		bad("9112 6.1", "both with OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: a\r\n"+te+"\r\n"+cl+"\r\n\r\n"+five),
		bad("9112 6.1", "both with keep-alive", postA(five, "Connection: keep-alive", cl, te)),
		bad("9112 6.1", "both with a length over the limit", postA(five, "Content-Length: 1001", te)),
		bad("9112 6.1", "both, of which one is malformed", postA(five, "Content-Length: x", te)),
		ended("9112 6.1", "both behind another Expect", postA(five, "Expect: x", cl, te), 417),
		ended("9112 6.1", "both before 100-continue", postA(five, cl, te, "Expect: 100-continue"), 400),
		ended("9112 6.1", "both with CONNECT", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n"+cl+"\r\n"+te+"\r\n\r\n"+five, 501),
		ended("9112 6.1", "both behind good ones", plainGET+postA(five, te)+postA(five, cl, te), 200, 200, 400),
		{name: "both, and nothing follows", rfc: "9112 6.1", send: postA(five, cl, te), want: []int{400}, ends: true, alone: true},
		bad("9112 6.3", "two lengths that are the same", postA("01234", cl, cl)),
		bad("9112 6.3", "two lengths that differ", postA("01234", cl, "Content-Length: 6")),
		bad("9112 6.3", "a list of lengths", postA("01234", "Content-Length: 5, 5")),
		bad("9110 8.6", "a length with a plus", postA("01234", "Content-Length: +5")),
		bad("9110 8.6", "a negative length", postA("01234", "Content-Length: -1")),
		bad("9110 8.6", "a length of minus nothing", postA("", "Content-Length: -0")),
		bad("9110 8.6", "a hexadecimal length", postA("01234", "Content-Length: 0x5")),
		bad("9110 8.6", "a length with a fraction", postA("01234", "Content-Length: 5.0")),
		bad("9110 8.6", "a length with a blank inside", postA("01234", "Content-Length: 5 5")),
		bad("9110 8.6", "an empty length", postA("01234", "Content-Length:")),
		bad("9110 8.6", "a length in other digits", postA("01234", "Content-Length: \xd9\xa5")),
		bad("9110 8.6", "a length beyond 64 bits", postA("01234", "Content-Length: 18446744073709551621")),
		bad("9110 8.6", "a length of a thousand digits", postA("01234", "Content-Length: "+strings.Repeat("9", 1000))),
		ended("9110 8.6", "a length of 18 digits", postA("01234", "Content-Length: 999999999999999999"), 413),
		ended("9110 15.5.14", "a length over the limit", postA("01234", "Content-Length: 1001"), 413),
		fine("9110 8.6", "a length at the limit", postA(strings.Repeat("x", 1000), "Content-Length: 1000"), 200, "1000"),
		fine("9110 8.6", "blanks around a length", postA("01234", "Content-Length: \t 5 \t"), 200, "5"),
		fine("9110 8.6", "a length with zeros before it", postA("01234", "Content-Length: 0000005"), 200, "5"),
		fine("9110 8.6", "no length is no body", postA(""), 200, "0"),
		fine("9110 9.3.1", "a body with GET", getA("/bodied", "Content-Length: 5")+"01234", 200, "01234"),
		fine("9110 9.3.1", "a chunked body with GET", getA("/bodied", te)+five, 200, "01234"),
		{name: "a body that ends early", rfc: "9112 8", send: postA("012", cl), want: []int{400}, ends: true, half: true},
		{name: "a head that ends early", rfc: "9112 8", send: "GET /a HT", want: []int{400}, ends: true, half: true},
		{name: "headers that end early", rfc: "9112 8", send: "GET /a HTTP/1.1\r\nHost: a\r\n", want: []int{400}, ends: true, half: true},
		{name: "a good one, and a head that ends early", rfc: "9112 8", send: plainGET + "GET /a HTTP/1.1\r\nHo", want: []int{200, 400}, ends: true, half: true},
		bad("9112 6.1", "Transfer-Encoding: identity", postA("", "Transfer-Encoding: identity")),
		bad("9112 6.1", "Transfer-Encoding: gzip", postA("", "Transfer-Encoding: gzip")),
		bad("9112 6.1", "Transfer-Encoding: gzip, chunked", postA(five, "Transfer-Encoding: gzip, chunked")),
		bad("9112 6.1", "Transfer-Encoding: chunked, gzip", postA(five, "Transfer-Encoding: chunked, gzip")),
		bad("9112 6.1", "chunked twice in one header", postA(five, "Transfer-Encoding: chunked, chunked")),
		bad("9112 6.1", "chunked twice", postA(five, te, te)),
		bad("9112 6.1", "chunked and identity", postA(five, te, "Transfer-Encoding: identity")),
		bad("9112 6.1", "identity and chunked", postA(five, "Transfer-Encoding: identity", te)),
		bad("9112 6.1", "identity beside a length", postA("01234", "Transfer-Encoding: identity", cl)),
		bad("9112 7", "xchunked", postA(five, "Transfer-Encoding: xchunked")),
		bad("9112 7", "chunked in quotes", postA(five, `Transfer-Encoding: "chunked"`)),
		bad("9112 7", "chunked behind a vertical tab", postA(five, "Transfer-Encoding: \x0bchunked")),
		bad("9112 7", "chunked with a parameter", postA(five, "Transfer-Encoding: chunked;q=1")),
		bad("9112 7", "an empty Transfer-Encoding", postA(five, "Transfer-Encoding:")),
		bad("9112 7", "chunked behind a comma", postA(five, "Transfer-Encoding: ,chunked")),
		bad("9112 6.1", "chunked in HTTP/1.0", "POST /a HTTP/1.0\r\n"+te+"\r\n\r\n"+five),
		bad("9112 6.1", "chunked and a length in HTTP/1.0", "POST /a HTTP/1.0\r\n"+te+"\r\n"+cl+"\r\n\r\n01234"),
		fine("9112 7", "Chunked in another case", postA(five, "transfer-ENCODING: Chunked"), 200, "5"),
		fine("9112 7", "blanks around chunked", postA(five, "Transfer-Encoding: \t chunked \t "), 200, "5"),
		fine("9110 8.4", "a gzip body is not decoded", postA("\x1f\x8b\x08\x00\x00", cl, "Content-Encoding: gzip"), 200, "5"),
	}
}

func hostileChunks() []hostile {
	ten := strings.Repeat("0123456789", 100) // 1000 bytes each
	return []hostile{
		fine("9112 7.1", "no chunk", chunked+"0\r\n\r\n", 200, "0"),
		fine("9112 7.1", "chunks", chunked+"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", 200, "13"),
		fine("9112 7.1", "sizes with zeros before them", chunked+"0000000003\r\nabc\r\n000\r\n\r\n", 200, "3"),
		fine("9112 7.1", "data that looks like chunks", chunked+"9\r\n0\r\n\r\nGET \r\n0\r\n\r\n", 200, "9"),
		bad("9112 7.1", "a size that is no number", chunked+"zz\r\nab\r\n0\r\n\r\n"),
		bad("9112 7.1", "an empty size", chunked+"\r\nab\r\n0\r\n\r\n"),
		bad("9112 7.1", "a negative size", chunked+"-1\r\na\r\n0\r\n\r\n"),
		bad("9112 7.1", "a size with a plus", chunked+"+1\r\na\r\n0\r\n\r\n"),
		bad("9112 7.1", "a size with 0x", chunked+"0x1\r\na\r\n0\r\n\r\n"),
		bad("9112 7.1", "a blank before the size", chunked+" 1\r\na\r\n0\r\n\r\n"),
		bad("9112 7.1", "a blank behind the size", chunked+"1 \r\na\r\n0\r\n\r\n"),
		bad("9112 7.1", "a size with an underscore", chunked+"1_0\r\n0123456789012345\r\n0\r\n\r\n"),
		bad("9112 7.1", "a size of 16 digits", chunked+"FFFFFFFFFFFFFFFF\r\na\r\n0\r\n\r\n"),
		bad("9112 7.1", "a size that overflows to 1", chunked+"10000000000000001\r\na\r\n0\r\n\r\n"),
		bad("9112 7.1", "a size of a thousand digits", chunked+strings.Repeat("0", 1000)+"1\r\na\r\n0\r\n\r\n"),
		ended("9110 15.5.14", "a size of 15 digits", chunked+"FFFFFFFFFFFFFFF\r\na\r\n0\r\n\r\n", 413),
		ended("9110 15.5.14", "chunks over the limit", chunked+"3e8\r\n"+ten+"\r\n1\r\na\r\n0\r\n\r\n", 413),
		ended("9110 15.5.14", "a chunk over the limit", chunked+"3e9\r\n"+ten+"a\r\n0\r\n\r\n", 413),
		fine("9110 15.5.14", "a chunk at the limit", chunked+"3e8\r\n"+ten+"\r\n0\r\n\r\n", 200, "1000"),
		bad("9112 7.1", "no CRLF behind the data", chunked+"3\r\nabc0\r\n\r\n"),
		bad("9112 7.1", "data longer than its size", chunked+"3\r\nabcd\r\n0\r\n\r\n"),
		bad("9112 7.1", "LF behind the data", chunked+"3\r\nabc\n0\r\n\r\n"),
		bad("9112 7.1", "CR and no LF behind the data", chunked+"3\r\nabc\rx0\r\n\r\n"),
		bad("9112 7.1", "LF behind the size", chunked+"3\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1", "CR and no LF behind the size", chunked+"3\rxabc\r\n0\r\n\r\n"),
		bad("9112 7.1", "LF behind the last chunk", chunked+"0\n\r\n"),
		bad("9112 7.1", "LF at the end", chunked+"0\r\n\n"),
		{name: "an end before the last chunk", rfc: "9112 8", send: chunked + "3\r\nabc\r\n", want: []int{400}, ends: true, half: true},
		{name: "an end inside a chunk", rfc: "9112 8", send: chunked + "9\r\nabc", want: []int{400}, ends: true, half: true},
		{name: "an end inside a size", rfc: "9112 8", send: chunked + "9", want: []int{400}, ends: true, half: true},
		{name: "an end behind the last chunk", rfc: "9112 8", send: chunked + "0\r\n", want: []int{400}, ends: true, half: true},
		fine("9112 7.1.1", "an extension", chunked+"3;a=b\r\nabc\r\n0;c\r\n\r\n", 200, "3"),
		fine("9112 7.1.1", "an extension in quotes", chunked+"3;a=\"b;c\"\r\nabc\r\n0\r\n\r\n", 200, "3"),
		fine("9112 7.1.1", "an extension of 1 KiB", chunked+"3;"+strings.Repeat("x", 1<<10)+"\r\nabc\r\n0\r\n\r\n", 200, "3"),
		fine("9112 7.1.1", "extensions with blanks around their parts", chunked+"3 ; a\t= b ;\tc ; d = \"e\" ;f\r\nabc\r\n0\r\n\r\n", 200, "3"),
		fine("9110 5.6.4", "escapes, blanks and bytes above 0x7f in a quoted extension", chunked+"3;a=\"\\\"\\\\\t \xc3\xa9\"\r\nabc\r\n0\r\n\r\n", 200, "3"),
		bad("9112 7.1.1", "a bare semicolon", chunked+"3;\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a bare semicolon behind the last chunk", chunked+"3\r\nabc\r\n0;\r\n\r\n"),
		bad("9112 7.1.1", "a semicolon and a blank", chunked+"3; \r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a bare semicolon behind an extension", chunked+"3;a;\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "two semicolons", chunked+"3;;a\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "an extension without a name", chunked+"3;=b\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "an extension without its value", chunked+"3;a=\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "two values of an extension", chunked+"3;a=b=c\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a byte of an extension that is no token", chunked+"3;a@b\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a delimiter in the value of an extension", chunked+"3;a=b/c\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a byte above 0x7f in an extension", chunked+"3;\xe9\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a blank inside an extension", chunked+"3;a b\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a blank behind an extension", chunked+"3;a \r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a quoted extension that is not closed", chunked+"3;a=\"b\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "something behind the quotes of an extension", chunked+"3;a=\"b\"c\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "a control character in a quoted extension", chunked+"3;a=\"\x01\"\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "CR in a quoted extension", chunked+"3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "an extension of 100 KiB", chunked+"3;"+strings.Repeat("x", 100<<10)+"\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "extensions of 100 KiB together", chunked+strings.Repeat("1;"+strings.Repeat("x", 1<<10)+"\r\na\r\n", 100)+"0\r\n\r\n"),
		bad("9112 7.1.1", "LF in an extension", chunked+"3;a\nb\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "CR in an extension", chunked+"3;a\rb\r\nabc\r\n0\r\n\r\n"),
		bad("9112 7.1.1", "NUL in an extension", chunked+"3;a\x00b\r\nabc\r\n0\r\n\r\n"),
		fine("9112 7.1.2", "a trailer", chunked+"3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", 200, "3"),
		fine("9110 6.5.1", "a trailer is no header", "GET /echo/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-H\r\n\r\n0\r\nX-H: forged\r\n\r\n", 200, `"h": ""`),
		fine("9110 6.5.1", "forbidden trailers are dropped", chunked+"0\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\nHost: b\r\nAuthorization: c\r\n\r\n", 200, "0"),
		bad("9110 6.6.2", "forbidden trailers announced", postA("0\r\nContent-Length: 9\r\n\r\n", "Transfer-Encoding: chunked", "Trailer: Content-Length")),
		bad("9112 7.1.2", "a trailer without a colon", chunked+"0\r\nX-T\r\n\r\n"),
		bad("9112 7.1.2", "a trailer without a name", chunked+"0\r\n: 1\r\n\r\n"),
		bad("9112 7.1.2", "a trailer with a blank before the colon", chunked+"0\r\nX-T : 1\r\n\r\n"),
		bad("9112 7.1.2", "a trailer with NUL", chunked+"0\r\nX-T: \x00\r\n\r\n"),
		bad("9112 7.1.2", "obs-fold in a trailer", chunked+"0\r\nX-T: 1\r\n 2\r\n\r\n"),
		bad("9112 7.1.2", "LF behind a trailer", chunked+"0\r\nX-T: 1\n\r\n"),
		ended("6585 5", "trailers over 64 KiB", chunked+"0\r\n"+strings.Repeat("X-T: 0123456789\r\n", 5000)+"\r\n", 431),
	}
}

func hostileConnections() []hostile {
	return []hostile{
		{name: "100 requests in one write", rfc: "9112 9.3.2", send: strings.Repeat(plainGET, 100), want: slices.Repeat([]int{200}, 100)},
		{name: "10,000 requests in one write", rfc: "9112 9.3.2", send: strings.Repeat(plainGET, 10000), want: slices.Repeat([]int{200}, 10000)},
		ended("9112 9.3.2", "good ones, then a bad one", strings.Repeat(plainGET, 3)+"GET /a HTTP/1.1\r\nHost : a\r\n\r\n", 200, 200, 200, 400),
		ended("9112 9.3.2", "a good one, then no HTTP", plainGET+"\x00\x01\x02\x03", 200, 400),
		ended("9112 9.3.2", "a good one, then bare LF", plainGET+"\n", 200, 400),
		{name: "bodies among others", rfc: "9112 9.3.2", send: plainGET + postA("01234", "Content-Length: 5") + getA("/none") + chunked + "1\r\na\r\n0\r\n\r\n" + "PUT /a HTTP/1.1\r\nHost: a\r\n\r\n", want: []int{200, 200, 404, 200, 200}, holds: "put"},
		ended("9112 6.3", "a body that holds a request is a body", postA(plainGET, fmt.Sprint("Content-Length: ", len(plainGET)), "Connection: close"), 200),
		ended("9112 9.6", "what follows Connection: close is ignored", getA("/a", "Connection: close")+strings.Repeat(plainGET, 20), 200),
		ended("9110 7.6.1", "Connection: Close", getA("/a", "Connection: Close"), 200),
		ended("9110 7.6.1", "close in a list", getA("/a", "Connection: keep-alive , close"), 200),
		ended("9110 7.6.1", "close in one of two headers", getA("/a", "Connection: close", "Connection: keep-alive"), 200),
		fine("9110 7.6.1", "an empty Connection", getA("/a", "Connection:"), 200, "a"),
		fine("9110 7.6.1", "closed is not close", getA("/a", "Connection: closed, disclose"), 200, "a"),
		fine("9110 7.6.1", "an odd Connection", getA("/a", `Connection: ,;="x", te, Host`), 200, "a"),
		ended("9112 9.3", "HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n", 200),
		ended("9112 9.3", "HTTP/1.0 with Host", "GET /a HTTP/1.0\r\nHost: a\r\n\r\n", 200),
		ended("9112 9.3", "HTTP/1.0 that closes", "GET /a HTTP/1.0\r\nConnection: close\r\n\r\n", 200),
		fine("9112 9.3", "HTTP/1.0 that stays", "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, "a"),
		ended("9112 9.3", "HTTP/1.0 that stays in its second header", "GET /a HTTP/1.0\r\nConnection: te\r\nConnection: keep-alive\r\n\r\n", 200),
		ended("9112 9.3", "HTTP/1.0 that stays, then closes", "GET /a HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", 200),
		fine("9112 9.3", "HTTP/1.0 that stays, behind a tab", "GET /a HTTP/1.0\r\nConnection: te,\tkeep-alive\r\n\r\n", 200, "a"),
		fine("9112 9.3", "HTTP/1.0 that stays, in another case", "GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", 200, "a"),
		{name: "Expect: 100-continue", rfc: "9110 10.1.1", send: postA("01234", "Content-Length: 5", "Expect: 100-continue"), want: []int{100, 200}, holds: "5"},
		{name: "Expect: 100-Continue", rfc: "9110 10.1.1", send: postA("01234", "Content-Length: 5", "Expect: 100-Continue"), want: []int{100, 200}, holds: "5"},
		{name: "Expect: 100-continue, chunked", rfc: "9110 10.1.1", send: postA("1\r\na\r\n0\r\n\r\n", "Transfer-Encoding: chunked", "Expect: 100-continue"), want: []int{100, 200}, holds: "1"},
		{name: "Expect: 100-continue without a body", rfc: "9110 10.1.1", send: getA("/a", "Expect: 100-continue"), want: []int{100, 200}, holds: "a"},
		ended("9110 10.1.1", "Expect: 100-continue of too much", postA("", "Content-Length: 1001", "Expect: 100-continue"), 413),
		ended("9110 10.1.1", "another Expect", postA("01234", "Content-Length: 5", "Expect: the-unexpected"), 417),
		ended("9110 10.1.1", "two of Expect", postA("01234", "Content-Length: 5", "Expect: 100-continue, x"), 417),
		ended("9110 10.1.1", "Expect in HTTP/1.0 is ignored", "POST /a HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n01234", 200),
		ended("9110 10.1.1", "another Expect in HTTP/1.0 is ignored", "POST /a HTTP/1.0\r\nContent-Length: 5\r\nExpect: x\r\n\r\n01234", 200),
		fine("9110 7.8", "Upgrade: h2c is ignored", getA("/a", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 200, "a"),
		fine("9110 7.8", "Upgrade: websocket is ignored", getA("/a", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eDk0MTIzNDU2Nzg5MDEyMw=="), 200, "a"),
		{name: "a request and the end", rfc: "9112 9.6", send: plainGET, want: []int{200}, ends: true, half: true},
		{name: "a body and the end", rfc: "9112 9.6", send: postA("01234", "Content-Length: 5"), want: []int{200}, ends: true, half: true},
		{name: "many requests and the end", rfc: "9112 9.6", send: strings.Repeat(plainGET, 50), want: slices.Repeat([]int{200}, 50), ends: true, half: true},
		{name: "the end, and nothing else", rfc: "9112 9.6", send: "", ends: true, half: true},
		{name: "TLS", rfc: "8446 4.1.2", send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x9c\x01\xf0\x7f", 126), want: []int{400}, ends: true, alone: true},
		{name: "SSL 2", rfc: "6101 E", send: "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10", want: []int{400}, ends: true, alone: true},
		{name: "SOCKS", rfc: "1928 3", send: "\x05\x01\x00", want: []int{400}, ends: true, alone: true},
		{name: "SSH", rfc: "4253 4.2", send: "SSH-2.0-OpenSSH_9.6\r\n", want: []int{400}, ends: true, alone: true},
		{name: "a PROXY header", rfc: "9112 3", send: "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", want: []int{400}, ends: true, alone: true},
	}
}

func hostileBodies() []hostile {
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	wide := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	const digits = "123456789012345678901234567890123456789012345678901234567890.000100e+9999999999"
	sent := func(path, kind, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", path, kind, len(body), body)
	}
	inJSON := func(body string) string { return sent("/json", "application/json", body) }
	const nothing = `{"a": null, "text": "", "n": null, "all": []}`
	const multipart = "multipart/form-data; boundary=b"
	return []hostile{
		fine("8259 9", "JSON of 9,000 arrays in each other", inJSON(`{"a": `+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}`), 200, `"a": `+strings.Repeat("[", 9000)+"]"),
		fine("8259 9", "JSON of 100,000 objects in each other", inJSON(deep), 200, nothing),
		fine("8259 9", "JSON of 100,000 arrays in each other", inJSON(`{"items": `+wide+`}`), 200, nothing),
		fine("8259 9", "100,000 brackets that are not closed", inJSON(wide[:100_000]), 200, nothing),
		fine("8259 8.1", "JSON that is not UTF-8", inJSON("{\"a\": \"\xff\xfe\"}"), 200, nothing),
		fine("8259 4", "a key twice", inJSON(`{"a": 1, "a": "needle", "n": 2}`), 200, `"`),
		fine("8259 6", "a number of many digits", inJSON(`{"n": `+digits+`, "items": [`+digits+`]}`), 200, `"n": `+digits),
		fine("8259 6", "a number of 100,000 digits", inJSON(`{"items": [`+strings.Repeat("9", 100_000)+`]}`), 200, strings.Repeat("9", 100_000)),
		fine("8259 7", "half a surrogate", inJSON(`{"a": "\ud800 needle \udc00"}`), 200, "needle"),
		fine("8259 7", "NUL in a text", inJSON(`{"a": "\u0000\u001f\""}`), 200, `\u0000`),
		fine("8259 2", "half of a JSON text", inJSON(`{"a": "needle", `), 200, nothing),
		fine("8259 2", "an array of 100,000", inJSON(`{"items": [`+strings.Repeat("1,", 99_999)+`2]}`), 200, "null, 2]"),
		fine("7578 4.1", "multipart without its end", sent("/form", multipart, "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx"), 200, `"f": "`),
		fine("7578 4.1", "multipart of garbage", sent("/form", multipart, "--b--b--b\r\n\x00\xff--b"), 200, `"f": ""`),
		fine("2046 5.1.1", "multipart without a boundary", sent("/form", "multipart/form-data", "--\r\n\r\n"), 200, `"f": ""`),
		fine("2046 5.1.1", "multipart with a huge boundary", sent("/form", "multipart/form-data; boundary="+strings.Repeat("b", 5000), "--b\r\n\r\n"), 200, `"f": ""`),
		fine("7578 4.1", "multipart of 20,000 parts", sent("/form", multipart, strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n\r\n", 20_000)+"--b--\r\n"), 200, `"f": "`),
		fine("7578 4.1", "a part with 60,000 bytes of headers", sent("/form", multipart, "--b\r\nX: "+strings.Repeat("x", 60_000)+"\r\n\r\n\r\n--b--\r\n"), 200, `"f": "`),
		fine("9110 8.4", "multipart that says it is gzip", sent("/form", multipart+"\r\nContent-Encoding: gzip", "--b--\r\n"), 200, `"f": ""`),
		fine("9110 8.4", "multipart that says it is of no known coding", sent("/form", multipart+"\r\nContent-Encoding: x", "--b--\r\n"), 200, `"f": ""`),
		fine("1866 8.2.1", "a form of 100,000 fields", sent("/form", "application/x-www-form-urlencoded", form(100_000)), 200, `"last": "99999"`),
		fine("1866 8.2.1", "a form of garbage", sent("/form", "application/x-www-form-urlencoded", "%=%zz&&&=;f=%c0%af%0&f=\xff"), 200, `"f": "`),
		fine("9110 8.3", "a media type of garbage", sent("/form", "\xff/;;=\"", "f=1"), 200, `"f": ""`),
	}
}

func form(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d=%d&", i, i)
	}
	return b.String()
}

// outcome is one answer as a client parses it.
type outcome struct {
	status int
	close  bool
	body   string
}

// responsesOf parses all the answers to a request with net/http. None of the cases uses HEAD.
func responsesOf(t *testing.T, raw string) []outcome {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(raw))
	var all []outcome
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return all
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d is not an HTTP response: %v in %.300q", len(all), err, raw)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("answer %d is broken: %v in %.300q", len(all), err, raw)
		}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && !(json.Valid(body) && utf8.Valid(body)) {
			t.Errorf("answer %d is not JSON: %q", len(all), body)
		}
		all = append(all, outcome{resp.StatusCode, resp.Close, string(body)})
	}
}

// suffer sends a case and returns everything that comes back until the server closes the
// connection.
func suffer(p *Process, t *testing.T, c hostile) string {
	t.Helper()
	conn := p.Dial()
	defer conn.Close()
	send := c.send
	if !c.alone && !c.half {
		send += next
	}
	go func() {
		_, _ = io.WriteString(conn, send) // a server may answer and close before it has read everything
		if c.half {
			_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		}
	}()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("%v after %.300q", err, b)
	}
	return string(b)
}

// check compares what came back with what a case expects.
func (c hostile) check(t *testing.T, raw string) {
	t.Helper()
	responses := responsesOf(t, raw)
	statuses := []int{}
	for _, a := range responses {
		statuses = append(statuses, a.status)
	}
	want := slices.Clone(c.want)
	if !c.ends {
		want = append(want, 200)
	}
	if !slices.Equal(statuses, want) {
		if len(want) > 20 {
			t.Fatalf("got %d answers, want %d; they end with %.300q", len(statuses), len(want), raw[max(0, len(raw)-300):])
		}
		t.Fatalf("got %v, want %v: %.300q", statuses, want, raw)
	}
	if len(c.want) == 0 {
		return
	}
	last := responses[len(c.want)-1]
	if !strings.Contains(last.body, c.holds) {
		t.Errorf("got %.300q, want %.300q in it", last.body, c.holds)
	}
	if c.ends && !c.half && !last.close {
		t.Errorf("the answer does not say that the connection closes, RFC 9112 section 9.6: %+v", last)
	}
	if last.status >= 400 && c.ends {
		fields := map[string]string{}
		if err := json.Unmarshal([]byte(last.body), &fields); err != nil || fields["error"] == "" || fields["code"] == "" || fields["message"] == "" || !last.close || len(last.body) > 500 {
			t.Errorf("got %+v, want an error with its code and short message, and that it closes", last)
		}
	}
}

// hostileGroup holds the cases for a server with certain flags.
type hostileGroup struct {
	name  string
	cases []hostile
	flags []string
}

func hostileGroups() []hostileGroup {
	return []hostileGroup{
		{"lines", hostileLines(), nil},
		{"request lines", hostileRequestLines(), nil},
		{"hosts", hostileHosts(), nil},
		{"lengths", hostileLengths(), []string{"--max-body", "1000"}},
		{"chunks", hostileChunks(), []string{"--max-body", "1000"}},
		{"connections", hostileConnections(), []string{"--max-body", "1000"}},
		{"bodies", hostileBodies(), nil},
	}
}

// goldenFile has, for each case, what the server sends, byte for byte except for dates. An answer that
// is intended to change is changed there too; there is only a hash of one that is long.
const goldenFile = "testdata/hostile.json"

var dates = regexp.MustCompile(`\r\nDate: [^\r]*`)

// golden returns what goldenFile has for an answer.
func golden(raw string) string {
	raw = dates.ReplaceAllString(raw, "")
	if !utf8.ValidString(raw) {
		raw = strconv.QuoteToASCII(raw)
	}
	if len(raw) > 2000 {
		return fmt.Sprintf("%d bytes, SHA-256 %x", len(raw), sha256.Sum256([]byte(raw)))
	}
	return raw
}

// Every hostile input gets the answer in the table, byte for byte that of goldenFile, and harms no
// other client: clients that connect at the same time are served, and the server does not panic. With an
// access log, no request takes the fast way of plain requests; the answers are the same.
func TestHostile_EachHasItsReply(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(goldenFile)
	want := map[string]string{}
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range hostileGroups() {
		for _, way := range append(slices.Collect(maps.Keys(TestedWays())), "the general way") {
			t.Run(group.name+" by "+way, func(t *testing.T) {
				t.Parallel()
				flags := group.flags
				if way == "the general way" {
					way, flags = "http", append([]string{"--access-log"}, flags...)
				}
				file := harness.WriteFile(t, t.TempDir(), "mock.yml", attacked)
				p := StartBy(t, way, append([]string{"-c", file}, flags...)...)
				for _, c := range group.cases {
					t.Run(c.name, func(t *testing.T) {
						raw := suffer(p, t, c)
						c.check(t, raw)
						if key := group.name + ": " + c.name; golden(raw) != want[key] {
							t.Errorf("got\n%q, want\n%q", golden(raw), want[key])
						}
						p.Get("/a").Want(t, 200, "a")
					})
				}
				quiet(p)
			})
		}
	}
}

// Answers come in the order of the requests, however long each takes.
func TestHostile_PipelinedRepliesComeInOrder(t *testing.T) {
	t.Parallel()
	p := Serving(t, attacked+"- endpoint: {path: /files2/*rest, response: {external-body: {provider: json, path: '{{path-params.rest}}'}}}\n")
	var requests strings.Builder
	const n = 1000
	for i := range n {
		switch i % 3 { // a template, a static body, or a file lookup
		case 0:
			requests.WriteString(getA(fmt.Sprintf("/echo/%d-", i)))
		case 1:
			body := fmt.Sprintf(`{"a": "needle %d-"}`, i)
			fmt.Fprintf(&requests, "POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		default:
			requests.WriteString(getA(fmt.Sprintf("/files2/%d-", i)))
		}
	}
	responses := responsesOf(t, wire(p, requests.String()+next))
	if len(responses) != n+1 {
		t.Fatalf("got %d answers, want %d", len(responses), n+1)
	}
	for i, a := range responses[:n] {
		if !strings.Contains(a.body, fmt.Sprintf("%d-", i)) || (a.status == 404) != (i%3 == 2) {
			t.Errorf("answer %d is %d %.200q", i, a.status, a.body)
		}
	}
}

// crowd returns how many connections to hold at once, limited by the number of descriptors that
// the system allows a process.
func crowd(t *testing.T) int {
	t.Helper()
	wanted := 10_000
	if !volume.Full() {
		wanted = 1_000
	}
	const spare = 500
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < uint64(wanted+spare) { // the program raises its own limit that far, as this process did
		t.Logf("%d descriptors are allowed: %d connections instead of %d", limit.Max, limit.Max-spare, wanted)
		return int(limit.Max) - spare
	}
	return wanted
}

// quiet fails the test if the server logged anything about itself on standard error.
func quiet(p *Process) {
	p.T.Helper()
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.Stderr.Len() > 0 || strings.Contains(p.Stdout.String(), "panic") {
		p.T.Errorf("got %.2000s", p.Stderr.String())
	}
}

func TestHostile_ACrowdThatSaysNothingHarmsNobody(t *testing.T) {
	NeedsProcess(t) // its memory is measured
	p := Serving(t, attacked)
	n := crowd(t)
	for _, c := range []struct{ name, text string }{
		{"silent", ""},
		{"with half a head", "GET /a HTTP/1.1\r\nHost: a\r\nX-Half: "},
		{"with half a body", postA("0123", "Content-Length: 5")},
		{"waiting for a second request", plainGET},
	} {
		t.Run(c.name, func(t *testing.T) {
			release := holdOpen(p, n, c.text)
			defer release()
			for range 100 {
				p.Get("/a").Want(t, 200, "a")
				closing(t, wire(p, next)).Want(t, 200, "a") // on a connection of its own
			}
			holdsAtMost(p, n*100<<10)
		})
	}
	p.Get("/a").Want(t, 200, "a")
	quiet(p)
}

// For a client that requests thousands of large answers and reads none of them, the server holds
// one answer in memory. No other client is delayed.
func TestHostile_AClientThatNeverReadsHarmsNobody(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // its memory is measured
	const size, clients = 1 << 20, 50
	p := Serving(t, attacked+"- endpoint: {path: /big, response: {body: '{{path}}"+strings.Repeat("x", size)+"'}}\n")
	requests := strings.Repeat(getA("/big"), 5000)
	var sending sync.WaitGroup
	for range clients {
		c := p.Dial()
		sending.Go(func() { _, _ = io.WriteString(c, requests) }) // blocks when the server stops reading, until the test closes the connection
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		defer sending.Wait()
		defer c.Close()
	}
	for range 20 {
		p.Get("/a").Want(t, 200, "a")
	}
	// Each client may cost an answer, a read buffer of 64 KiB and memory that the collector has
	// not freed yet.
	holdsAtMost(p, 100<<20+clients*4*size)
	quiet(p)
}

func TestHostile_AResetAnywhereHarmsNobody(t *testing.T) {
	t.Parallel()
	p := Serving(t, attacked)
	for _, text := range []string{
		"", "GET /a HT", plainGET, plainGET + "GET", postA("01", "Content-Length: 5"), chunked, chunked + "5\r\n01", chunked + "0\r\nX-T",
		postA("", "Content-Length: 5", "Expect: 100-continue"), "\n", "GET /a HTTP/1.1\r\nX :", strings.Repeat(plainGET, 1000),
		getA("/none", "Connection: close") + plainGET, postA(strings.Repeat("x", 100<<10), "Content-Length: 99999999999"),
	} {
		for range 20 {
			c := p.Dial()
			if err := c.(*net.TCPConn).SetLinger(0); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, text) // the server may have refused it already
			_ = c.Close()                  // which resets it
		}
		p.Get("/a").Want(t, 200, "a")
	}
	p.Stopped()
	quiet(p)
}

// holdOpen opens n connections, and sends a text and nothing more over each. release resets the
// connections, so that their ports are free again immediately.
func holdOpen(p *Process, n int, text string) (release func()) {
	p.T.Helper()
	var held []net.Conn
	release = func() {
		for _, c := range held {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close() // the server may have closed it before
		}
	}
	for i := range n {
		if i%1000 == 0 { // once it is answered, all connections before it are accepted: the system drops some if the queue gets longer
			wire(p, "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		}
		c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			release()
			p.T.Fatalf("after %d connections: %v", len(held), err)
		}
		held = append(held, c)
		if _, err := io.WriteString(c, text); err != nil {
			release()
			p.T.Fatal(err)
		}
	}
	return release
}
