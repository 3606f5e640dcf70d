package language

import (
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/item"
	"mockserver/internal/semantics"
)

// Upstream is a server that requests are passed on to, as the source describes it.
type Upstream struct {
	URL     string
	Timeout string
	Headers *Headers // that are set in requests
	Without []string // headers that are removed from requests
}

// Upstreams are the declared upstreams of an import, by their properties.
type Upstreams struct {
	names map[string]string
}

// Declare declares an upstream unless an equal one is already declared, and returns its name.
// Certificates are not verified, because the imported tools do not verify them either. why says why
// the upstream cannot be declared; "" if it can. differs says what was left out.
func (u *Upstreams) Declare(d *draft.Draft, up Upstream) (name, why, differs string) {
	if fault := item.UpstreamFault(up.URL); fault != "" {
		return "", "requests are not passed on to " + strconv.Quote(up.URL) + ": " + fault, ""
	}
	up.URL = strings.TrimSuffix(up.URL, "/")
	m := draft.NewMap("name", "", "url", up.URL, "timeout", up.Timeout)
	if strings.HasPrefix(strings.ToLower(up.URL), "https:") {
		m.Set("insecure", draft.Of(true))
	}
	for _, values := range up.Headers.values {
		for _, v := range values {
			v.Use() // headers of upstreams are always templates
		}
	}
	headers := up.Headers.Node()
	for _, header := range up.Headers.names {
		if semantics.ProxySets(header) {
			differs = "the server sets the header " + header + " of passed requests itself"
			headers.Delete(header)
		}
	}
	for _, header := range up.Without {
		if semantics.IsToken(header) && !semantics.ProxySets(header) && !up.Headers.Has(header) {
			up.Headers.names = append(up.Headers.names, header)
			headers.Set(header, draft.Of(nil))
		}
	}
	if headers.Len() > 0 {
		m.Set("headers", headers)
	}
	key := JSON(m)
	if name = u.names[key]; name != "" {
		return name, "", differs
	}
	if u.names == nil {
		u.names = map[string]string{}
	}
	name = "upstream-" + strconv.Itoa(len(u.names)+1)
	u.names[key] = name
	d.Add("upstream", m.Set("name", draft.Of(name)))
	return name, "", differs
}
