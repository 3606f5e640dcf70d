package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// Validate returns all problems of the spec: those found when it was read, and those of endpoints
// made in Go. It does not modify the spec.
func (s *Spec) Validate() syntax.Problems {
	return slices.Clone(s.Complete().Problems)
}

// InOrder sorts problems by the files of the spec; those of other files come last. It modifies ps
// and returns it.
func (s *Spec) InOrder(ps syntax.Problems) syntax.Problems {
	rank := make(map[string]int, len(s.files))
	for i, file := range slices.Backward(s.files) {
		rank[file] = i - len(s.files)
	}
	slices.SortStableFunc(ps, func(p, q syntax.Problem) int { return cmp.Compare(rank[p.Pos.File], rank[q.Pos.File]) })
	return ps
}

// check returns the problems of an endpoint. node is the map of an endpoint that was read from a
// file; it provides the positions.
func check(e *Endpoint, key string, node *syntax.Node, reported map[string]bool) syntax.Problems {
	c := &checker{Endpoint: e, key: key, node: node, reported: reported}
	c.request()
	c.answer(&e.Response, []string{"response"})
	c.unseen(&e.Response, e.Fault, []string{"response"})
	if e.Resource == nil { // those of a resource are checked where they stand
		c.outcomes()
	}
	c.changes(e.Do, nil)
	c.webhooks(e.Webhooks, nil)
	c.latency(e.Latency, []string{"latency"})
	c.fault(e.Fault, []string{"fault"})
	c.rateLimit(e.RateLimit, []string{"rate-limit"})
	c.capacity(e.Capacity, []string{"capacity"})
	if node == nil && e.Doc.Body != "" && !json.Valid([]byte(e.Doc.Body)) { // one that was read from a file is JSON
		c.wrong("the example of the request's body is not valid JSON", "body")
	}
	return c.Problems
}

func (c *checker) request() {
	inBounds(c, endpointFields, c.Endpoint, nil)
	c.method()
	if c.Host != "" {
		c.wrong(address.NameFault(c.Host), "host")
	}
	switch path := c.Path.Value; {
	case path == "":
		c.wrong("the path is empty; expected a text that begins with /", "path")
	case path[0] != '/':
		c.wrong(fmt.Sprintf("%q does not begin with /", wording.Clip(path)), "path")
	}
}

// answer checks the response at the given keys.
func (c *checker) answer(r *Response, at []string) {
	inBounds(c, responseFields, r, at)
	c.headers(r.Headers, ServerSets, below(at, "headers")...)
	c.body(r, at)
	c.proxy(r, at)
	if r.External != nil {
		c.external(r, below(at, "external-body"))
	}
}

// declaresBody reports whether a body is given, even if it is empty.
func (r *Response) declaresBody() bool {
	return r.Body.Value != "" || r.Body.Pos.Line > 0 || r.BodyJSON
}

// declaresAnything reports whether a response made in Go differs from the zero value, whatever its
// position.
func (r *Response) declaresAnything() bool {
	bare := *r
	bare.Pos = syntax.Pos{}
	if len(r.Headers) == 0 {
		bare.Headers = nil
	}
	if !r.declaresBody() {
		bare.Body = syntax.Text{}
	}
	return !reflect.ValueOf(bare).IsZero()
}

// headers checks names and values, and finds names that differ only in case. It skips those for
// which serverSets is true.
func (c *checker) headers(headers []Header, serverSets func(name string) bool, path ...string) {
	spelt, times := map[string]string{}, map[string]int{}
	for _, h := range headers {
		lower := strings.ToLower(h.Name)
		times[lower]++
		first, seen := spelt[lower]
		keys := append(slices.Clone(path), h.Name)
		report := func(what string, warning bool) {
			if !c.Full() { // each position is searched for
				c.report(c.place(true, keys), what, keys, warning)
			}
		}
		switch {
		case seen && first != h.Name:
			report(fmt.Sprintf("is the same header as %q; several values of one header are a list", wording.Clip(first)), false)
		case times[lower] == 2 && standsOnce(h.Name):
			c.wrong("has several values; expected one, as a message has this header once", keys...)
		case !isToken(h.Name):
			report(fmt.Sprintf("%q is not a header name; letters, digits and !#$%%&'*+-.^_`|~ are accepted", wording.Clip(h.Name)), false)
		case !seen && serverSets(h.Name):
			report("is left out: the server writes this header itself", true)
		}
		spelt[lower] = h.Name
		if i := strings.IndexFunc(h.Value.Value, inHeaderForbidden); i >= 0 {
			pos := c.spot(&h.Value, i)
			c.report(pos, fmt.Sprintf("the control character %q cannot stand in a header%s", h.Value.Value[i],
				newlineHint(h.Value.Value[i], pos.File)), keys, false)
		}
	}
}

func newlineHint(b byte, file string) string {
	if b == '\n' {
		return hintsOf(file).line
	}
	return ""
}

func inHeaderForbidden(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7F }

