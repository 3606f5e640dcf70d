package renderer

import (
	"maps"
	"slices"
	"strings"

	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// members contains the variables of a connection over TLS, by root and name. They are missing
// without TLS; those of client-cert are also missing without a certificate, except
// client-cert.present, which is then false.
var members = map[string]map[string]func(r *matcher.Request) value.Value{
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
		names := slices.Sorted(maps.Keys(members[root]))
		s.fail(t.offset, "%q is not known%s; expected %s.%s", t.text, wording.DidYouMean(name, names), root, strings.Join(names, ", "+root+"."))
		return e, false, true
	}
	e.length = length
	return e, true, true
}
