package config

import (
	"fmt"
	"slices"
	"strconv"

	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/wording"
)

// item is one item of the document.
type item struct {
	endpoint *Endpoint
	socket   *WebSocket
}

// What the names and values of headers are.
var (
	headerName  = &row{kinds: texts, pattern: tokenPattern}
	headerValue = &row{kinds: scalars | lists, pattern: headerPattern, item: &row{kinds: scalars, pattern: headerPattern}}
)

// The tables of the language: every key of every map. Those of webhooks are in
// webhook.go.
var (
	itemFields = []field[item]{
		{row{key: "endpoint", doc: "a method and path, and what it answers", kinds: maps, table: rowsOf(endpointFields)}, setEndpoint},
		{row{key: "websocket", doc: "a path that becomes a WebSocket connection, and what is said on it", kinds: maps, table: rowsOf(webSocketFields)}, setWebSocket},
	}
	endpointFields = []field[Endpoint]{
		fieldOf[Endpoint](row{key: "method", doc: "the request's method, GET when left out", kinds: texts, enum: Methods, anyCase: true}),
		fieldOf[Endpoint](row{key: "path", doc: "the path to answer, such as /users/:id", required: true, kinds: texts, pattern: "^/"}),
		{row{key: "host", doc: "the host to answer for, any when left out", kinds: texts, form: address.NameForm, pattern: address.NamePattern}, setHost},
		fieldOf[Endpoint](row{key: "if", doc: "the condition under which the endpoint answers", kinds: scalars | nulls}),
		{row{key: "response", doc: "the answer; {} is an empty one with status 200", required: true, unless: "responses", kinds: maps, table: rowsOf(responseFields)},
			setResponse},
		{row{key: "responses", doc: "several answers, of which each request gets one", kinds: lists, form: "a list of answers, each a map of its own,", item: &row{kinds: maps, table: rowsOf(outcomeFields)}}, setResponses},
		fieldOf[Endpoint](row{key: "select", doc: "how one of responses is chosen: weighted (the default), sequence or sequence-hold", kinds: texts, enum: selects}),
		{row{key: "latency", doc: "the time from the request to the answer", kinds: maps, form: "a map with " + latencyForms, table: rowsOf(latencyFields)},
			func(d *decoder, v value, e *Endpoint) { e.Latency = d.latency(v) }},
		{row{key: "fault", doc: "how answers go wrong", kinds: maps, form: "a map with type and rate", table: rowsOf(faultFields)},
			func(d *decoder, v value, e *Endpoint) { e.Fault = d.fault(v) }},
		{row{key: "rate-limit", doc: "how many requests are answered in a window; {} is 100 in 15 minutes for each address", kinds: maps, form: "a map with max-requests and window", table: rowsOf(rateLimitFields)}, setRateLimit},
		{row{key: "capacity", doc: "how many requests are served at once, and how many wait", kinds: maps, form: "a map with concurrent and queue", table: rowsOf(capacityFields)}, setCapacity},
		{row{key: "webhook", doc: "a request of the server's own, some time after the answer", kinds: maps, table: rowsOf(webhookFields)}, setWebhook},
		{row{key: "webhooks", doc: "several of them", kinds: lists, item: &row{kinds: maps, table: rowsOf(webhookFields)}}, setWebhooks},
		{row{key: "query", doc: "documents the query parameters, name: type", kinds: maps | nulls,
			value: &row{kinds: scalars, form: "the name of a type"}}, setQuery},
		{row{key: "body", doc: "documents the request's body by an example", kinds: anything}, setExample},
		{row{key: "tag", doc: "documents what the endpoint belongs to", kinds: texts | lists | nulls, item: &row{kinds: texts}}, setTags},
		fieldOf[Endpoint](row{key: "summary", doc: "documents the endpoint in a line", kinds: scalars | nulls}),
		fieldOf[Endpoint](row{key: "description", doc: "documents the endpoint at length", kinds: scalars | nulls}),
		fieldOf[Endpoint](row{key: "router-name", doc: "documents the endpoint's name", kinds: scalars | nulls}),
	}
	responseFields = []field[Response]{
		fieldOf[Response](row{key: "status", doc: "the status, 200 when left out", kinds: numbers, min: minStatus, max: maxStatus}),
		{row{key: "headers", doc: "the headers, name: value, or a list of values", kinds: maps, name: headerName, value: headerValue},
			func(d *decoder, v value, r *Response) { r.Headers = d.headers(v) }},
		{row{key: "body", doc: "the body: a text, or a map or list that is served as JSON", kinds: bodies},
			func(d *decoder, v value, r *Response) { r.Body, r.BodyJSON = d.body(v, r.Raw) }},
		{row{key: "external-body", doc: "a body that lives elsewhere, instead of body", kinds: maps, table: rowsOf(externalFields)}, setExternal},
		{row{key: "template", doc: "false switches placeholders off", kinds: bools},
			func(_ *decoder, v value, r *Response) { r.Raw = !v.Truth() }},
	}
	externalFields = []field[ExternalBody]{
		fieldOf[ExternalBody](row{key: "provider", doc: "json or xlsx", required: true, kinds: texts, enum: providers}),
		fieldOf[ExternalBody](row{key: "path", doc: "the file, or for json an http or https URL", required: true, kinds: texts, filled: true}),
		fieldOf[ExternalBody](row{key: "sheet-name", doc: "the sheet of the workbook", kinds: scalars}),
		fieldOf[ExternalBody](row{key: "timeout", doc: "how long one fetch of a URL may take, 10s when left out", kinds: texts | numbers, length: aboveZero}),
		fieldOf[ExternalBody](row{key: "ttl", doc: "how long a copy of a URL is served without asking again", kinds: texts | numbers, length: fromZero}),
		fieldOf[ExternalBody](row{key: "stale-if-error", doc: "true serves the last good copy when a URL fails", kinds: bools}),
		fieldOf[ExternalBody](row{key: "insecure", doc: "true does not verify the TLS certificate of a URL", kinds: bools}),
	}
)

