package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// What a remote server sends without a request does not get into the log, whose lines have one form.
func TestOutput_HasNothingThatARemoteServerSendsUnasked(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	remote, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	noticed := make(chan struct{})
	go func() {
		defer close(noticed)
		c, err := remote.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		if _, err = http.ReadRequest(in); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}unasked")
			_, _ = io.Copy(io.Discard, in) // until the client closes the connection, after it has read the rest
		}
	}()
	p := Serving(t, `- endpoint: {path: /a, response: {external-body: {provider: json, path: "http://`+remote.Addr().String()+`"}}}`, "--format", "json")
	p.Get("/a").Want(t, 200, "{}")
	<-noticed
	stdout, stderr := p.Stopped()
	for _, text := range []string{stdout, stderr} {
		d := json.NewDecoder(strings.NewReader(text))
		var line map[string]any
		for err = nil; err == nil; err = d.Decode(&line) {
		}
		if err != io.EOF {
			t.Errorf("a line is not JSON: %v in %s", err, text)
		}
	}
}
