package matcher

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"mockserver/internal/json"
)

func TestTargetIsCutAsSent(t *testing.T) {
	tests := []struct{ name, target, path, query, host string }{
		{"origin form", "/a/b?c=d", "/a/b", "c=d", "h:80"},
		{"nothing is decoded or normalised", "/a%2Fb/../%7e//?%41", "/a%2Fb/../%7e//", "%41", "h:80"},
		{"a second question mark belongs to the query", "/a?b?c", "/a", "b?c", "h:80"},
		{"a question mark without a query", "/a?", "/a", "", "h:80"},
		{"two slashes do not begin an authority", "//x/y", "//x/y", "", "h:80"},
		{"a URL in the query is no authority", "/r?to=http://x/", "/r", "to=http://x/", "h:80"},
		{"absolute form", "http://Other:81/a?b", "/a", "b", "Other:81"},
		{"absolute form with credentials", "https://u:p@x/a", "/a", "", "x"},
		{"absolute form without a path", "http://x", "/", "", "x"},
		{"absolute form with a query and no path", "http://x?a/b", "/", "a/b", "x"},
		{"asterisk form", "*", "*", "", "h:80"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRequest("GET", "h:80", tt.target)
			defer Release(r)
			if got := string(r.Path()); got != tt.path {
				t.Errorf("got path %q, want %q", got, tt.path)
			}
			if got := string(r.QueryString()); got != tt.query {
				t.Errorf("got query %q, want %q", got, tt.query)
			}
			if got := string(r.Host()); got != tt.host {
				t.Errorf("got host %q, want %q", got, tt.host)
			}
		})
	}
}

// get is the type of Query, Form, Header and Cookie.
type get func(*Request, string) ([]byte, bool)

