// Package natsclient parses the URLs of NATS servers, and connects to the servers.
package natsclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Servers specifies the servers of a cluster, and how a client authenticates itself.
type Servers struct {
	What      string   // what the servers are used for, in messages: "the webhook store"
	URLs      []string // each with the user if there is one
	Creds     string   // file with the credentials of a user; "" for none
	CA        string   // file with CAs; "" selects those of the system
	Cert, Key string   // files with a client certificate; "" for none
	Stream    string   // name of the stream
	Replicas  int      // of a stream that is created; 0 for three in a cluster, one otherwise
}

// Param sets a parameter of a URL that does not concern the connection. It returns a description of
// valid values, or "" for a parameter that does not exist.
type Param func(name, value string) (expected string, ok bool)

// IsURL reports whether a text is a URL of NATS servers.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "nats://") || strings.HasPrefix(text, "tls://")
}

// Parse parses "nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][?NAME=VALUE&…]". The parameters
// that concern neither the connection nor the stream are set by param; more lists their names.
// Errors do not show the user.
func Parse(text, what, stream, more string, param Param) (Servers, error) {
	s := Servers{What: what, Stream: stream}
	scheme, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "/?#"); strings.Count(rest, "@") > 1 || end >= 0 && strings.Contains(rest[end:], "@") {
		return s, fmt.Errorf("%s has more than one @, or one after / ? or #; expected %%-escapes for them in the user and password, which appear once, before the first server", what)
	}
	hosts, query, _ := strings.Cut(rest, "?")
	user := ""
	if i := strings.IndexByte(hosts, '@'); i >= 0 {
		user, hosts = hosts[:i+1], hosts[i+1:]
	}
	for host := range strings.SplitSeq(strings.TrimSuffix(hosts, "/"), ",") {
		u, err := url.Parse(scheme + "://" + host)
		if err != nil || u.Hostname() == "" || u.Path != "" || u.Fragment != "" {
			return s, fmt.Errorf("%q is not a server of %s; expected %s://HOST:PORT,HOST:PORT", host, what, scheme)
		}
		if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) {
			return s, fmt.Errorf("%q has an invalid port; expected an integer from 1 to 65535", host)
		}
		if _, err := url.Parse(scheme + "://" + user + host); err != nil {
			return s, fmt.Errorf("the user or password of %s is not valid in a URL; expected %%-escapes for special characters", what)
		}
		s.URLs = append(s.URLs, scheme+"://"+user+host)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return s, fmt.Errorf("the parameters of %s are not valid: %w", what, err)
	}
	for name, all := range values {
		value := all[len(all)-1]
		expected, ok := s.set(name, value, param)
		switch {
		case expected == "":
			return s, fmt.Errorf("unknown parameter %q of %s; expected stream, replicas, %s, creds, ca, cert or key", name, what, more)
		case !ok:
			return s, fmt.Errorf("%q is not valid for %s of %s; expected %s", value, name, what, expected)
		}
	}
	if (s.Cert == "") != (s.Key == "") {
		return s, fmt.Errorf("%s has only one of cert and key; expected both or none", what)
	}
	return s, nil
}

// set sets one parameter.
func (s *Servers) set(name, value string, param Param) (expected string, ok bool) {
	if file := map[string]*string{"creds": &s.Creds, "ca": &s.CA, "cert": &s.Cert, "key": &s.Key}[name]; file != nil {
		*file = value
		return "a file name", value != ""
	}
	switch name {
	case "stream":
		s.Stream = value
		return "up to 64 letters, digits, - and _", streamName.MatchString(value)
	case "replicas":
		s.Replicas, _ = strconv.Atoi(value)
		return "1, 3 or 5", slices.Contains([]string{"1", "3", "5"}, value)
	}
	return param(name, value)
}

var streamName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// String returns the servers and the stream, without the user.
func (s *Servers) String() string {
	var out strings.Builder
	for i, server := range s.URLs {
		scheme, host, _ := strings.Cut(server, "://")
		if i == 0 {
			out.WriteString(scheme + "://")
		} else {
			out.WriteByte(',')
		}
		out.WriteString(host[strings.LastIndexByte(host, '@')+1:])
	}
	return out.String() + "?stream=" + s.Stream
}

const (
	connectWithin = 2 * time.Second // for each server
	reconnectWait = 200 * time.Millisecond
)

// Connect connects to one of the servers, and connects again whenever the connection is lost. It
// pings the server at the given interval. The log says when the server becomes unreachable and when
// it is reachable again, with shown as its name.
func (s *Servers) Connect(shown string, ping time.Duration, log *slog.Logger) (*nats.Conn, jetstream.JetStream, error) {
	host, _ := os.Hostname()
	options := []nats.Option{
		nats.Name("mockserver " + host), nats.Timeout(connectWithin),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1), // nothing is buffered to be sent later
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(ping), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Error(s.What+" is unavailable", "store", shown, "error", err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info(s.What+" is back", "store", shown) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn(s.What+" reports an error", "store", shown, "error", err.Error())
		}),
		func(o *nats.Options) error { o.Servers = s.URLs; return nil },
	}
	if s.Creds != "" {
		options = append(options, nats.UserCredentials(s.Creds))
	}
	if s.CA != "" {
		options = append(options, nats.RootCAs(s.CA))
	}
	if s.Cert != "" {
		options = append(options, nats.ClientCert(s.Cert, s.Key))
	}
	nc, err := nats.Connect("", options...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return nc, js, nil
}

// ReplicasOf returns how many servers store a stream that is created: as many as declared, or else
// three in a cluster and one otherwise.
func (s *Servers) ReplicasOf(nc *nats.Conn) int {
	switch {
	case s.Replicas > 0:
		return s.Replicas
	case nc.ConnectedClusterName() != "":
		return 3
	}
	return 1
}

// Start calls do until it succeeds, for 30 s in total, as long as it fails because of a timeout or
// because the servers have no leader. Servers that have just been started do not answer before they
// have a leader, and they never answer requests from before then. Therefore each attempt has its
// own timeout, which is 2 s at first and doubles each time.
func Start(ctx context.Context, do func(context.Context) error) error {
	for within := 2 * time.Second; ; within *= 2 {
		attempt, end := context.WithTimeout(ctx, within)
		err := do(attempt)
		if isEarly(err) {
			<-attempt.Done()
		}
		late := attempt.Err() != nil
		end()
		if err == nil || !late || within >= 16*time.Second || ctx.Err() != nil {
			return err
		}
	}
}

// isEarly reports whether an error comes from servers without a leader.
func isEarly(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && slices.Contains([]jetstream.ErrorCode{
		10004, // JSClusterIncompleteErr
		10008, // JSClusterNotAvailErr
		10009, // JSClusterNotLeaderErr
	}, refused.ErrorCode)
}
