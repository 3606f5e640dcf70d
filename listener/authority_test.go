package listener_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// authority issues certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// leaf describes a certificate to issue.
type leaf struct {
	CN    string
	Names []string // DNS names, IP addresses and URIs
	Until time.Time
}

// newCA creates a CA.
func newCA(t *testing.T, name string) *authority {
	t.Helper()
	ca := &authority{t: t}
	ca.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca.cert = ca.sign(template, template, ca.key)
	return ca
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (ca *authority) sign(template, by *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	ca.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), ca.key)
	if err != nil {
		ca.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		ca.t.Fatal(err)
	}
	return cert
}

// PEM returns the certificate of the CA.
func (ca *authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
}

// Pool returns a pool that contains only the CA.
func (ca *authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// File writes the certificate of the CA, and returns its path.
func (ca *authority) File(dir, name string) string {
	ca.t.Helper()
	return harness.WriteFile(ca.t, dir, name, string(ca.PEM()))
}

// Issue issues a certificate, for servers and clients, and returns it with its key as PEM.
func (ca *authority) Issue(l leaf) (cert, key []byte) {
	ca.t.Helper()
	private := newKey(ca.t)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		ca.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: l.CN}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: l.Until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if l.Until.IsZero() {
		template.NotAfter = time.Now().Add(30 * 24 * time.Hour)
	}
	for _, name := range l.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if u, err := url.Parse(name); err == nil && u.Scheme != "" {
			template.URIs = append(template.URIs, u)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	leaf := ca.sign(template, ca.cert, private)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		ca.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Files writes a certificate and its key as name.pem and name.key, and returns their paths.
func (ca *authority) Files(dir, name string, l leaf) (cert, key string) {
	ca.t.Helper()
	c, k := ca.Issue(l)
	return harness.WriteFile(ca.t, dir, name+".pem", string(c)), harness.WriteFile(ca.t, dir, name+".key", string(k))
}

// Client returns a certificate for a client.
func (ca *authority) Client(l leaf) tls.Certificate {
	ca.t.Helper()
	pair, err := tls.X509KeyPair(ca.Issue(l))
	if err != nil {
		ca.t.Fatal(err)
	}
	return pair
}