func (c *checker) body(r *Response, at []string) {
	if r.declaresBody() && r.External != nil {
		c.wrong(table.BothGiven("body", "external-body"), below(at, "external-body")...)
	}
	if r.Status == 204 || r.Status == 304 {
		what := fmt.Sprintf("is left out: an answer with status %d has no body", r.Status)
		if r.External != nil {
			c.warn(what, below(at, "external-body")...)
		} else if r.Body.Value != "" {
			c.warn(what, below(at, "body")...)
		}
		return
	}
	c.jsonBody(r, below(at, "body"))
}

// jsonBody warns about a fixed body that looks like JSON but is not valid.
func (c *checker) jsonBody(r *Response, at []string) {
	if r.BodyJSON || !looksFixedJSON(r.Body.Value, r.Raw) {
		return
	}
	many := false
	if declared, ok := contentType(r.Headers); ok {
		if !IsJSON(declared) {
			return
		}
		many = holdsMany(MediaType(declared))
	}
	c.noJSON(&r.Body, many, "the body looks like JSON but is not valid: %s", at)
}

// looksFixedJSON reports whether a text begins like a JSON object or array, and has no
// placeholders.
func looksFixedJSON(text string, raw bool) bool {
	begin := strings.TrimLeft(text, " \t\r\n")
	return begin != "" && (begin[0] == '{' || begin[0] == '[') && (raw || !tags.In(text))
}

// noJSON warns about a text that is not JSON, at the offending position.
func (c *checker) noJSON(t *syntax.Text, many bool, format string, at []string) {
	if offset, what := jsonFault(t.Value, many); what != "" {
		c.report(c.spot(t, offset), fmt.Sprintf(format, what), at, true)
	}
}

// contentType returns the declared Content-Type as written, and whether there is one.
func contentType(headers []Header) (string, bool) {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			return h.Value.Value, true
		}
	}
	return "", false
}

// external checks the external body of the response at the given keys.
func (c *checker) external(r *Response, place []string) {
	x := r.External
	at := func(key string) []string { return below(place, key) }
	inBounds(c, externalFields, x, place)
	switch {
	case x.Provider == "xlsx" && x.Sheet.Value == "":
		c.wrong("sheet-name is missing: provider xlsx needs the name of a sheet", at("sheet-name")...)
	case x.Provider == "json" && x.Sheet.Value != "":
		c.wrong("sheet-name is for provider xlsx; provider json has no sheets", at("sheet-name")...)
	}
	if x.Path.Value == "" {
		c.wrong("the path is empty; expected a file, or for json an http or https URL", at("path")...)
		return
	}
	c.externalURL(x, at("path"))
	c.clientTLS(&x.Cert, &x.ClientKey, place)
	if x.mayBeURL(!r.Raw) {
		return
	}
	c.notForURL("http and https URLs; this path is a file", place, x.URLKeys()...)
}

// GivenKey is a key, and whether it was given.
type GivenKey struct {
	Key   string
	Given bool
}

// URLKeys returns the keys of an external body that are for URLs, and which of them are given.
func (x *ExternalBody) URLKeys() []GivenKey {
	return append([]GivenKey{{"timeout", x.Timeout != 0}, {"ttl", x.TTL != 0}, {"stale-if-error", x.StaleIfError}}, tlsKeys(&x.CA, &x.Cert, &x.ClientKey, x.Insecure)...)
}

// tlsKeys returns the keys of TLS, and which of them are given.
func tlsKeys(ca, cert, key *syntax.Text, insecure bool) []GivenKey {
	return []GivenKey{{"ca", ca.Value != ""}, {"cert", cert.Value != ""}, {"key", key.Value != ""}, {"insecure", insecure}}
}

// notForURL reports keys that are given and are for others.
func (c *checker) notForURL(others string, place []string, keys ...GivenKey) {
	for _, k := range keys {
		if k.Given {
			c.wrong(k.Key+" is for "+others, below(place, k.Key)...)
		}
	}
}

// clientTLS checks the certificate that is shown to a server: it needs its key.
func (c *checker) clientTLS(cert, key *syntax.Text, place []string) {
	switch {
	case cert.Value != "" && key.Value == "":
		c.wrong("cert has no key; expected the file with its key as key", below(place, "cert")...)
	case cert.Value == "" && key.Value != "":
		c.wrong("key has no cert; expected the file with its certificate as cert", below(place, "key")...)
	}
}

// mayBeURL reports whether the path is a URL, or a template that may render to one.
func (x *ExternalBody) mayBeURL(templates bool) bool {
	return x.Provider != "xlsx" && (address.Scheme(x.Path.Value) != "" || templates && tags.Start(x.Path.Value) == 0)
}

// externalURL checks the path of an external body if it is a URL.
func (c *checker) externalURL(x *ExternalBody, keys []string) {
	switch s := address.Scheme(x.Path.Value); {
	case s == "":
	case x.Provider == "xlsx":
		c.wrong("provider xlsx reads files; expected a URL for provider json", keys...)
	case s != "http" && s != "https":
		c.wrong(fmt.Sprintf("URLs of %s are not fetched; expected http and https", s), keys...)
	default:
		c.url(&x.Path, keys...)
	}
}
