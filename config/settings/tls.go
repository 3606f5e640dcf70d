package settings

import (
	"slices"
	"strings"
)

// TLS is how a port speaks TLS. The zero value is clear text.
type TLS struct {
	Auto        bool // certificates are made by a CA of the server's own
	Dir         string
	Certs, Keys []string // files, in pairs
	Only        bool     // clear text is refused
	Min         string   // lowest version: "1.2" or "1.3"
	ClientCA    string   // a file; "" asks clients for no certificate
	Client      string   // "required", "optional" or "" for the former
	TicketKeys  string   // a file; "" for none
}

// IsOn reports whether TLS is spoken.
func (t *TLS) IsOn() bool { return t.Auto || len(t.Certs) > 0 }

// readAuto accepts the one word that --tls takes.
func readAuto(into *bool, text string) bool {
	*into = text == "auto"
	return *into
}

// readWebhookStore accepts the name of a directory, or a URL of NATS.
func readWebhookStore(into *string, text string) bool {
	*into = text
	return isNATS(text) || text != "" && !strings.Contains(text, "://")
}

func isNATS(text string) bool {
	return strings.HasPrefix(text, "nats://") || strings.HasPrefix(text, "tls://")
}

// readList adds names of files, separated by commas.
func readList(into *[]string, text string) bool {
	names := strings.Split(text, ",")
	*into = append(*into, names...)
	return !slices.Contains(names, "")
}

// checkTLS checks settings of TLS that depend on each other.
func (r *argReader) checkTLS() {
	s := r.flags.Into
	for _, port := range []struct {
		flags string
		tls   *TLS
	}{{"--tls", &s.TLS}, {"--admin-tls", &s.AdminTLS}} {
		if t := port.tls; len(t.Certs) != len(t.Keys) {
			r.flags.Wrong("%s-cert and %s-key: %d of the former and %d of the latter; expected a key for each certificate", port.flags, port.flags, len(t.Certs), len(t.Keys))
		}
	}
	needs := []struct {
		given       bool
		flag, needs string
	}{
		{s.TLS.Client != "" && s.TLS.ClientCA == "", "--tls-client", "--tls-client-ca"},
		{s.TLS.Only && !s.TLS.IsOn(), "--tls-only", "--tls auto or --tls-cert"},
		{s.TLS.ClientCA != "" && !s.TLS.IsOn(), "--tls-client-ca", "--tls auto or --tls-cert"},
		{s.TLS.TicketKeys != "" && !s.TLS.IsOn(), "--tls-ticket-keys", "--tls auto or --tls-cert"},
		{s.FleetCA != "" && (s.Fleet == "" || !s.AdminTLS.IsOn()), "--fleet-ca", "--fleet, and --admin-tls auto or --admin-tls-cert"},
		{s.AdminTLS.ClientCA != "" && !s.AdminTLS.IsOn(), "--admin-tls-client-ca", "--admin-tls auto or --admin-tls-cert"},
	}
	for _, n := range needs {
		if n.given && s.Command == "serve" {
			r.flags.Wrong("%s: has no effect alone; expected %s too", n.flag, n.needs)
		}
	}
	if s.Command == "serve" && s.Fleet != "" && s.AdminTLS.ClientCA != "" {
		r.flags.Wrong("--fleet and --admin-tls-client-ca are both given: replicas show each other a token, and no certificates")
	}
	if s.Command == "ca" && s.TLS.Dir == "" {
		r.flags.Wrong("ca: missing --tls-dir: without it each start makes a new CA; expected the directory where it is kept, " +
			"or ask the admin address of a running server for /__admin/ca.pem")
	}
}