// decodeFile decodes the documents of one file into s and checks their endpoints.
// Known is how many mistakes its reader has found.
func (s *Spec) decodeFile(docs []*syntax.Node, dir string, known int) {
	count := 0
	for _, doc := range docs {
		count += len(doc.Items)
	}
	s.Endpoints = slices.Grow(s.Endpoints, count)
	d := decoder{Collector: syntax.Collector{ErrorCount: known}}
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
			d.reported = nil
			s.keep(d.item(n, "["+strconv.Itoa(index)+"]"), dir, d.reported == nil)
			index++
		}
	}
	s.Problems = append(s.Problems, d.Problems...)
}

// keep adds what an item declares, to what is served if it is sound.
func (s *Spec) keep(it item, dir string, sound bool) {
	if it.endpoint != nil {
		it.endpoint.Dir = dir
	}
	switch {
	case it.endpoint != nil && sound:
		s.Endpoints = append(s.Endpoints, *it.endpoint)
	case it.endpoint != nil:
		s.Broken = append(s.Broken, *it.endpoint)
	case it.socket != nil && sound:
		s.WebSockets = append(s.WebSockets, *it.socket)
	case it.socket != nil:
		s.BrokenWebSockets = append(s.BrokenWebSockets, *it.socket)
	}
}

// notAList says what a document is that is no list of endpoints. A document that
// holds nothing, as between two ---, is none.
func notAList(doc *syntax.Node) syntax.Problems {
	hints := hintsOf(doc.Pos().File)
	what := fmt.Sprintf("the document is %s; %s", doc.Shown(), hints.list)
	switch {
	case doc.Kind == syntax.NullNode || doc.Faulty: // the latter is said
		return nil
	case doc.Get("endpoint") != nil || doc.Get("websocket") != nil:
		what = "the document is a map; " + hints.single
	case lacksVersion(doc):
		what = noVersion
	}
	return syntax.Problems{{Pos: doc.Pos(), What: what}}
}

// item decodes one item, as far as it can be; an empty one when it is none.
func (d *decoder) item(n *syntax.Node, key string) item {
	if n.Kind != syntax.MapNode || len(n.Entries) == 0 {
		what := n.Shown()
		if n.Kind == syntax.MapNode {
			what = "an empty map"
		}
		d.about(value{Node: n, key: key}, "is %s; a map with one key, endpoint or websocket, is accepted", what)
		return item{}
	}
	first := n.Entries[0]
	if second := n.Entries[len(n.Entries)-1].Key; len(n.Entries) > 1 && slices.Contains(keysOf(itemFields), first.Key.Text.Value) {
		if first.Value.Kind == syntax.NullNode {
			second = n.Entries[1].Key
			d.wrong(second.Pos(), key, "%s stands beside %s; "+hintsOf(n.Pos().File).beside, wording.Label(second.Text.Value), first.Key.Text.Value, first.Key.Text.Value)
			return item{}
		}
		if slices.Contains(keysOf(itemFields), second.Text.Value) {
			d.wrong(second.Pos(), key, "%s stands beside %s; an item has one of them", second.Text.Value, first.Key.Text.Value)
			return item{}
		}
	}
	if n.Get("endpoint") == nil && n.Get("websocket") == nil && slices.Contains(keysOf(endpointFields), first.Key.Text.Value) {
		d.wrong(first.Key.Pos(), key, "%s is a key of an endpoint; %s", first.Key.Text.Value, hintsOf(n.Pos().File).bare)
		return item{}
	}
	var it item
	fill(d, n, key, itemFields, &it)
	return it
}

