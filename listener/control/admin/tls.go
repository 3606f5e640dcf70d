package admin

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"mockserver/config/settings"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/certs"
)

// TLSOf returns the TLS options for the mocks and for the admin address; nil for clear text. Both
// have the same CA, if the settings ask for one.
func TLSOf(set settings.Settings) (mocks, admin *certs.Options, err error) {
	var ca *certs.Authority
	if set.Command == "serve" && (set.TLS.Auto || set.AdminTLS.Auto) {
		ca, err = certs.OpenAuthority(set.TLS.Dir)
	}
	return certificates(set.TLS, ca), certificates(set.AdminTLS, ca), err
}

func certificates(t settings.TLS, ca *certs.Authority) *certs.Options {
	if !t.IsOn() {
		return nil
	}
	o := &certs.Options{Auto: t.Auto, Dir: t.Dir, Authority: ca, Only: t.Only, Min: t.Min, ClientCA: t.ClientCA, Client: t.Client, TicketKeys: t.TicketKeys}
	for i, cert := range t.Certs {
		o.Pairs = append(o.Pairs, certs.Pair{Cert: cert, Key: t.Keys[i]})
	}
	return o
}

// On the admin address, net/http serves TLS as on any listener. The few clients of the address do
// not need session tickets, which would outlive a change of the CAs.

func openCertificates(opts *certs.Options, log *slog.Logger) (*certs.Store, error) {
	if opts == nil {
		return nil, nil
	}
	own := *opts
	own.NoTickets = true
	return certs.Open(own, log)
}

// followCertificates keeps the certificates up to date until a.stop is called.
func (a *Admin) followCertificates() {
	ctx, cancel := context.WithCancel(context.Background())
	if a.stop = cancel; a.certs != nil {
		a.follow.Go(func() { a.certs.Follow(ctx) })
	}
}

// ReloadCertificates reads the files of Options.TLS again; see listener.Server.ReloadCertificates.
// A nil Admin ignores it.
func (a *Admin) ReloadCertificates(cause string) {
	if a != nil && a.certs != nil {
		a.certs.Reload(cause)
	}
}

// writeTLS writes the TLS metrics; without TLS there are none.
func (a *Admin) writeTLS(out *output, counts *record.Counts) {
	for _, h := range counts.Handshakes {
		out.counter(describe("tls_handshakes_total", "TLS handshakes, by result: ok, or why they failed.", "result", "resumed", "version"), h.Count, h.Result, strconv.FormatBool(h.Resumed), h.Version)
	}
	if counts.Handshakes != nil {
		out.sum(describe("tls_handshake_cpu_seconds_total", "CPU time that TLS handshakes took, including failed ones."), counts.HandshakeTime.Seconds())
	}
	for _, v := range a.server.Certificates() {
		out.gauge(describe("tls_certificate_expiry_timestamp_seconds", "When a certificate expires, in Unix time, by its file; ca is the CA of --tls auto.", "certificate"), unixSeconds(v.Until), labelOf(v.Name))
	}
}

// pemMedia is the media type of certificates (RFC 8555).
const pemMedia = "application/pem-certificate-chain"

// showCA returns the CA that clients of the mocks, and of this address, must trust.
func (a *Admin) showCA(w http.ResponseWriter, _ *http.Request) {
	text := a.server.CA()
	if text == nil && a.certs != nil && a.certs.Authority() != nil {
		text = a.certs.Authority().PEM()
	}
	if text == nil {
		refuse(w, http.StatusNotFound, "no_ca", "No CA", "the server has no CA of its own: it was not started with --tls auto")
		return
	}
	w.Header().Set("Content-Type", pemMedia)
	_, _ = w.Write(text) // an error means that the client has left
}
