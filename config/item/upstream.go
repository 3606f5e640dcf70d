package item

import (
	"cmp"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// Upstream is another server that requests can be passed on to.
type Upstream struct {
	Pos syntax.Pos
	Key string // "[3].upstream"
	Dir string // the directory in which relative directories of recordings are looked up; "" is the working directory

	Name        string      // unique
	URL         syntax.Text // http or https, without user, query and fragment; its path precedes the path of requests
	Timeout     time.Duration
	MaxDuration time.Duration // of a streamed answer
	Connections int           // 0 means DefaultConnections
	Headers     []Header      // set in requests; may contain placeholders, which can use the request
	Without     []string      // headers that are left out of requests
	Host        string        // HostOwn (also "") or HostPass
	Insecure    bool          // TLS certificates are not verified
	Record      *Record       // nil records nothing
}

// The values of the keys of upstreams, and their defaults.
const (
	HostOwn  = "own"
	HostPass = "pass"

	DefaultUpstream        = "default" // the name of the upstream of Loader.Upstream
	DefaultUpstreamTimeout = 30 * time.Second
	DefaultMaxDuration     = time.Hour
	DefaultConnections     = 256

	maxConnections = 65535
	upstreamForm   = "an http or https URL without user, query and fragment, such as https://api.example.com/v2"
)

// upstreamHeader describes the accepted values of a header of an upstream.
var upstreamHeader = &table.Row{Kinds: table.Scalars | table.Lists | table.Nulls, Pattern: headerPattern, Item: headerValue.Item}

var upstreamFields = []table.Field[Upstream]{
	table.Of[Upstream](table.Row{Key: "name", Doc: "the name by which endpoints refer to it", Required: true, Kinds: table.Texts, Pattern: dataNamePattern, Form: dataNameForm, Is: isDataName}),
	table.With(table.Row{Key: "url", Doc: "the URL of the server; its path precedes the path of requests", Required: true, Kinds: table.Texts, Form: upstreamForm, Pattern: `^[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7F/?#:@]`},
		setUpstreamURL),
	table.Of[Upstream](table.Row{Key: "timeout", Doc: "how long a request may take, up to the last byte of its answer; up to its head, and then between two pieces, if the answer is streamed; 30s by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Of[Upstream](table.Row{Key: "max-duration", Doc: "how long a streamed answer may take, up to its last byte; 1h by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Of[Upstream](table.Row{Key: "connections", Doc: "how many requests it gets at once, 256 by default; others wait in order, within the timeout", Kinds: table.Numbers, Min: 1, Max: maxConnections}),
	table.With(table.Row{Key: "headers", Doc: "headers that are set in requests, name: value; null leaves one out", Kinds: table.Maps, Name: headerName, Value: upstreamHeader}, setUpstreamHeaders),
	table.Of[Upstream](table.Row{Key: "host", Doc: "the Host of requests: own (the default) for the host of the url, or pass for the client's", Kinds: table.Texts, Enum: []string{HostOwn, HostPass}}),
	table.Of[Upstream](table.Row{Key: "insecure", Doc: "true skips the verification of its TLS certificate", Kinds: table.Bools}),
	table.Map[Upstream](table.Row{Key: "record", Doc: "records requests and answers; nothing by default"}, recordFields),
}

// UpstreamFault returns the reason why a text cannot be the URL of an upstream; "" if it can.
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

func setUpstreamURL(d *table.Decoder, v table.Value, u *Upstream) {
	if what := UpstreamFault(v.Text.Value); what != "" {
		d.About(v, "%s", what)
		return
	}
	u.URL = v.AsText()
}

// setUpstreamHeaders decodes the headers that are set and those that are left out.
func setUpstreamHeaders(d *table.Decoder, v table.Value, u *Upstream) {
	canonicalNames(d, v)
	seen := map[string]bool{}
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		one := v.Part(e.Value, "."+wording.Label(name), v.Row.Value)
		lower := strings.ToLower(name)
		switch {
		case !semantics.IsToken(name):
			d.About(table.Value{Node: e.Key, Key: one.Key}, "%q is not a header name; expected letters, digits and !#$%%&'*+-.^_`|~", wording.Clip(name))
			continue
		case semantics.ProxySets(name):
			what := "the server writes this header itself"
			if lower == "host" {
				what += "; expected host: own or host: pass of the upstream"
			}
			d.About(table.Value{Node: e.Key, Key: one.Key}, "%s", what)
			continue
		case seen[lower]:
			d.About(table.Value{Node: e.Key, Key: one.Key}, "is the same header in another case; write several values as a list")
			continue
		}
		seen[lower] = true
		if one.Kind == syntax.NullNode {
			u.Without = append(u.Without, name)
			continue
		}
		all := []table.Value{one}
		if one.Kind == syntax.ListNode {
			all = one.Parts()
		}
		for _, part := range all {
			if !d.Take(part) {
				continue
			}
			text := part.AsText()
			if i := strings.IndexFunc(text.Value, semantics.ForbiddenInValue); i >= 0 {
				d.About(part, "the control character %q is not allowed in a header", text.Value[i])
				continue
			}
			u.Headers = append(u.Headers, Header{Name: name, Value: text})
		}
	}
}

// Effective returns the upstream with the defaults for what is not declared.
func (u *Upstream) Effective() Upstream {
	e := *u
	e.Timeout = cmp.Or(e.Timeout, DefaultUpstreamTimeout)
	e.MaxDuration = cmp.Or(e.MaxDuration, DefaultMaxDuration)
	e.Connections = cmp.Or(e.Connections, DefaultConnections)
	e.Host = cmp.Or(e.Host, HostOwn)
	return e
}

// Fingerprint returns a text that is the same for upstreams with equal declarations in files of the
// same directory.
func (u *Upstream) Fingerprint() string {
	return Digest(*u) + u.Dir
}
