package settings

// TLS contains the TLS settings of a port. The zero value means clear text.
type TLS struct {
	Auto        bool // certificates are made by the server's own CA
	Dir         string
	Certs, Keys []string // files, in pairs
	Only        bool     // clear text is refused
	Min         string   // the lowest accepted version: "1.2" or "1.3"
	ClientCA    string   // a file; "" asks clients for no certificate
	Client      string   // "required", "optional" or "" for the former
	TicketKeys  string   // a file; "" for none
}

// IsOn reports whether TLS is used.
func (t *TLS) IsOn() bool { return t.Auto || len(t.Certs) > 0 }
