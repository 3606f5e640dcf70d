package shared

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

// Location is where the state is stored: the NATS servers of a cluster, and how a client
// authenticates itself.
type Location struct {
	URLs      []string      // each with the user if there is one
	Creds     string        // file with the credentials of a user; "" for none
	CA        string        // file with CAs; "" selects those of the system
	Cert, Key string        // files with a client certificate; "" for none
	Stream    string        // name of the stream
	Replicas  int           // of a stream that is created; 0 for three in a cluster, one otherwise
	Timeout   time.Duration // how long a call may take
}

const (
	defaultTimeout = 20 * time.Millisecond
	maxTimeout     = 10 * time.Second
)

// Parse parses "nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][?NAME=VALUE&…]". Errors do not
// show the user.
func Parse(text string) (Location, error) {
	s := Location{Stream: "MOCK_STATE", Timeout: defaultTimeout}
	scheme, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "/?#"); strings.Count(rest, "@") > 1 || end >= 0 && strings.Contains(rest[end:], "@") {
		return s, errors.New("the shared state has more than one @, or one after / ? or #; expected %-escapes for them in the user and password, which appear once, before the first server")
	}
	hosts, query, _ := strings.Cut(rest, "?")
	user := ""
	if i := strings.IndexByte(hosts, '@'); i >= 0 {
		user, hosts = hosts[:i+1], hosts[i+1:]
	}
	for host := range strings.SplitSeq(strings.TrimSuffix(hosts, "/"), ",") {
		u, err := url.Parse(scheme + "://" + host)
		if err != nil || u.Hostname() == "" || u.Path != "" || u.Fragment != "" {
			return s, fmt.Errorf("%q is not a server of the shared state; expected %s://HOST:PORT,HOST:PORT", host, scheme)
		}
		if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) {
			return s, fmt.Errorf("%q has an invalid port; expected an integer from 1 to 65535", host)
		}
		if _, err := url.Parse(scheme + "://" + user + host); err != nil {
			return s, errors.New("the user or password of the shared state is not valid in a URL; expected %-escapes for special characters")
		}
		s.URLs = append(s.URLs, scheme+"://"+user+host)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return s, fmt.Errorf("the parameters of the shared state are not valid: %w", err)
	}
	for name, all := range values {
		value := all[len(all)-1]
		expected, ok := s.set(name, value)
		switch {
		case expected == "":
			return s, fmt.Errorf("unknown parameter %q of the shared state; expected stream, replicas, timeout, creds, ca, cert or key", name)
		case !ok:
			return s, fmt.Errorf("%q is not valid for %s of the shared state; expected %s", value, name, expected)
		}
	}
	if (s.Cert == "") != (s.Key == "") {
		return s, errors.New("the shared state has only one of cert and key; expected both or none")
	}
	return s, nil
}

// set sets one parameter.
func (s *Location) set(name, value string) (expected string, ok bool) {
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
	case "timeout":
		var err error
		s.Timeout, err = time.ParseDuration(value)
		return fmt.Sprintf("a duration above 0 of at most %v", maxTimeout), err == nil && s.Timeout > 0 && s.Timeout <= maxTimeout
	}
	return "", false
}

var streamName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// String returns the servers and the stream, without the user.
func (s *Location) String() string {
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

// connect connects to one of the servers, and connects again whenever the connection is lost. The
// log says when the server becomes unreachable and when it is reachable again.
func (s *Location) connect(log *slog.Logger) (*nats.Conn, jetstream.JetStream, error) {
	host, _ := os.Hostname()
	shown := s.String()
	options := []nats.Option{
		nats.Name("mockserver " + host), nats.Timeout(connectWithin),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1), // nothing is buffered to be sent later
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(presentEvery), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Error("the shared state is unavailable", "store", shown, "error", err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("the shared state is back", "store", shown) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("the shared state reports an error", "store", shown, "error", err.Error())
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

// replicasOf returns how many servers store a stream that is created: as many as declared, or else
// three in a cluster and one otherwise.
func (s *Location) replicasOf(nc *nats.Conn) int {
	switch {
	case s.Replicas > 0:
		return s.Replicas
	case nc.ConnectedClusterName() != "":
		return 3
	}
	return 1
}

// start calls do until it succeeds, for 30 s in total, as long as it fails because of a timeout or
// because the servers have no leader. Servers that have just been started do not answer before they
// have a leader, and they never answer requests from before then. Therefore each attempt has its
// own timeout, which is 2 s at first and doubles each time.
func start(ctx context.Context, do func(context.Context) error) error {
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
