// Package curl makes endpoints from the curl commands in a script, such as the commands that
// browsers copy. A command does not show the response, so each endpoint has an empty one to be
// filled in.
package curl

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// Recognizes reports whether a source is a script whose first command is curl.
func Recognizes(s *draft.Source) bool {
	for line := range strings.SplitSeq(string(s.Head), "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "$ "))
		if line != "" && line[0] != '#' {
			return line == "curl" || strings.HasPrefix(line, "curl ") || strings.HasPrefix(line, "curl\\")
		}
	}
	return false
}

// request is a request that a command sends.
type request struct {
	pos    syntax.Pos
	method string
	url    *url.URL
	header []draft.Field
	body   []string
	why    []string // what is unknown about it, for the report
}

// Read adds an endpoint for each distinct request that the commands send.
func Read(s *draft.Source, d *draft.Draft, _ draft.Options) error {
	data, err := s.Data()
	if err != nil {
		return err
	}
	all, open := commands(string(data))
	if open != nil {
		return s.Problem(open.line, open.column, "the quote is not closed")
	}
	var requests []*request
	hosts := map[string]bool{}
	for _, words := range all {
		if words[0].text == "$" { // a prompt
			words = words[1:]
		}
		if len(words) == 0 || words[0].text != "curl" {
			continue
		}
		for _, r := range parse(s, words, d) {
			requests = append(requests, r)
			hosts[r.url.Hostname()] = true
		}
		if len(requests) > draft.MaxItems {
			return s.Problem(words[0].line, words[0].column, "there are more than %d commands", draft.MaxItems)
		}
	}
	first := map[string]*request{}
	for _, r := range requests {
		r.write(d, first, len(hosts) > 1)
	}
	return nil
}

// valued are the options of curl that take a value, except for those that parse handles.
var valued = strings.Fields(`-A --user-agent -e --referer -o --output -x --proxy -m --max-time -w --write-out -c --cookie-jar -r --range
	-C --continue-at -E --cert -K --config -U --proxy-user -y --speed-time -Y --speed-limit -z --time-cond -D --dump-header --connect-timeout --retry --retry-delay
	--retry-max-time --cacert --capath --key --cert-type --key-type --resolve --connect-to --interface --limit-rate --max-redirs --ciphers --tls-max --proto --noproxy
	--dns-servers --keepalive-time --oauth2-bearer --aws-sigv4 --unix-socket --abstract-unix-socket --stderr --trace --trace-ascii --output-dir --rate --socks5 --socks4`)

