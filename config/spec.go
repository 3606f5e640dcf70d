package config

import (
	"cmp"
	"encoding/hex"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Spec is one configuration as written: the declarations of all its files, in order, and the
// problems found. Load reads one from files, Parse from a text, New makes one from endpoints
// declared in Go, and Join combines several. A Spec is not modified afterwards.
type Spec struct {
	Items
	// Broken are the declarations with an error, as far as they could be decoded. They are never
	// served, and are kept so that further errors in them can be reported.
	Broken Items
	// Problems are the errors and warnings found while reading.
	Problems syntax.Problems

	documents  []*openapi.Document
	referenced []string // files that documents and latencies refer to

	files   []string        // all files, whether they could be read or not, in order
	leftOut []string        // hidden files and subdirectories that were not read; see LeftOut
	read    map[string]bool // the absolute paths already read; nil after loading
	given   *given          // the files that are processed after all files are read
}

// Declared returns how many endpoints and WebSockets the specification declares, as a log
// attribute: endpoints=12 websockets=1.
func (s *Spec) Declared() slog.Attr {
	all := []any{"endpoints", len(s.Endpoints)}
	if n := len(s.WebSockets); n > 0 {
		all = append(all, "websockets", n)
	}
	return slog.Group("", all...)
}

// decodeFile decodes the documents of one file into s and checks their items. known is the number
// of errors that the reader of the file has found.
func (s *Spec) decodeFile(docs []*syntax.Node, dir string, known int) {
	count := 0
	for _, doc := range docs {
		count += len(doc.Items)
	}
	s.Endpoints = slices.Grow(s.Endpoints, count)
	d := &table.Decoder{Hint: foreignHint, Dir: dir, Collector: syntax.Collector{ErrorCount: known}}
	index := 0
	for _, doc := range docs {
		if doc.Kind != syntax.ListNode {
			for _, p := range notAList(doc) {
				d.Add(p)
			}
			continue
		}
		for _, n := range doc.Items {
			if d.Full() {
				break
			}
			d.Reported = nil
			s.keep(item.Decode(d, n, "["+strconv.Itoa(index)+"]"), dir, d.Reported == nil)
			index++
		}
	}
	s.Problems = append(s.Problems, d.Problems...)
	s.referenced = append(s.referenced, d.Files...)
}

// keep adds the declaration of an item, which is served only if it is valid.
func (s *Spec) keep(it item.Decoded, dir string, sound bool) {
	if sound {
		s.Items.add(it, dir)
	} else {
		s.Broken.add(it, dir)
	}
}

// orNone returns s or, if s is nil, a spec with a problem that says so.
func (s *Spec) orNone() *Spec {
	if s != nil {
		return s
	}
	return &Spec{Problems: syntax.Problems{{What: "the spec is nil; config.New() returns one without endpoints"}}}
}

// inRank brings the endpoints into the order in which they answer: the declared ones, then those of
// resources and models, then those of OpenAPI documents.
func (s *Spec) inRank() {
	rank := func(e *item.Endpoint) int {
		switch {
		case e.Operation != nil:
			return 2
		case e.Resource != nil || e.LLM != nil:
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(s.Endpoints, func(a, b item.Endpoint) int { return rank(&a) - rank(&b) }) {
		s.Endpoints = slices.Clone(s.Endpoints)
		slices.SortStableFunc(s.Endpoints, func(a, b item.Endpoint) int { return rank(&a) - rank(&b) })
	}
}

// The parameters in a declared path, with the slash before them, and in a path of a document.
var (
	declaredParameter = regexp.MustCompile(`/:[^/?]*|/\*[^/?]*$`)
	documentParameter = regexp.MustCompile(`\{[^}]*\}`)
)

// parameterValues are values of the types of parameters that do not accept 1.
var parameterValues = map[string]string{
	"bool": "true", "boolean": "true", "date": "2024-01-15", "uuid": "00000000-0000-4000-8000-000000000000",
}

// Routes returns the first endpoints and WebSockets of a spec, such as "GET /users/:id", "GET
// api.example.com/users" or "WebSocket /rooms/:id", and how many more there are. most limits the
// number of routes. With the base URL of a server, those that any host reaches are URLs, such as "GET
// http://127.0.0.1:8000/users/1".
func (s *Spec) Routes(most int, base string) (routes []string, more int) {
	shown := func(host, path string, inDocument bool) string {
		switch {
		case base == "" || host != "":
			return wording.Label(host + path)
		case inDocument:
			return wording.Label(base + documentParameter.ReplaceAllString(path, "1"))
		}
		return wording.Label(base + declaredParameter.ReplaceAllStringFunc(path, func(parameter string) string {
			_, of, _ := strings.Cut(parameter, "|")
			return "/" + cmp.Or(parameterValues[of], "1")
		}))
	}
	more = len(s.Endpoints) + len(s.WebSockets)
	for i := 0; i < len(s.Endpoints) && len(routes) < most; i++ {
		e := &s.Endpoints[i]
		route := wording.Label(e.EffectiveMethod()) + " " + shown(e.Host, e.Path.Value, e.Template)
		if more--; e.LLM == nil || !slices.Contains(routes, route) { // otherwise it has several for a path
			routes = append(routes, route)
		}
	}
	for i := range s.WebSockets[:min(most-len(routes), len(s.WebSockets))] {
		more--
		w := &s.WebSockets[i]
		routes = append(routes, "WebSocket "+shown(w.Host, w.Path.Value, false))
	}
	return routes, more
}

// LeftOut describes the hidden files and the subdirectories that were not read, in one line for
// each directory of the spec.
func (s *Spec) LeftOut() []string { return s.leftOut }

// Referenced returns the files that OpenAPI documents and latencies refer to, whether they could be
// read or not: a change in them changes the spec.
func (s *Spec) Referenced() []string { return slices.Clone(s.referenced) }

// Documents returns the OpenAPI documents that were read without an error.
func (s *Spec) Documents() []*openapi.Document { return s.documents }

// Catalogue returns the names of the webhooks in OpenAPI 3.1 documents.
func (s *Spec) Catalogue() []string {
	var names []string
	for _, d := range s.documents {
		for i := range d.Catalogue {
			names = append(names, d.Catalogue[i].Name)
		}
	}
	return names
}

// Fingerprint returns a hash of what the specification declares. Specifications with the same
// fingerprint answer alike, wherever their declarations are in files. The content of external files
// is not included, because it may change while they are served.
func (s *Spec) Fingerprint() string {
	return hex.EncodeToString([]byte(item.Digest(s.Endpoints, s.WebSockets, s.Data, s.Scenarios, s.Upstreams)))
}
