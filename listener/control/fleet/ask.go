package fleet

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"mockserver/internal/clienttls"
)

// How long a replica may take to answer, by the kind of request.
const (
	briefly    = 2 * time.Second  // its state, its totals
	patiently  = 10 * time.Second // its journal, the end of a run
	thoroughly = time.Minute      // a change of the specification
)

// largestResponse is the maximum number of bytes that are read of a response.
const largestResponse = 128 << 20

// client sends requests to admin addresses.
type client struct {
	http  http.Client
	token string
	base  string // http:// or https://
}

// newClient returns a client for admin addresses. If the addresses come from a DNS look-up, the
// certificates must be for the name that was looked up.
func newClient(o *Options, name string) (*client, error) {
	dialer := net.Dialer{Timeout: briefly}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second}
	c := &client{token: o.Token, base: "http://", http: http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if !o.TLS {
		return c, nil
	}
	trust, err := clienttls.Files{CA: o.CA}.Config()
	if err != nil {
		return nil, err
	}
	if o.CA == "" && o.CAs != nil {
		trust.RootCAs = x509.NewCertPool()
		trust.RootCAs.AppendCertsFromPEM(o.CAs) // o.CAs is the server's own, so it is valid
	}
	trust.ServerName = name
	c.base, transport.TLSClientConfig = "https://", trust
	return c, nil
}

// Question is a request that is sent to replicas.
type Question struct {
	Method, Path string // the path with its query
	Media        string // media type of the body; "" for none
	Body         []byte
	Within       time.Duration // how long an answer may take; 0 means patiently
}

// Reply is the answer of a replica.
type Reply struct {
	Address string
	Status  int
	Header  http.Header
	Body    []byte
	Err     error // why there is no answer; a *Refusal if the replica has refused
	// Sent and Got are when the request was sent and when the answer was complete.
	Sent, Got time.Time
}

// Refusal is the error of a request to which a replica answered with an error.
type Refusal struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the message of the replica.
func (r *Refusal) Error() string { return r.Message }

// refusedAs reports whether a replica refused a request with a code.
func refusedAs(err error, code string) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Code == code
}

// ask sends a request to one replica.
func (c *client) ask(ctx context.Context, address string, q Question) Reply {
	if q.Within == 0 {
		q.Within = patiently
	}
	ctx, cancel := context.WithTimeout(ctx, q.Within)
	defer cancel()
	r := Reply{Address: address, Sent: time.Now()}
	request, err := http.NewRequestWithContext(ctx, q.Method, c.base+address+q.Path, bytes.NewReader(q.Body))
	if err != nil {
		r.Err = err
		return r
	}
	if q.Media != "" {
		request.Header.Set("Content-Type", q.Media)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		r.Err = unwrapped(ctx, err)
		return r
	}
	defer response.Body.Close()
	r.Status, r.Header = response.StatusCode, response.Header
	r.Body, err = io.ReadAll(io.LimitReader(response.Body, largestResponse))
	r.Got = time.Now()
	switch {
	case err != nil:
		r.Err = unwrapped(ctx, err)
	case r.Status >= http.StatusBadRequest:
		refusal := &Refusal{Status: r.Status}
		if json.Unmarshal(r.Body, refusal) != nil || refusal.Message == "" {
			refusal.Message = fmt.Sprintf("it answered %d", r.Status)
		}
		r.Err = refusal
	}
	return r
}

// unwrapped returns the error without the URL, which messages already contain, or
// another error if the time has run out.
func unwrapped(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("it did not answer in time")
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// into decodes the answer. It returns r.Err, which it sets if the answer cannot be decoded.
func (r *Reply) into(value any) error {
	if r.Err == nil && json.Unmarshal(r.Body, value) != nil {
		r.Err = errors.New("unexpected answer; expected the admin address of a mockserver of this version")
	}
	return r.Err
}

// Decode decodes the answers to a question, and calls each for every one of them. It returns the
// replicas that did not answer, or answered with an error, with the reasons.
func Decode[T any](replies []Reply, each func(address string, value T)) []Silent {
	silent := []Silent{}
	for i := range replies {
		var value T
		if err := replies[i].into(&value); err != nil {
			silent = append(silent, Silent{replies[i].Address, err.Error()})
			continue
		}
		each(replies[i].Address, value)
	}
	return silent
}

// Silent is a replica that did not answer, or answered with an error.
type Silent struct {
	Address string `json:"address" doc:"address of the replica"`
	Why     string `json:"why" doc:"why it did not answer"`
}