// parse returns the requests of a command: one for each URL.
func parse(s *draft.Source, words []word, d *draft.Draft) []*request {
	r := request{pos: s.Pos(words[0].line, words[0].column)}
	var urls []string
	query := false
	if slices.ContainsFunc(words, func(w word) bool { return w.variable }) {
		r.unknown("it has a variable of the shell, which is taken literally")
	}
	for i := 1; i < len(words); i++ {
		name, value, attached := option(words[i].text)
		takes := func() string {
			if !attached && i+1 < len(words) {
				i++
				value = words[i].text
			}
			return value
		}
		switch name {
		case "":
			urls = append(urls, words[i].text)
		case "--url":
			urls = append(urls, takes())
		case "-X", "--request":
			r.method = strings.ToUpper(takes())
		case "-H", "--header":
			name, value, _ := strings.Cut(takes(), ":")
			r.header = append(r.header, draft.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
		case "-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode":
			r.data(takes(), name)
		case "--json":
			r.data(takes(), name)
			r.header = append(r.header, draft.Field{Name: "Content-Type", Value: "application/json"})
		case "-F", "--form", "--form-string":
			takes()
			r.sends("POST")
		case "-G", "--get":
			query = true
		case "-I", "--head":
			r.sends("HEAD")
		case "-b", "--cookie":
			r.header = append(r.header, draft.Field{Name: "Cookie", Value: takes()})
		case "-u", "--user":
			takes()
		case "-T", "--upload-file":
			takes()
			r.sends("PUT")
		default:
			if slices.Contains(valued, name) {
				takes()
			}
		}
	}
	return r.each(urls, query, d)
}

// option returns the name of an option, and the value that is attached to it, as in --url=x and
// -XPOST. The name is "" for a word that is not an option.
func option(text string) (name, value string, attached bool) {
	switch {
	case len(text) < 2 || text[0] != '-':
		return "", "", false
	case strings.HasPrefix(text, "--"):
		return strings.Cut(text, "=")
	case len(text) > 2 && strings.IndexByte("XHdFbuAeoTxmwcrCEKUyYzD", text[1]) >= 0:
		return text[:2], text[2:], true
	case len(text) > 2: // combined switches, where the last one may take a value: -sX
		if i := strings.IndexAny(text, "IG"); i > 0 {
			return "-" + text[i:i+1], "", false
		}
		return "-" + text[len(text)-1:], "", false
	}
	return text, "", false
}

func (r *request) unknown(why string) {
	if !slices.Contains(r.why, why) {
		r.why = append(r.why, why)
	}
}

// sends sets the method that an option implies, unless a method is already set.
func (r *request) sends(method string) {
	if r.method == "" {
		r.method = method
	}
}

func (r *request) data(value, option string) {
	if strings.HasPrefix(value, "@") && option != "--data-raw" {
		r.unknown("its body is in the file " + value[1:])
		value = ""
	}
	r.body = append(r.body, value)
}

// each returns a request for each URL. It reports as lost the URLs and methods that cannot be
// served, and a command without a URL.
func (r *request) each(urls []string, query bool, d *draft.Draft) []*request {
	var all []*request
	for _, text := range urls {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			d.Lost(r.pos, wording.Clip(text), "is not an http or https URL")
			continue
		}
		one := *r
		one.url = u
		if query && len(r.body) > 0 {
			u.RawQuery = strings.Trim(u.RawQuery+"&"+strings.Join(r.body, "&"), "&")
			one.body = nil
		}
		if one.method == "" && one.body != nil {
			one.method = "POST"
		}
		one.sends("GET")
		if !slices.Contains(semantics.Methods, one.method) {
			d.Lost(r.pos, wording.Clip(one.method+" "+text), "the method %s is not served", wording.Clip(one.method))
			continue
		}
		all = append(all, &one)
	}
	if len(urls) == 0 {
		d.Lost(r.pos, "curl", "the command has no URL")
	}
	return all
}

// write adds the endpoint of a request, unless an earlier request has the same host, method and
// path.
func (r *request) write(d *draft.Draft, first map[string]*request, hosts bool) {
	path := language.LiteralPath(r.url.EscapedPath()).String()
	name := r.method + " " + path
	id := r.url.Hostname() + " " + name
	if before := first[id]; before != nil {
		why := fmt.Sprintf("is answered as in line %d", before.pos.Line) // not by the last declaration
		d.Items = append(d.Items, draft.Item{Kind: draft.Approximate, Pos: r.pos, Name: wording.Clip(name), Why: why})
		return
	}
	first[id] = r
	e := syntax.NewMap()
	if r.method != "GET" {
		e.Set("method", draft.Of(r.method))
	}
	e.Set("path", draft.Of(path))
	if host := strings.ToLower(r.url.Hostname()); hosts && address.NameFault(host) == "" {
		e.Set("host", draft.Of(host))
	}
	if query := r.url.Query(); len(query) > 0 {
		documented := syntax.NewMap()
		for _, name := range slices.Sorted(maps.Keys(query)) {
			if name != "" {
				documented.Set(string([]rune(name)), draft.Of("string")) // names need not be UTF-8
			}
		}
		if documented.Len() > 0 {
			e.Set("query", documented)
		}
	}
	e.SetText("body", strings.Join(r.body, "&"))
	e.Set("response", draft.Comment(draft.NewMap("status", 200), "the command does not show the answer"))
	d.Add("endpoint", e)
	d.Report(r.pos, wording.Clip(name), append([]string{"the command does not show the answer"}, r.why...)...)
	d.Asks = append(d.Asks, draft.Ask{Pos: r.pos, Name: name, Method: r.method, Target: r.url.RequestURI(), Host: r.url.Hostname(), Header: r.header, Body: []byte(strings.Join(r.body, "&"))})
}
