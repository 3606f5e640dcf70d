package bench

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mockserver/bench/load"
	"mockserver/internal/json"
)

// responsePatience is how long a check waits for one answer.
const responsePatience = 20 * time.Second

// reply is the answer to a request.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request, unchanged, on a connection of its own, and reads its answer.
func call(ctx context.Context, address string, wire []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, responsePatience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()                                                               // everything has been read
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // this fails only if the connection is closed
	if _, err := conn.Write(wire); err != nil {
		return reply{}, err
	}
	method, _, _ := strings.Cut(string(wire[:min(len(wire), 16)]), " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return reply{}, err
	}
	const most = 256 << 20
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return reply{resp.StatusCode, resp.Header, body}, err
}

// wrongResponse is the error of a check: it contains a request, the expected answer and the actual
// one.
type wrongResponse struct{ request, wanted, got string }

func (w *wrongResponse) Error() string {
	return fmt.Sprintf("wrong answer to %s\n  expected: %s\n  got:      %s", w.request, w.wanted, w.got)
}

// checkResponses sends each request once. It returns the expected answers under load, and the first
// answer; or an error with the request, the expected answer and the actual one. With statusOnly, it checks
// only the status.
func checkResponses(ctx context.Context, address string, requests []preparedRequest, statusOnly bool) ([]load.Want, reply, error) {
	var first reply
	wants := make([]load.Want, len(requests))
	for i := range requests {
		r := &requests[i]
		got, err := call(ctx, address, r.wire)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, reply{}, fmt.Errorf("%s: no answer: %w", r.line, err)
		}
		if i == 0 {
			first = got
		}
		if err := r.compare(&got, statusOnly); err != nil {
			return nil, reply{}, err
		}
		wants[i] = load.Want{Status: got.status, Length: -1, Also: r.response.Also, Items: r.response.Items, Gap: r.response.Gap}
		if (r.response.Body != nil || r.response.Items > 0) && !statusOnly {
			wants[i].Length = len(got.body)
		}
	}
	return wants, first, nil
}

// compare returns an error that says how an answer differs from the declared one; nil if it does
// not.
func (r *preparedRequest) compare(got *reply, statusOnly bool) error {
	wanted := cmp.Or(r.response.Status, 200)
	if got.status != wanted && !slices.Contains(r.response.Also, got.status) {
		return &wrongResponse{r.line, fmt.Sprintf("status %d", wanted), fmt.Sprintf("status %d: %s", got.status, excerpt(got.body))}
	}
	if statusOnly {
		return nil
	}
	for name, value := range r.response.Headers {
		if have := got.header.Get(name); have != value {
			return &wrongResponse{r.line, name + ": " + value, name + ": " + have}
		}
	}
	if r.response.Body != nil && *r.response.Body != string(got.body) {
		return &wrongResponse{r.line, excerpt([]byte(*r.response.Body)), excerpt(got.body)}
	}
	if r.response.JSON != nil && !json.Same([]byte(*r.response.JSON), got.body) {
		return &wrongResponse{r.line, "JSON " + excerpt([]byte(*r.response.JSON)), excerpt(got.body)}
	}
	return nil
}

// excerpt returns the beginning of a body for a message: unchanged if it can be shown in one line,
// otherwise quoted.
func excerpt(body []byte) string {
	const most = 300
	if len(body) == 0 {
		return "an empty body"
	}
	text := strings.TrimSpace(string(body[:min(len(body), most)]))
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	if len(body) > most {
		return fmt.Sprintf("%s… (%d bytes)", text, len(body))
	}
	return text
}
