package certs

import (
	"crypto/x509"
	"time"
)

// warnAhead is how long before the expiry of a certificate the log warns of it.
const warnAhead = 14 * 24 * time.Hour

// Validity says how long a certificate is valid.
type Validity struct {
	Name  string // its file, or "ca" for the CA of Options.Auto
	Until time.Time
}

// Validities returns how long each certificate is valid, except those that the store made on
// demand.
func (s *Store) Validities() []Validity {
	var all []Validity
	for i, pair := range s.current.Load().pairs {
		all = append(all, Validity{s.opts.Pairs[i].Cert, until(pair.Leaf, pair.Certificate)})
	}
	if s.authority != nil {
		all = append(all, Validity{"ca", s.authority.cert.NotAfter})
	}
	return all
}

// until returns the time at which the first certificate in a chain expires.
func until(leaf *x509.Certificate, chain [][]byte) time.Time {
	first := leaf.NotAfter
	for _, der := range chain[1:] {
		if c, err := x509.ParseCertificate(der); err == nil && c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}

// WarnOfExpiry logs a warning for each certificate that has expired, or will within 14 days. Call
// it once a day.
func (s *Store) WarnOfExpiry(now time.Time) {
	for _, v := range s.Validities() {
		switch left := v.Until.Sub(now); {
		case left <= 0:
			s.log.Warn("certificate has expired, clients will refuse it", "certificate", v.Name, "until", v.Until)
		case left <= warnAhead:
			s.log.Warn("certificate expires soon", "certificate", v.Name, "until", v.Until)
		}
	}
}
