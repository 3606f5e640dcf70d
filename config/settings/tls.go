package settings

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
