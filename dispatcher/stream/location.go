package stream

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Location is where a store is, and how it is used.
type Location struct {
	Servers   []string // URLs, each with the user if there is one
	Stream    string   // name of the stream
	Replicas  int      // of a stream that is created; 0 for three in a cluster, one otherwise
	Lease     time.Duration
	Creds     string // file with the credentials of a user; "" for none
	CA        string // file with CAs; "" for those of the system
	Cert, Key string // files with a client certificate; "" for none
	Fallback  bool   // webhooks that cannot be stored are kept in memory
}

const (
	defaultStream = "MOCK_WEBHOOKS"
	defaultLease  = 10 * time.Second
	minLease      = 2 * time.Second
	maxLease      = 10 * time.Minute
)

// IsURL reports whether the name of a webhook store is the URL of one in NATS.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "nats://") || strings.HasPrefix(text, "tls://")
}

var streamName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Parse reads "nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][?stream=NAME&…]". Its errors do not
// show the user.
func Parse(text string) (Location, error) {
	at := Location{Stream: defaultStream, Lease: defaultLease}
	scheme, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "/?#"); strings.Count(rest, "@") > 1 || end >= 0 && strings.Contains(rest[end:], "@") {
		return at, errors.New("the webhook store has more than one @, or one after / ? or #; expected %-escapes for them in the user and password, which stand once, before the first server")
	}
	hosts, query, _ := strings.Cut(rest, "?")
	user := ""
	if i := strings.IndexByte(hosts, '@'); i >= 0 {
		user, hosts = hosts[:i+1], hosts[i+1:]
	}
	for host := range strings.SplitSeq(strings.TrimSuffix(hosts, "/"), ",") {
		u, err := url.Parse(scheme + "://" + host)
		if err != nil || u.Hostname() == "" || u.Path != "" || u.Fragment != "" {
			return at, fmt.Errorf("%q is not a server of a webhook store; expected %s://HOST:PORT,HOST:PORT", host, scheme)
		}
		if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) {
			return at, fmt.Errorf("%q has a wrong port; expected an integer from 1 to 65535", host)
		}
		if _, err := url.Parse(scheme + "://" + user + host); err != nil {
			return at, errors.New("the user or password of the webhook store is not valid in a URL; expected %-escapes for special characters")
		}
		at.Servers = append(at.Servers, scheme+"://"+user+host)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return at, fmt.Errorf("the parameters of the webhook store are not valid: %w", err)
	}
	for name, all := range values {
		if err := at.set(name, all[len(all)-1]); err != nil {
			return at, err
		}
	}
	if (at.Cert == "") != (at.Key == "") {
		return at, errors.New("the webhook store has only one of cert and key; expected both or none")
	}
	return at, nil
}

// set sets one parameter.
func (at *Location) set(name, value string) error {
	var err error
	expected := "a file name"
	ok := value != ""
	switch name {
	case "stream":
		at.Stream, expected = value, "up to 64 letters, digits, - and _"
		ok = streamName.MatchString(value)
	case "replicas":
		expected = "1, 3 or 5"
		at.Replicas, err = strconv.Atoi(value)
		ok = err == nil && (at.Replicas == 1 || at.Replicas == 3 || at.Replicas == 5)
	case "lease":
		expected = fmt.Sprintf("a duration from %v to %v", minLease, maxLease)
		at.Lease, err = time.ParseDuration(value)
		ok = err == nil && at.Lease >= minLease && at.Lease <= maxLease
	case "fallback":
		expected = "memory"
		at.Fallback = value == "memory"
		ok = at.Fallback
	case "creds":
		at.Creds = value
	case "ca":
		at.CA = value
	case "cert":
		at.Cert = value
	case "key":
		at.Key = value
	default:
		return fmt.Errorf("unknown parameter %q of the webhook store; expected stream, replicas, lease, fallback, creds, ca, cert or key", name)
	}
	if !ok {
		return fmt.Errorf("%q is not valid for %s of the webhook store; expected %s", value, name, expected)
	}
	return nil
}

// String returns the servers and the stream, without the user.
func (at *Location) String() string {
	var out strings.Builder
	for i, server := range at.Servers {
		scheme, host, _ := strings.Cut(server, "://")
		if i == 0 {
			out.WriteString(scheme + "://")
		} else {
			out.WriteByte(',')
		}
		out.WriteString(host[strings.LastIndexByte(host, '@')+1:])
	}
	return out.String() + "?stream=" + at.Stream
}