func TestNamedValues(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	tests := []struct {
		name    string
		get     get
		request string // raw, without the empty line at its end
		key     string
		want    string
		ok      bool
	}{
		{"no query", (*Request).Query, "GET /x HTTP/1.1", "a", "", false},
		{"an empty query", (*Request).Query, "GET /x? HTTP/1.1", "", "", false},
		{"another query key", (*Request).Query, "GET /x?ab=1&b=2 HTTP/1.1", "a", "", false},
		{"a query key in another case", (*Request).Query, "GET /x?A=1 HTTP/1.1", "a", "", false},
		{"a query key without a value", (*Request).Query, "GET /x?a&b HTTP/1.1", "b", "", true},
		{"the first of a repeated query key", (*Request).Query, "GET /x?a=1&a=2 HTTP/1.1", "a", "1", true},
		{"a value holds an equals sign", (*Request).Query, "GET /x?&&a=1=2 HTTP/1.1", "a", "1=2", true},
		{"a plus and an escape are decoded", (*Request).Query, "GET /x?a=1+2%2B%C3%A9%zz% HTTP/1.1", "a", "1 2+é%zz%", true},
		{"an encoded key is compared decoded", (*Request).Query, "GET /x?%61+b=1 HTTP/1.1", "a b", "1", true},
		{"a query without a key", (*Request).Query, "GET /x?=1 HTTP/1.1", "", "1", true},

		{"a form of no declared type", (*Request).Form, "POST /x HTTP/1.1\nContent-Length: 3\n\na=1", "a", "", false},
		{"a form", (*Request).Form, "POST /x HTTP/1.1\nContent-Type: " + form + "\nContent-Length: 7\n\na=1+%41", "a", "1 A", true},
		{"a form with a charset", (*Request).Form, "POST /x HTTP/1.1\nContent-Type: Application/X-www-form-urlencoded ; charset=utf-8\nContent-Length: 3\n\na=1", "a", "1", true},
		{"a multipart form without a boundary", (*Request).Form, "POST /x HTTP/1.1\nContent-Type: multipart/form-data\nContent-Length: 3\n\na=1", "a", "", false},

		{"no such header", (*Request).Header, "GET /x HTTP/1.1", "X-A", "", false},
		{"a header in any case", (*Request).Header, "GET /x HTTP/1.1\nx-API-key: k", "X-api-KEY", "k", true},
		{"the first of a repeated header", (*Request).Header, "GET /x HTTP/1.1\nX-A: 1\nX-A: 2", "x-a", "1", true},
		{"an empty header is there", (*Request).Header, "GET /x HTTP/1.1\nX-A:", "x-a", "", true},
		{"no content length", (*Request).Header, "GET /x HTTP/1.1", "content-length", "", false},
		{"no trailer", (*Request).Header, "GET /x HTTP/1.1", "trailer", "", false},
		{"a content length", (*Request).Header, "POST /x HTTP/1.1\nContent-Length: 1\n\nx", "content-length", "1", true},
		{"a content type", (*Request).Header, "POST /x HTTP/1.1\nContent-Type: a/b\nContent-Length: 1\n\nx", "content-type", "a/b", true},
		{"the host header", (*Request).Header, "GET /x HTTP/1.1\nHost: h", "host", "h", true},

		{"no cookie", (*Request).Cookie, "GET /x HTTP/1.1", "a", "", false},
		{"another cookie", (*Request).Cookie, "GET /x HTTP/1.1\nCookie: ab=1; A=2;;", "a", "", false},
		{"a cookie without a name", (*Request).Cookie, "GET /x HTTP/1.1\nCookie: =1", "", "", false},
		{"the first of a repeated cookie", (*Request).Cookie, "GET /x HTTP/1.1\nCookie: b=0;a=1; a=2", "a", "1", true},
		{"a quoted cookie", (*Request).Cookie, `GET /x HTTP/1.1` + "\n" + `Cookie: a="x=y"`, "a", "x=y", true},
		{"a cookie in a second header", (*Request).Cookie, "GET /x HTTP/1.1\nCookie: b=0\nCookie: a=%20", "a", "%20", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parsedRequest(t, tt.request)
			defer Release(r)
			got, ok := tt.get(r, tt.key)
			if string(got) != tt.want || ok != tt.ok {
				t.Errorf("got %q, %t, want %q, %t", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// parsedRequest returns a request as if it had been read from a connection. Lines end with \n.
func parsedRequest(tb testing.TB, raw string) *Request {
	tb.Helper()
	head, body, _ := strings.Cut(raw, "\n\n")
	if !strings.Contains(head, "Host:") {
		head += "\nHost: h"
	}
	request, lines, _ := strings.Cut(strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n", "\r\n")
	parts := strings.Split(request, " ")
	in := Input{Method: []byte(parts[0]), Target: []byte(parts[1]), Header: Header(lines), Body: []byte(body)}
	in.Host, _ = in.Header.Get("Host")
	return Acquire(in)
}

func TestMultipartTextFields(t *testing.T) {
	broken := newRequest("POST", "h", "/x")
	defer Release(broken)
	broken.In.Header = Header("Content-Type: multipart/form-data; boundary=x\r\n\r\n")
	broken.In.Body = []byte("a=1")
	if got, ok := broken.Form("a"); ok {
		t.Errorf("got %q out of a broken body", got)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	w.WriteField("a", "1")
	w.WriteField("a", "2")
	w.WriteField("empty", "")
	file, _ := w.CreateFormFile("upload", "x.txt")
	file.Write([]byte("content"))
	w.Close()
	r := newRequest("POST", "h", "/x")
	defer Release(r)
	r.In.Header = Header("Content-Type: " + w.FormDataContentType() + "\r\n\r\n")
	r.In.Body = body.Bytes()
	for _, tt := range []struct {
		key, want string
		ok        bool
	}{{"b", "", false}, {"upload", "", false}, {"a", "1", true}, {"empty", "", true}} {
		if got, ok := r.Form(tt.key); string(got) != tt.want || ok != tt.ok {
			t.Errorf("%s: got %q, %t, want %q, %t", tt.key, got, ok, tt.want, tt.ok)
		}
	}
}

func TestRemoteAddr(t *testing.T) {
	for _, tt := range []struct {
		name string
		addr net.Addr
		want string
	}{
		{"no TCP connection", &net.UnixAddr{Name: "/s"}, "0.0.0.0"},
		{"no IP", &net.TCPAddr{}, "0.0.0.0"},
		{"IPv4", &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 99}, "10.1.2.3"},
		{"IPv6", &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 99}, "2001:db8::1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Acquire(Input{Remote: tt.addr})
			defer Release(r)
			if got := string(r.RemoteAddr([]byte("from "))); got != "from "+tt.want {
				t.Errorf("got %q, want %q after what was there", got, tt.want)
			}
		})
	}
}

func TestNowIsOneInstant(t *testing.T) {
	r := newRequest("GET", "h", "/")
	defer Release(r)
	before := time.Now()
	first := r.Now()
	if first.Before(before) || first.After(time.Now()) {
		t.Errorf("got %v, not between the times before and after", first)
	}
	if second := r.Now(); !second.Equal(first) {
		t.Errorf("got %v, then %v", first, second)
	}
}

func TestJSONIsTheBody(t *testing.T) {
	for body, want := range map[string]json.Kind{"": json.Missing, "{": json.Missing, " [1] ": json.Array, "null": json.Null} {
		r := newRequest("POST", "h", "/")
		r.In.Body = []byte(body)
		if got := r.JSON(); got.Kind != want {
			t.Errorf("%q: got kind %d, want %d", body, got.Kind, want)
		}
		r.In.Body = []byte("true")
		if got := r.JSON(); got.Kind != want {
			t.Errorf("%q: got kind %d the second time: it was parsed again", body, got.Kind)
		}
		Release(r)
	}
}

func TestArenaSlicesSurviveGrowth(t *testing.T) {
	r := newRequest("GET", "h", "/x?a=%41&b="+strings.Repeat("%42", 100_000)+"&c=%43")
	a, _ := r.Query("a")
	b, _ := r.Query("b")
	c, _ := r.Query("c")
	if string(a) != "A" || string(b) != strings.Repeat("B", 100_000) || string(c) != "C" {
		t.Errorf("got %q, %d bytes, %q", a, len(b), c)
	}
	if _ = append(a, 'x'); b[0] != 'B' {
		t.Error("appending to one value wrote into the next")
	}
	r.Reset()
	if r.Arena != nil {
		t.Errorf("got an arena of %d bytes back in the pool, want it dropped", cap(r.Arena))
	}
}

// TestResetTouchesEveryField fills every field, at any depth, and expects that after Reset only
// memory for reuse is left.
func TestResetTouchesEveryField(t *testing.T) {
	r := new(Request)
	fill(t, reflect.ValueOf(r).Elem(), "Request")
	arena := unsafe.SliceData(r.Arena)
	r.Reset()
	if unsafe.SliceData(r.Arena) != arena {
		t.Error("reset dropped a small arena")
	}
	empty(t, reflect.ValueOf(r).Elem(), "Request")
	if p := r.params[:1]; p[0] != nil {
		t.Error("reset kept a parameter alive")
	}
	if s := r.segments[:1]; s[0] != nil {
		t.Error("reset kept a segment alive")
	}
}

// leaving is the peer of a client that has disconnected.
type leaving struct{}

func (leaving) Left() bool { return true }

// settable makes an unexported field writable.
func settable(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

func fill(t *testing.T, v reflect.Value, path string) {
	v = settable(v)
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path+"[0]")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Int:
		v.SetInt(1)
	case reflect.Interface:
		for _, one := range []any{errors.New("an error"), &net.TCPAddr{}, leaving{}} {
			if reflect.TypeOf(one).Implements(v.Type()) {
				v.Set(reflect.ValueOf(one))
			}
		}
	default:
		t.Fatalf("%s: the test does not know how to fill a %s", path, v.Kind())
	}
}

func empty(t *testing.T, v reflect.Value, path string) {
	v = settable(v)
	switch {
	case path == "Request.found", path == "Request.Access": // reused memory without a leaf
	case v.Kind() == reflect.Slice:
		if v.Len() != 0 {
			t.Errorf("%s: got %d elements after reset", path, v.Len())
		}
	case v.Type() == reflect.TypeFor[time.Time](), v.Kind() != reflect.Struct:
		if !v.IsZero() {
			t.Errorf("%s: got %v after reset", path, v)
		}
	default:
		for i := range v.NumField() {
			empty(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	}
}

// FuzzQuery compares the values that pair finds with those of net/url, for queries that net/url
// accepts.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"a=1", "a=1+2&a=3", "%61=%41", "=", "&&a", "a=%", "a=%zz", "b=1&a==", "é=1"} {
		f.Add(s, "a")
	}
	f.Fuzz(func(t *testing.T, query, name string) {
		r := newRequest("GET", "h", "/")
		defer Release(r)
		got, ok := r.pair([]byte(query), name)
		values, err := url.ParseQuery(query)
		if err != nil {
			return // texts that net/url refuses (";", an invalid escape) are accepted unchanged
		}
		if want, there := values[name]; ok != there || there && string(got) != want[0] {
			t.Errorf("%q in %q: got %q, %t, net/url has %q", name, query, got, ok, want)
		}
	})
}
