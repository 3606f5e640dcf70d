package dispatcher

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

// requestOf returns the request that is sent for a delivery.
func requestOf(t *testing.T, w *Webhook, p Parts, key uint64) string {
	t.Helper()
	j := job{form: newForm(w), parts: NewDelivery(w, 0, 1, p).parts, depth: 3, key: key}
	request, body, err := j.appendRequest(nil, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return string(request) + string(body)
}

func TestRequest(t *testing.T) {
	const rest = "X-Mockserver-Webhook-Depth: 3\r\n"
	base := Webhook{Method: "POST", URL: "http://a.example:81/x?y", Header: []byte("Content-Type: text/plain\r\nX-A:  b\r\n"), Body: []byte("hi")}
	with := func(change func(*Webhook)) *Webhook {
		w := base
		change(&w)
		return &w
	}
	cases := []struct {
		name  string
		w     *Webhook
		parts Parts
		key   uint64
		want  string
	}{
		{"all of the webhook", &base, Parts{}, 0,
			"POST /x?y HTTP/1.1\r\nHost: a.example:81\r\nContent-Type: text/plain\r\nX-A:  b\r\n" + rest + "Content-Length: 2\r\n\r\nhi"},
		{"all of the delivery", &base, Parts{URL: []byte("https://B/z"), Header: []byte("X-C: d\r\n"), Body: []byte("own")}, 0x1F,
			"POST /z HTTP/1.1\r\nHost: b\r\nX-C: d\r\n" + rest + "Idempotency-Key: 000000000000001f\r\nContent-Length: 3\r\n\r\nown"},
		{"a URL of its own", &base, Parts{URL: []byte("http://b/")}, 0,
			"POST / HTTP/1.1\r\nHost: b\r\nContent-Type: text/plain\r\nX-A:  b\r\n" + rest + "Content-Length: 2\r\n\r\nhi"},
		{"headers of its own", &base, Parts{Header: []byte("X-C: d\r\n")}, 0,
			"POST /x?y HTTP/1.1\r\nHost: a.example:81\r\nX-C: d\r\n" + rest + "Content-Length: 2\r\n\r\nhi"},
		{"no body", &base, Parts{Body: []byte{}, Header: []byte{}}, 0,
			"POST /x?y HTTP/1.1\r\nHost: a.example:81\r\n" + rest + "Content-Length: 0\r\n\r\n"},
		{"GET without a body", with(func(w *Webhook) { w.Method, w.Body, w.Header = "GET", nil, nil }), Parts{}, 0,
			"GET /x?y HTTP/1.1\r\nHost: a.example:81\r\n" + rest + "\r\n"},
		{"HEAD with a body", with(func(w *Webhook) { w.Method, w.Header = "HEAD", nil }), Parts{}, 0,
			"HEAD /x?y HTTP/1.1\r\nHost: a.example:81\r\n" + rest + "Content-Length: 2\r\n\r\nhi"},
		{"user and password", with(func(w *Webhook) { w.URL, w.Header = "http://us%40er:p:w@a/", nil }), Parts{}, 0,
			"POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic dXNAZXI6cDp3\r\n" + rest + "Content-Length: 2\r\n\r\nhi"}, // us@er:p:w
		{"user alone", with(func(w *Webhook) { w.URL, w.Header = "http://user@a/", nil }), Parts{}, 0,
			"POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic dXNlcjo=\r\n" + rest + "Content-Length: 2\r\n\r\nhi"},
		{"what is declared wins", with(func(w *Webhook) { w.URL = "http://user@a/" }),
			Parts{Header: []byte("host: other\r\nauthorization: Bearer x\r\nidempotency-key: mine\r\n")}, 7,
			"POST / HTTP/1.1\r\nHost: other\r\nauthorization: Bearer x\r\nidempotency-key: mine\r\n" + rest + "Content-Length: 2\r\n\r\nhi"},
		{"framing is not declared", &base, Parts{Header: []byte("content-length: 7\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nX-MOCKSERVER-webhook-depth: 9\r\nHost: \r\n")}, 0,
			"POST /x?y HTTP/1.1\r\nHost: a.example:81\r\n" + rest + "Content-Length: 2\r\n\r\nhi"},
		{"signed", with(func(w *Webhook) {
			w.Sign = &Signature{Secret: "key", Header: "X-Sig", Scheme: HMACSHA256}
			w.Header = []byte("x-sig: forged\r\n")
		}),
			Parts{Body: []byte("The quick brown fox jumps over the lazy dog")}, 0, // the test vector in Wikipedia's article on HMAC
			"POST /x?y HTTP/1.1\r\nHost: a.example:81\r\n" + rest + "X-Sig: f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8\r\nContent-Length: 43\r\n\r\nThe quick brown fox jumps over the lazy dog"},
	}
	for _, c := range cases {
		if got := requestOf(t, c.w, c.parts, c.key); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// A form produces the same signature whenever it signs the same body at the same time.
func TestRequest_SignaturesOfOneForm(t *testing.T) {
	w := &Webhook{Method: "POST", URL: "http://a/", Sign: &Signature{Secret: "k", Header: "S", Scheme: Stripe}}
	f := newForm(w)
	first := string(f.appendSignature(nil, []byte("a"), time.Unix(12345, 0)))
	f.appendSignature(nil, []byte("other"), time.Unix(99, 0))
	// printf 12345.a | openssl dgst -sha256 -hmac k
	if want := "t=12345,v1=6d4072cd1c55192a6dd8290a5578d96f976b60139c27e098b32733c1efbaf59c"; string(f.appendSignature(nil, []byte("a"), time.Unix(12345, 0))) != first || first != want {
		t.Errorf("got %s, want %s", first, want)
	}
}

// For any URL and headers, exactly one request is sent, or there is an error.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("http://u:p@[::1]:80/a b?c#d"), []byte("X-A: b\r\nHost: c\r\n"), []byte("body"))
	f.Add([]byte("https://EXAMPLE"), []byte("nothing"), []byte(""))
	f.Fuzz(func(t *testing.T, url, header, body []byte) {
		if strings.ContainsAny(strings.ReplaceAll(string(header), "\r\n", ""), "\r\n\x00") {
			return // the renderer does not allow these
		}
		w := &Webhook{Method: "POST", URL: "http://a/"}
		j := job{form: newForm(w), parts: NewDelivery(w, 0, 1, Parts{URL: append([]byte{}, url...), Header: header, Body: body}).parts}
		request, rest, err := j.appendRequest(nil, time.Time{})
		if err != nil {
			return
		}
		whole := append(request, rest...)
		if n := wholeRequest(whole); n != len(whole) {
			t.Errorf("%q is not a whole request: %d of %d", whole, n, len(whole))
		}
		if bytes.Count(whole[:len(whole)-len(body)], []byte("\r\n\r\n")) != 1 {
			t.Errorf("%q ends twice", whole)
		}
		if r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(whole))); err == nil && r.ContentLength != int64(len(body)) {
			t.Errorf("%q has a body of %d bytes, want %d", whole, r.ContentLength, len(body))
		}
	})
}
