package config

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/flags"
	"mockserver/internal/wording"
)

// Upstream is another server that requests can be passed on to.
type Upstream struct {
	Pos syntax.Pos
	Key string // "[3].upstream"
	Dir string // the directory in which relative directories of recordings are looked up; "" is the working directory

	Name        string      // unique
	URL         syntax.Text // http or https, without user, query and fragment; its path precedes that of requests
	Timeout     time.Duration
	Connections int      // 0 means DefaultConnections
	Headers     []Header // set in requests; a template sees the request
	Without     []string // headers that are left out of requests
	Host        string   // HostOwn (also "") or HostPass
	Insecure    bool     // TLS certificates are not verified
	Record      *Record  // nil records nothing
}

// Record says what is recorded of the requests to an upstream.
type Record struct {
	Pos    syntax.Pos
	Key    string
	To     string      // the directory of the recordings
	Mode   string      // RecordAll (also "") or RecordMissing
	If     syntax.Text // which requests; an empty text is all of them
	Sample int         // one body of so many is kept; 0 means all
	Bodies int         // the largest body that is kept, in bytes; 0 means DefaultBodies
	Limit  int         // how many bytes are recorded before bodies are left out; 0 means DefaultRecordLimit
	Redact *Redact     // nil means the headers that hold secrets
}

// Redact says which values are replaced in recordings, in addition to headers that hold secrets.
type Redact struct {
	Pos     syntax.Pos
	Key     string
	Headers []string
	JSON    []string `key:"json"` // members, a.b for a nested one; in arrays those of each element
	Query   []string // parameters of the query, and of bodies that are forms
}

// Proxy passes requests on to an upstream (response.proxy).
type Proxy struct {
	Pos       syntax.Pos
	Key       string
	To        syntax.Text // the name of the upstream
	Path      syntax.Text // the path and query to ask for, a template; empty for those of the request
	When      string      // ProxyAlways (also "") or ProxyMissing
	Forwarded bool        // X-Forwarded-For, -Host and -Proto are sent
}

// What the keys of upstreams and proxies may be, and their defaults.
const (
	MethodAny     = "ANY" // an endpoint for requests of any method, of those that no other endpoint with the path answers
	HostOwn       = "own"
	HostPass      = "pass"
	ProxyAlways   = "always"
	ProxyMissing  = "missing" // only what the endpoint itself has no answer for
	RecordAll     = "all"
	RecordMissing = "missing" // what is recorded is served

	DefaultUpstream        = "default" // the name of the upstream of Loader.Upstream
	DefaultUpstreamTimeout = 30 * time.Second
	DefaultConnections     = 256
	DefaultBodies          = 1 << 20
	DefaultRecordLimit     = 1 << 30
	MaxBodies              = 64 << 20

	maxConnections = 65535
	maxSample      = 1_000_000_000
	upstreamForm   = "an http or https URL without user, query and fragment, such as https://api.example.com/v2"
)

// hopByHop are the headers that concern one connection, or that the proxy writes itself.
var hopByHop = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Via",
}

// ProxySets reports whether the proxy itself writes a header of the requests that it passes on, or
// leaves it out of them.
func ProxySets(name string) bool {
	return slices.ContainsFunc(hopByHop, func(h string) bool { return strings.EqualFold(h, name) })
}

// upstreamHeader is what is accepted as a value of a header of an upstream.
var upstreamHeader = &row{Kinds: table.Scalars | table.Lists | table.Nulls, Pattern: headerPattern, Item: headerValue.Item}