func setEndpoint(d *decoder, v value, into *item) {
	if d.strayWebSocket(v) {
		return
	}
	e := &Endpoint{Pos: v.Pos(), Key: v.key}
	fill(d, v.Node, v.key, endpointFields, e)
	d.finish(e, v.key, v.Node)
	into.endpoint = e
}

// finish checks a decoded endpoint by the rules across its fields, and takes out of its
// answers what the server sets itself.
func (d *decoder) finish(e *Endpoint, key string, n *syntax.Node) {
	for _, p := range check(e, key, n, d.reported) {
		if !p.Warning {
			d.known(p.Key)
		}
		d.Add(p)
	}
	e.Response.dropServerSet()
	for i := range e.Responses {
		e.Responses[i].Response.dropServerSet()
	}
}

// strayWebSocket says of a WebSocket that was put into an endpoint, or written as one,
// where it belongs, and tells whether there is one. The rest of such an endpoint is
// not looked at: what it lacks would be beside the point.
func (d *decoder) strayWebSocket(v value) bool {
	for _, e := range v.Entries {
		name, what := e.Key.Text.Value, ""
		switch {
		case name == "websocket":
			what = "a WebSocket is no part of an endpoint"
		case slices.Contains(keysOf(webSocketFields), name) && !slices.Contains(keysOf(endpointFields), name):
			what = "is a key of a WebSocket, which is no endpoint"
		default:
			continue
		}
		d.about(value{Node: e.Key, key: under(v.key, name)}, "%s but an item of its own, %s", what, hintsOf(e.Key.Pos().File).socket)
		return true
	}
	return false
}

func setHost(d *decoder, v value, e *Endpoint) { e.Host = d.host(v) }

// host returns a host in lower case; "" for what is none, which is said.
func (d *decoder) host(v value) string {
	host := changeCase(v.Text.Value, 'A', 'Z')
	if what := address.NameFault(host); what != "" {
		d.about(v, "%s", what)
		return ""
	}
	return host
}

func setResponse(d *decoder, v value, e *Endpoint) {
	e.Response.begin(v)
	fill(d, v.Node, v.key, responseFields, &e.Response)
}

// begin takes what has to be known before the keys of a response are read.
func (r *Response) begin(v value) {
	r.Pos = v.Pos()
	// Whether placeholders are read decides how a body is turned into JSON text.
	if t := v.Get("template"); t != nil && t.Kind == syntax.BoolNode {
		r.Raw = !t.Truth()
	}
}

func (d *decoder) headers(v value) []Header {
	d.canonicalNames(v)
	var headers []Header
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		all := []value{v.part(e.Value, "."+wording.Label(name), v.row.value)}
		if e.Key.Faulty {
			d.known(all[0].key)
		}
		if all[0].Kind == syntax.ListNode {
			if list := all[0]; len(list.Items) == 0 && !list.Faulty {
				d.Add(syntax.Problem{Pos: list.Pos(), Key: list.key, What: "is left out: the list has no value", Warning: true})
			}
			all = all[0].parts()
		}
		for _, one := range all {
			if d.take(one) {
				headers = append(headers, Header{Name: name, Value: one.asText()})
			}
		}
	}
	return headers
}

// body returns a body, and whether it is the JSON text of a map or list. raw tells
// that placeholders in it are none.
func (d *decoder) body(v value, raw bool) (body syntax.Text, isJSON bool) {
	if scalars.has(v.Kind) {
		return v.asText(), false
	}
	return d.json(v, raw), true
}

// json returns the JSON text of a value.
func (d *decoder) json(v value, raw bool) syntax.Text {
	text := v.Node.JSON(raw, func(n *syntax.Node, what string) { d.about(value{Node: n, key: v.key}, "%s", what) })
	text.Key = v.key
	return text
}

func setExternal(d *decoder, v value, r *Response) {
	x := &ExternalBody{Pos: v.Pos(), Key: v.key}
	fill(d, v.Node, v.key, externalFields, x)
	r.External = x
}
