package renderer

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// members contains the variables of the host, and those of a connection over TLS, by root and name. The latter are missing
// without TLS; those of client-cert are also missing without a certificate, except
// client-cert.present, which is then false.
var members = map[string]map[string]func(r *matcher.Request) value.Value{
	"host": {
		"":     func(r *matcher.Request) value.Value { return value.OfText(r.Host()) },
		"name": func(r *matcher.Request) value.Value { name, _ := hostOf(r); return value.OfText(name) },
		"port": func(r *matcher.Request) value.Value { _, port := hostOf(r); return value.OfText(port[1:]) },
		"url": func(r *matcher.Request) value.Value {
			of := usual[r.In.TLS != nil]
			return value.Appended(r, append(append(r.Arena, of.scheme...), bytes.TrimSuffix(r.Host(), of.port)...))
		},
	},
	"tls": {
		"version": ofTLS(func(t *matcher.TLS) []byte { return t.Version }),
		"sni":     ofTLS(func(t *matcher.TLS) []byte { return t.Name }),
		"cipher":  ofTLS(func(t *matcher.TLS) []byte { return t.Cipher }),
	},
	"client-cert": {
		"present":     func(r *matcher.Request) value.Value { return value.OfBool(r.In.TLS != nil && r.In.TLS.Client != nil) },
		"cn":          ofClient(func(c *matcher.Certificate) []byte { return c.CommonName }),
		"san":         ofClient(func(c *matcher.Certificate) []byte { return c.Names }),
		"subject":     ofClient(func(c *matcher.Certificate) []byte { return c.Subject }),
		"fingerprint": ofClient(func(c *matcher.Certificate) []byte { return c.Fingerprint }),
		"serial":      ofClient(func(c *matcher.Certificate) []byte { return c.Serial }),
	},
}

// usual is what the URL of a server begins with, and the port that it need not name, without and with TLS.
var usual = map[bool]struct{ scheme, port []byte }{false: {[]byte("http://"), []byte(":80")}, true: {[]byte("https://"), []byte(":443")}}

// hostOf returns the name of the host of a request, and its port after a colon.
func hostOf(r *matcher.Request) (name, port []byte) {
	host := r.Host()
	if at := bytes.LastIndexByte(host, ':'); at > bytes.LastIndexByte(host, ']') {
		return host[:at], host[at:]
	}
	return host, usual[r.In.TLS != nil].port
}

func ofTLS(part func(*matcher.TLS) []byte) func(*matcher.Request) value.Value {
	return func(r *matcher.Request) value.Value {
		if r.In.TLS == nil {
			return value.Value{}
		}
		text := part(r.In.TLS)
		return optional(text, text != nil)
	}
}

func ofClient(part func(*matcher.Certificate) []byte) func(*matcher.Request) value.Value {
	return ofTLS(func(t *matcher.TLS) []byte {
		if t.Client == nil {
			return nil
		}
		return part(t.Client)
	})
}

// member parses what follows tls or client-cert.
func (s *scanner) member(t token, root, rest string) (e expr, ok, known bool) {
	e.op = opRequest
	name, length := strings.CutSuffix(strings.TrimPrefix(rest, "."), ".length")
	if e.read, ok = members[root][name]; !ok {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(members[root])), func(name string) bool { return name == "" })
		s.fail(t.offset, "%q is not known%s; expected %s.%s", t.text, wording.DidYouMean(name, names), root, strings.Join(names, ", "+root+"."))
		return e, false, true
	}
	e.length = length
	return e, true, true
}