var (
	upstreamFields = []table.Field[Upstream]{
		table.With(row{Key: "name", Doc: "what endpoints call it", Required: true, Kinds: table.Texts, Pattern: dataNamePattern, Form: dataNameForm},
			func(d *decoder, v value, u *Upstream) { u.Name = decodeName(d, v, isDataName) }),
		table.With(row{Key: "url", Doc: "where it is; its path precedes that of requests", Required: true, Kinds: table.Texts, Form: upstreamForm, Pattern: `^[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7F/?#:@]`},
			setUpstreamURL),
		table.Of[Upstream](row{Key: "timeout", Doc: "how long a request may take to the last byte of its answer, 30s when left out", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
		table.Of[Upstream](row{Key: "connections", Doc: "how many requests it gets at once, 256 when left out; others wait in order, within the timeout", Kinds: table.Numbers, Min: 1, Max: maxConnections}),
		table.With(row{Key: "headers", Doc: "headers that are set in requests, name: value; null leaves one out", Kinds: table.Maps, Name: headerName, Value: upstreamHeader}, setUpstreamHeaders),
		table.Of[Upstream](row{Key: "host", Doc: "the Host of requests: own (the default) is that of the url, pass that of the client", Kinds: table.Texts, Enum: []string{HostOwn, HostPass}}),
		table.Of[Upstream](row{Key: "insecure", Doc: "true does not verify its TLS certificate", Kinds: table.Bools}),
		table.Map[Upstream](row{Key: "record", Doc: "records what it is asked and answers; nothing when left out"}, recordFields),
	}
	recordFields = []table.Field[Record]{
		table.Of[Record](row{Key: "to", Doc: "the directory of the recordings", Required: true, Kinds: table.Texts, Filled: true}),
		table.Of[Record](row{Key: "mode", Doc: "all (the default), or missing, which answers from what is recorded and asks for the rest", Kinds: table.Texts, Enum: []string{RecordAll, RecordMissing}}),
		table.Of[Record](row{Key: "if", Doc: "the condition under which a request is recorded", Kinds: table.Scalars | table.Nulls}),
		table.Of[Record](row{Key: "sample", Doc: "keep the bodies of one of this many requests, 1 when left out; times and statuses are kept of all", Kinds: table.Numbers, Min: 1, Max: maxSample}),
		table.With(row{Key: "bodies", Doc: "the largest body that is kept, 1MiB when left out; of larger ones the length and a hash", Kinds: table.Texts | table.Numbers, Form: "a size of at most 64MiB, such as 256KiB"},
			setBodies),
		table.With(row{Key: "limit", Doc: "how much is written before bodies are left out, 1GiB when left out", Kinds: table.Texts | table.Numbers, Form: flags.SizeForm},
			func(d *decoder, v value, r *Record) { decodeSize(d, v, &r.Limit) }),
		table.Map[Record](row{Key: "redact", Doc: "values that are replaced, in addition to headers that hold secrets"}, redactFields),
	}
	redactFields = []table.Field[Redact]{
		table.With(row{Key: "headers", Doc: "names of headers", Kinds: table.Lists, Item: &row{Kinds: table.Texts, Pattern: tokenPattern, Form: "the name of a header"}}, setRedactedHeaders),
		table.With(row{Key: "json", Doc: "members of JSON bodies, such as card.number", Kinds: table.Lists, Item: &row{Kinds: table.Texts, Filled: true}},
			func(d *decoder, v value, r *Redact) { r.JSON = decodeTexts(d, v) }),
		table.With(row{Key: "query", Doc: "parameters of the query, and fields of forms", Kinds: table.Lists, Item: &row{Kinds: table.Texts, Filled: true}},
			func(d *decoder, v value, r *Redact) { r.Query = decodeTexts(d, v) }),
	}
	proxyFields = []table.Field[Proxy]{
		table.Of[Proxy](row{Key: "to", Doc: "the name of an upstream", Required: true, Kinds: table.Texts, Filled: true}),
		table.Of[Proxy](row{Key: "path", Doc: "the path to ask for, with its query; that of the request when left out", Kinds: table.Texts, Filled: true}),
		table.Of[Proxy](row{Key: "when", Doc: "always (the default), or missing: only if the external body or a row that is found is missing", Kinds: table.Texts, Enum: []string{ProxyAlways, ProxyMissing}}),
		table.Of[Proxy](row{Key: "forwarded", Doc: "true sends X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto", Kinds: table.Bools}),
	}
	proxyField = table.With(row{Key: "proxy", Doc: "passes the request on to an upstream", Kinds: table.Texts | table.Maps, Filled: true,
		Form: "the name of an upstream, or a map with to", Table: table.Rows(proxyFields)}, setProxy)
)

func setUpstream(d *decoder, v value, into *item) {
	u := &Upstream{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, upstreamFields, u)
	into.upstream = u
}

// UpstreamFault returns why a text cannot be the URL of an upstream; "" if it can.
func UpstreamFault(url string) string {
	if what := address.URLFault([]byte(url)); what != "" {
		return "is not a valid URL: " + what
	}
	rest := url[strings.Index(url, "://")+len("://"):]
	switch authority, _, _ := strings.Cut(rest, "/"); {
	case strings.Contains(authority, "@"):
		return "has a user; expected it in headers, as Authorization"
	case strings.Contains(rest, "?"):
		return "has a query; expected " + upstreamForm
	case strings.Contains(rest, "#"):
		return "has a fragment; expected " + upstreamForm
	}
	return ""
}

func setUpstreamURL(d *decoder, v value, u *Upstream) {
	if what := UpstreamFault(v.Text.Value); what != "" {
		d.About(v, "%s", what)
		return
	}
	u.URL = v.AsText()
}

// setUpstreamHeaders decodes the headers that are set, and those that are left out.
func setUpstreamHeaders(d *decoder, v value, u *Upstream) {
	canonicalNames(d, v)
	seen := map[string]bool{}
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		one := v.Part(e.Value, "."+wording.Label(name), v.Row.Value)
		lower := strings.ToLower(name)
		switch {
		case !isToken(name):
			d.About(value{Node: e.Key, Key: one.Key}, "%q is not a header name; letters, digits and !#$%%&'*+-.^_`|~ are accepted", wording.Clip(name))
			continue
		case ProxySets(name):
			d.About(value{Node: e.Key, Key: one.Key}, "the server writes this header itself%s", hostHint(lower))
			continue
		case seen[lower]:
			d.About(value{Node: e.Key, Key: one.Key}, "is the same header in another case; several values of one header are a list")
			continue
		}
		seen[lower] = true
		if one.Kind == syntax.NullNode {
			u.Without = append(u.Without, name)
			continue
		}
		all := []value{one}
		if one.Kind == syntax.ListNode {
			all = one.Parts()
		}
		for _, part := range all {
			if !d.Take(part) {
				continue
			}
			text := part.AsText()
			if i := strings.IndexFunc(text.Value, inHeaderForbidden); i >= 0 {
				d.About(part, "the control character %q cannot stand in a header", text.Value[i])
				continue
			}
			u.Headers = append(u.Headers, Header{Name: name, Value: text})
		}
	}
}

func hostHint(lower string) string {
	if lower == "host" {
		return "; expected host: own or host: pass of the upstream"
	}
	return ""
}

func setProxy(d *decoder, v value, r *Response) {
	p := &Proxy{Pos: v.Pos(), Key: v.Key}
	r.Proxy = p
	if v.Kind == syntax.MapNode {
		table.Fill(d, v.Node, v.Key, proxyFields, p)
		return
	}
	if p.To = v.AsText(); p.To.Value == "" {
		d.Refuse(v)
	}
}

// setBodies decodes the size of the largest body.
func setBodies(d *decoder, v value, r *Record) {
	if decodeSize(d, v, &r.Bodies); r.Bodies > MaxBodies {
		r.Bodies = 0
		d.Refuse(v)
	}
}

func setRedactedHeaders(d *decoder, v value, r *Redact) {
	for _, one := range v.Parts() {
		switch {
		case !d.Take(one):
		case !isToken(one.Text.Value):
			d.Refuse(one)
		default:
			r.Headers = append(r.Headers, one.Text.Value)
		}
	}
}

// decodeTexts returns the texts of a list.
func decodeTexts(d *decoder, v value) []string {
	var all []string
	for _, t := range memberNames(d, v) {
		all = append(all, t.Value)
	}
	return all
}

// proxy checks the proxy of the response at the given keys.
func (c *checker) proxy(r *Response, at []string) {
	p := r.Proxy
	if p == nil {
		return
	}
	found := r.External != nil || len(c.Find) > 0
	switch {
	case p.When == ProxyMissing && !found:
		c.wrong("when: missing needs an external-body, or find of the endpoint, that may have nothing", below(at, "proxy", "when")...)
	case p.When == ProxyMissing:
	case r.External != nil:
		c.wrong(table.BothGiven("proxy", "external-body")+", or when: missing in proxy", below(at, "external-body")...)
	case r.declaresBody():
		c.wrong(table.BothGiven("proxy", "body"), below(at, "body")...)
	case r.Status != 0:
		c.wrong("status and proxy are both given; the status is that of the upstream's answer", below(at, "status")...)
	}
	if path := p.Path.Value; path != "" && path[0] != '/' && !strings.HasPrefix(path, "{{") && !strings.HasPrefix(path, "{%") {
		c.wrong(fmt.Sprintf("%q does not begin with /", wording.Clip(path)), below(at, "proxy", "path")...)
	} else if i := strings.IndexAny(path, "# "); i >= 0 && !strings.Contains(path, "{") {
		c.wrong(fmt.Sprintf("%q cannot stand in a path that is asked for", path[i]), below(at, "proxy", "path")...)
	}
}

// method checks what only some endpoints may have as their method.
func (c *checker) method() {
	if c.Method != MethodAny || c.faulty([]string{"path"}) {
		return
	}
	for _, r := range c.Answers() {
		if r.Proxy != nil {
			return
		}
	}
	if !strings.Contains(c.Path.Value, "/*") {
		c.wrong("any is for endpoints with a proxy, and for paths that end in a catch-all such as /*rest", "method")
	}
}

// addUpstream adds the upstream of a loader, and the endpoint that passes everything else on to it.
func (s *Spec) addUpstream(url string) {
	if url == "" {
		return
	}
	const flag = "--upstream"
	if what := UpstreamFault(url); what != "" {
		s.Problems = append(s.Problems, syntax.Problem{What: flag + ": " + what})
		return
	}
	text := func(value string) syntax.Text { return syntax.Text{Value: value} }
	s.Upstreams = append(s.Upstreams, Upstream{Pos: syntax.Pos{File: flag}, Key: flag, Name: DefaultUpstream, URL: text(url)})
	s.Endpoints = append(s.Endpoints, Endpoint{
		Pos: syntax.Pos{File: flag}, Key: flag, Method: MethodAny, Path: text("/*rest"),
		Response: Response{Proxy: &Proxy{To: text(DefaultUpstream)}},
	})
}

// checkUpstreams reports upstreams of one name.
func (s *Spec) checkUpstreams() {
	first := map[string]*Upstream{}
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if other := first[u.Name]; other != nil {
			s.Problems = append(s.Problems, syntax.Problem{Pos: u.Pos, Key: u.Key + ".name",
				What: fmt.Sprintf("there is another upstream %q at %s; expected a name of its own", u.Name, other.Pos)})
			continue
		}
		first[u.Name] = u
	}
}

// Effective returns the upstream with the defaults for what is not declared.
func (u *Upstream) Effective() Upstream {
	e := *u
	if e.Timeout == 0 {
		e.Timeout = DefaultUpstreamTimeout
	}
	if e.Connections == 0 {
		e.Connections = DefaultConnections
	}
	if e.Host == "" {
		e.Host = HostOwn
	}
	return e
}

// Fingerprint returns a text that is equal for upstreams with equal declarations, wherever they are.
func (u *Upstream) Fingerprint() string {
	p := printer{hash: sha256.New(), seen: map[uintptr]bool{}}
	p.print(reflect.ValueOf(*u))
	return string(p.hash.Sum(nil)) + u.Dir
}
