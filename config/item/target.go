package item

import (
	"fmt"
	"strings"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// targetPattern matches the beginning of a webhook's URL, which may be a placeholder.
const targetPattern = `^([Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7F/?#:]|\{\{|\{%)`

// checkTarget checks the URL of a webhook.
func checkTarget(c *table.Checker, u *syntax.Text, keys ...string) {
	text := u.Value
	s := address.Scheme(text)
	switch {
	case text == "":
		c.Wrong("the URL is empty; expected https://host/path", keys...)
		return
	case tags.Start(text) == 0: // the placeholder may render to anything
	case s != "http" && s != "https":
		c.Wrong(fmt.Sprintf("%q does not begin with http:// or https://", wording.Clip(text)), keys...)
		return
	}
	checkURL(c, u, keys...)
}

// checkURL checks the URL to which a webhook is sent, or from which an external body is fetched.
func checkURL(c *table.Checker, u *syntax.Text, keys ...string) {
	at := func(offset int, what string, warning bool) {
		c.Report(c.Spot(u, offset), what, keys, warning)
	}
	if offset, what := address.TemplateFault(u.Value); what != "" {
		at(offset, what, false)
		return
	}
	for offset, literal := range address.Literals(u.Value) {
		if i := strings.IndexByte(literal, '#'); i >= 0 {
			at(offset+i, "the part after # is not sent; write %23 to send a #", true)
			return
		}
	}
}

// tlsKeys returns the keys for TLS, and which of them are given.
func tlsKeys(ca, cert, key *syntax.Text, insecure bool) []GivenKey {
	return []GivenKey{{"ca", ca.Value != ""}, {"cert", cert.Value != ""}, {"key", key.Value != ""}, {"insecure", insecure}}
}

// checkNotForURL reports an error for each key that is given; others says what these keys are for.
func checkNotForURL(c *table.Checker, others string, place []string, keys ...GivenKey) {
	for _, k := range keys {
		if k.Given {
			c.Wrong(k.Key+" is for "+others, table.Below(place, k.Key)...)
		}
	}
}

// checkClientTLS checks that a client certificate and its key are given together.
func checkClientTLS(c *table.Checker, cert, key *syntax.Text, place []string) {
	switch {
	case cert.Value != "" && key.Value == "":
		c.Wrong("cert is given without key; expected the file with its private key", table.Below(place, "cert")...)
	case cert.Value == "" && key.Value != "":
		c.Wrong("key is given without cert; expected the file with its certificate", table.Below(place, "key")...)
	}
}

// GivenKey is a key, and whether it was given.
type GivenKey struct {
	Key   string
	Given bool
}
