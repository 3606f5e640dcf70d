package item

import (
	"fmt"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/tags"
)

// ExternalBody is a body that is not in the configuration.
type ExternalBody struct {
	Pos      syntax.Pos
	Key      string
	Provider string      // "json" or "xlsx"
	Path     syntax.Text // a file or, for json, an http or https URL; may contain placeholders
	Sheet    syntax.Text `key:"sheet-name"` // xlsx: the name of the sheet

	Timeout      time.Duration // remote: 0 means DefaultFetchTimeout
	TTL          time.Duration // remote: how long a copy is served without asking again
	StaleIfError bool          // remote: if the server fails, the last good copy is served
	Insecure     bool          // remote: TLS certificates are not verified
	CA           syntax.Text   `key:"ca"` // remote: a file with the CAs to trust; empty for those of the system
	Cert         syntax.Text   // remote: a file with the client certificate; empty for none
	ClientKey    syntax.Text   // remote: a file with the key of Cert
}

// DefaultFetchTimeout limits one fetch of a remote body.
const DefaultFetchTimeout = 10 * time.Second

var providers = []string{"json", "xlsx"}

var externalFields = []table.Field[ExternalBody]{
	table.Of[ExternalBody](table.Row{Key: "provider", Doc: "json or xlsx", Required: true, Kinds: table.Texts, Enum: providers}),
	table.Of[ExternalBody](table.Row{Key: "path", Doc: "the file, or for json an http or https URL", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[ExternalBody](table.Row{Key: "sheet-name", Doc: "the sheet of the workbook", Kinds: table.Scalars}),
	table.Of[ExternalBody](table.Row{Key: "timeout", Doc: "how long one fetch of a URL may take; 10s by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Of[ExternalBody](table.Row{Key: "ttl", Doc: "how long a copy is served before the URL is fetched again", Kinds: table.Texts | table.Numbers, Length: table.FromZero}),
	table.Of[ExternalBody](table.Row{Key: "stale-if-error", Doc: "true serves the last good copy when a URL fails", Kinds: table.Bools}),
	table.Of[ExternalBody](table.Row{Key: "insecure", Doc: "true skips the verification of the TLS certificate of a URL", Kinds: table.Bools}),
	table.Of[ExternalBody](table.Row{Key: "ca", Doc: "a file with the CAs to trust for an https URL; those of the system by default", Kinds: table.Texts, Filled: true}),
	table.Of[ExternalBody](table.Row{Key: "cert", Doc: "a file with the client certificate for an https URL", Kinds: table.Texts, Filled: true}),
	table.Of[ExternalBody](table.Row{Key: "key", Of: "client-key", Doc: "a file with the key of cert", Kinds: table.Texts, Filled: true}),
}

// URLKeys returns the keys of an external body that apply only to URLs, and whether each is given.
func (x *ExternalBody) URLKeys() []GivenKey {
	return append([]GivenKey{{"timeout", x.Timeout != 0}, {"ttl", x.TTL != 0}, {"stale-if-error", x.StaleIfError}}, tlsKeys(&x.CA, &x.Cert, &x.ClientKey, x.Insecure)...)
}

// checkExternal checks an external body at the given keys. templates reports whether it may
// have placeholders.
func checkExternal(c *table.Checker, x *ExternalBody, templates bool, place []string) {
	at := func(key string) []string { return table.Below(place, key) }
	switch {
	case x.Provider == "xlsx" && x.Sheet.Value == "":
		c.Wrong("sheet-name is missing: provider xlsx needs the name of a sheet", at("sheet-name")...)
	case x.Provider == "json" && x.Sheet.Value != "":
		c.Wrong("sheet-name is for provider xlsx; provider json has no sheets", at("sheet-name")...)
	}
	if x.Path.Value == "" {
		c.Wrong("the path is empty; expected a file, or for json an http or https URL", at("path")...)
		return
	}
	checkExternalURL(c, x, at("path"))
	checkClientTLS(c, &x.Cert, &x.ClientKey, place)
	if x.Provider != "xlsx" && (address.Scheme(x.Path.Value) != "" || templates && tags.Start(x.Path.Value) == 0) {
		return // it is a URL, or a template that may render to one
	}
	checkNotForURL(c, "http and https URLs; this path is a file", place, x.URLKeys()...)
}

// checkExternalURL checks the path of an external body if it is a URL.
func checkExternalURL(c *table.Checker, x *ExternalBody, keys []string) {
	switch s := address.Scheme(x.Path.Value); {
	case s == "":
	case x.Provider == "xlsx":
		c.Wrong("provider xlsx reads only files; provider json reads URLs", keys...)
	case s != "http" && s != "https":
		c.Wrong(fmt.Sprintf("%s URLs are not supported; expected http or https", s), keys...)
	default:
		checkURL(c, &x.Path, keys...)
	}
}
