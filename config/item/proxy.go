package item

import (
	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Proxy passes requests on to an upstream (response.proxy).
type Proxy struct {
	Pos       syntax.Pos
	Key       string
	To        syntax.Text // the name of the upstream
	Path      syntax.Text // a template of the path and query to request; empty for those of the client
	When      string      // ProxyAlways (also "") or ProxyMissing
	Forwarded bool        // X-Forwarded-For, -Host and -Proto are sent
}

var proxyFields = []table.Field[Proxy]{
	table.Of[Proxy](table.Row{Key: "to", Doc: "the name of an upstream", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Proxy](table.Row{Key: "path", Doc: "the path and query to request; those of the client's request by default", Kinds: table.Texts, Filled: true}),
	table.Of[Proxy](table.Row{Key: "when", Doc: "always (the default), or missing: only if the external body or a row of find is missing", Kinds: table.Texts, Enum: []string{ProxyAlways, ProxyMissing}}),
	table.Of[Proxy](table.Row{Key: "forwarded", Doc: "true sends X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto", Kinds: table.Bools}),
}

// The cases in which a proxy passes requests on.
const (
	ProxyAlways  = "always"
	ProxyMissing = "missing" // only requests for which the endpoint itself has no answer
)

func decodeProxy(d *table.Decoder, v table.Value) *Proxy {
	p := &Proxy{Pos: v.Pos(), Key: v.Key}
	if v.Kind == syntax.MapNode {
		table.Fill(d, v.Node, v.Key, proxyFields, p)
		return p
	}
	if p.To = v.AsText(); p.To.Value == "" {
		d.Refuse(v)
	}
	return p
}
