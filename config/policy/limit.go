package policy

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// RateLimit limits how many requests with the same key an endpoint answers in a window.
type RateLimit struct {
	Pos       syntax.Pos
	Key       string
	Algorithm string        // one of LimitAlgorithms; "" means the first
	Window    time.Duration // 0 means DefaultWindow
	Max       int           `key:"max-requests"` // requests in a window; 0 means DefaultMaxRequests
	// By says how clients are distinguished: "remote-addr" (also ""), "host", the name of a header,
	// "header-params.X", "query-params.x" or "path-params.x".
	By string `key:"key-fn"`
}

// LimitAlgorithms are the algorithms for counting, the default first. The slice must not be
// modified.
var LimitAlgorithms = []string{"sliding-window", "fixed-window", "token-bucket"}

// Capacity limits how many requests of an endpoint are served concurrently, and how many wait in a
// queue. Further requests are answered with 503.
type Capacity struct {
	Concurrent int // above 0
	Queue      int // 0 lets none wait
}

// Defaults of rate limits.
const (
	DefaultWindow      = 15 * time.Minute
	DefaultMaxRequests = 100
)

const (
	maxWindow     = 365 * 24 * time.Hour
	maxMost       = 1_000_000_000 // requests per window
	maxLogged     = 1_000_000     // requests that a sliding window stores individually
	maxConcurrent = 1_000_000     // the same limit applies to waiting requests
)

// keyForm describes the accepted keys of clients.
const keyForm = "remote-addr, host, the name of a header, header-params.x, query-params.x or path-params.x"

var rateLimitFields = []table.Field[RateLimit]{
	table.Of[RateLimit](table.Row{Key: "max-requests", Doc: "how many requests of one key are answered in a window; 100 by default", Kinds: table.Numbers, Min: 1, Max: maxMost}),
	table.Of[RateLimit](table.Row{Key: "window", Unless: "window-ms", Doc: "how long the window is; 15m by default", Kinds: table.Texts, Length: table.UnitAboveZero, Most: maxWindow}),
	table.Of[RateLimit](table.Row{Key: "window-ms", Of: "window", Doc: "window in milliseconds", Kinds: table.Numbers, Length: table.MillisAboveZero, Most: maxWindow}),
	table.Of[RateLimit](table.Row{Key: "key-fn", Doc: "what distinguishes clients: remote-addr (the default), host, a header, or header-params.x, query-params.x, path-params.x",
		Kinds: table.Texts, Filled: true, Pattern: keyPattern, Form: keyForm}), // checked later, because its validity may depend on the path
	table.Of[RateLimit](table.Row{Key: "algorithm", Doc: "how requests are counted: sliding-window (the default), fixed-window or token-bucket", Kinds: table.Texts, Enum: LimitAlgorithms}),
}

var capacityFields = []table.Field[Capacity]{
	table.Of[Capacity](table.Row{Key: "concurrent", Doc: "how many requests are served at once", Required: true, Kinds: table.Numbers, Min: 1, Max: maxConcurrent}),
	table.Of[Capacity](table.Row{Key: "queue", Doc: "how many more may wait, in order of arrival, 0 by default; any others are answered with 503", Kinds: table.Numbers, Min: 0, Max: maxConcurrent}),
}

// keyPattern matches the keys that limitKeyFault accepts, and few other texts.
const keyPattern = `^((query|path)-params\..+|(header-params\.)?[A-Za-z0-9!#$%&'*+.^_` + "`" + `|~-]+)$`

func (l *RateLimit) replies() []Reply {
	return []Reply{{http.StatusTooManyRequests, "the rate limit is exceeded"}}
}

func (l *RateLimit) varies(int) string {
	return fmt.Sprintf("its rate-limit answers 429 to more than %s in %v",
		wording.Count(cmp.Or(l.Max, DefaultMaxRequests), "request"), cmp.Or(l.Window, DefaultWindow))
}

func (l *RateLimit) check(c *table.Checker, path string, at []string) {
	if l.Max > maxLogged && (l.Algorithm == "" || l.Algorithm == LimitAlgorithms[0]) {
		c.Wrong(fmt.Sprintf("%d requests in a window; expected 1 to %d with %s, or another algorithm: %s or %s",
			l.Max, maxLogged, LimitAlgorithms[0], LimitAlgorithms[1], LimitAlgorithms[2]), table.Below(at, "max-requests")...)
	}
	what, warning := limitKeyFault(l.By, path)
	if key := table.Below(at, "key-fn"); warning {
		c.Warn(what, key...)
	} else {
		c.Wrong(what, key...)
	}
}

// limitKeyFault returns what is wrong or doubtful about the key that distinguishes clients.
func limitKeyFault(by, path string) (what string, warning bool) {
	prefix, name, dotted := strings.Cut(by, ".")
	switch {
	case by == "":
		return "", false
	case !dotted:
		if !semantics.IsToken(by) {
			return fmt.Sprintf("%q is not a header name; expected %s", wording.Clip(by), keyForm), false
		}
		const address = "remote-addr"
		if by == "ip" || by != address && wording.Nearest(by, []string{address}) != "" {
			return fmt.Sprintf("%q is read as the name of a header (did you mean %q?)", wording.Clip(by), address), true
		}
		return "", false
	case !slices.Contains([]string{"header-params", "query-params", "path-params"}, prefix):
		hint := wording.DidYouMean(prefix, []string{"header-params", "query-params", "path-params"})
		return fmt.Sprintf("%q does not identify a client%s; expected %s", wording.Clip(by), hint, keyForm), false
	case name == "":
		return fmt.Sprintf("%q has no name after the dot; expected %s", wording.Clip(by), keyForm), false
	case prefix == "header-params" && !semantics.IsToken(name):
		return fmt.Sprintf("%q is not a header name; expected letters, digits and !#$%%&'*+-.^_`|~", wording.Clip(name)), false
	case prefix == "path-params":
		return pathParamFault(name, path), false
	}
	return "", false
}

// pathParamFault returns the error message for a parameter that a path does not declare.
func pathParamFault(name, path string) string {
	declared := address.PathParams(path)
	switch {
	case slices.Contains(declared, name):
		return ""
	case len(declared) == 0:
		return fmt.Sprintf("the path has no parameter %q: it declares no parameters", wording.Clip(name))
	}
	for i := range declared {
		declared[i] = wording.Clip(declared[i])
	}
	return fmt.Sprintf("the path has no parameter %q%s; it has %s", wording.Clip(name), wording.DidYouMean(name, declared), strings.Join(declared, ", "))
}

func (p *Capacity) replies() []Reply {
	return []Reply{{http.StatusServiceUnavailable, "more requests wait than the capacity allows"}}
}

func (p *Capacity) varies(connections int) string {
	most := p.Concurrent + p.Queue
	if most >= connections {
		return ""
	}
	return fmt.Sprintf("its capacity has room for %s, and answers 503 to others of %d connections; use --connections %d or fewer",
		wording.Count(most, "request"), connections, most)
}

func (p *Capacity) check(*table.Checker, string, []string) {}
