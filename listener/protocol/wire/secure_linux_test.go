package wire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// A TLS connection that is parked keeps no buffers, although it has received 100 KB, and is served again.
func TestSecure_KeepsNoBuffersWhileParked(t *testing.T) {
	example := httptest.NewTLSServer(nil) // for its certificate
	defer example.Close()
	answer := func(c *Connection) {
		_, err := c.Write([]byte(answered))
		must(t, err)
	}
	secure := func(p *Connections) {
		p.Handshake = func(_ *Connection, socket net.Conn) (*tls.Conn, error) {
			conn := tls.Server(socket, &tls.Config{Certificates: example.TLS.Certificates})
			return conn, conn.Handshake()
		}
	}
	p := parksBy(t, stub{plain: func(c *Connection, _ *Plain) error { answer(c); return nil }, serve: func(x *Exchange) { answer(x.Conn) }}, secure)
	var resumed sync.Mutex // orders what is read here before what follows once the connection is woken
	p.resuming.Store(new(func() {
		resumed.Lock()
		defer resumed.Unlock()
	}))
	socket, _, c := p.client(t)
	conn := tls.Client(socket, &tls.Config{InsecureSkipVerify: true})
	in := bufio.NewReader(conn)
	body := strings.Repeat("x", 100<<10)
	for range 2 {
		asks(t, conn, in, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 102400\r\n\r\n"+body, 1)
		p.parks(t, c)
		resumed.Lock()
		for _, place := range [...]string{"rawInput", "hand"} {
			b := reflect.ValueOf(c.secured.Conn).Elem().FieldByName(place)
			if b.Type() != reflect.TypeFor[bytes.Buffer]() || b.FieldByName("buf").Cap() > 0 {
				t.Errorf("%s is %v, with %d bytes", place, b.Type(), b.FieldByName("buf").Cap())
			}
		}
		resumed.Unlock()
	}
}
