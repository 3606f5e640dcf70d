// Package health checks whether a server answers. The command mockserver health uses it.
package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Timeout limits Ping as a whole. The timeouts of the image's health check and of the probes
// in deploy/ are longer.
const Timeout = 3 * time.Second

// Ping checks whether the server that was started on this machine with a host and port answers,
// over TLS if it accepts nothing else. It returns the address that it has asked. Ping takes three
// seconds at most; its error says what happened instead of an answer.
func Ping(host string, port int, overTLS bool) (address string, err error) {
	if address, err = ownAddress(host, port); err != nil {
		return "", err
	}
	return address, ping(address, overTLS)
}

// ownAddress returns the address at which a server is reached from its own machine.
func ownAddress(host string, port int) (string, error) {
	if port == 0 {
		return "", errors.New("port 0: the server chose a free port, which its log names; pass it with --port")
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1" // a server on "::" listens on IPv4 too
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// ping sends OPTIONS *, which a server answers for itself (RFC 9110 section 9.3.7). The error says
// what happened instead of a 200. A server that demands a client certificate counts as answering.
// The certificate of the server is not checked: no secret is sent, and the server runs on this
// machine.
func ping(address string, overTLS bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	request := &http.Request{Method: http.MethodOptions, URL: &url.URL{Scheme: "http", Host: address, Path: "*"}, Header: http.Header{}}
	if overTLS {
		request.URL.Scheme = "https"
	}
	// The transport uses no proxy, whatever HTTP_PROXY says.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil && overTLS && wantsCertificate(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", address, err)
	}
	_ = response.Body.Close() // only the status matters
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: OPTIONS * is answered with status %d; a mock server answers 200", address, response.StatusCode)
	}
	return nil
}

// wantsCertificate reports whether a server demanded a client certificate, which shows that it
// answers.
func wantsCertificate(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && slices.Contains([]string{"tls: certificate required", "tls: bad certificate"}, op.Err.Error())
}
