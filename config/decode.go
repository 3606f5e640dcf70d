package config

import (
	"fmt"
	"slices"
	"strconv"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/wording"
)

// item is one item of the document.
type item struct {
	endpoint *Endpoint
	socket   *WebSocket
	data     *Data
	scenario *Scenario
	upstream *Upstream

	resource   *Resource
	operations []Endpoint // of resource
}

// itemKeys are the keys of items, in messages.
const itemKeys = "endpoint, websocket, data, scenario, resource or upstream"

// What is accepted in the names and values of headers.
var (
	headerName  = &row{Kinds: table.Texts, Pattern: tokenPattern}
	headerValue = &row{Kinds: table.Scalars | table.Lists, Pattern: headerPattern, Item: &row{Kinds: table.Scalars, Pattern: headerPattern}}
)

// The tables of the language: all keys of all maps. Those of webhooks are in webhook.go.
var (
	itemFields = []table.Field[item]{
		table.With(row{Key: "endpoint", Doc: "a method and path, and what it answers", Kinds: table.Maps, Table: table.Rows(endpointFields)}, setEndpoint),
		table.With(row{Key: "websocket", Doc: "a path that becomes a WebSocket connection, and what is said on it", Kinds: table.Maps, Table: table.Rows(webSocketFields)}, setWebSocket),
		table.With(row{Key: "data", Doc: "a set of rows that endpoints find and change", Kinds: table.Maps, Table: table.Rows(dataFields)}, setData),
		table.With(row{Key: "scenario", Doc: "a state that requests see and lead on", Kinds: table.Maps, Table: table.Rows(scenarioFields)}, setScenario),
		table.With(row{Key: "resource", Doc: "a REST collection over a set of rows", Kinds: table.Maps, Table: table.Rows(resourceFields)}, setResource),
		table.With(row{Key: "upstream", Doc: "another server that requests can be passed on to", Kinds: table.Maps, Table: table.Rows(upstreamFields)}, setUpstream),
	}
	endpointFields = []table.Field[Endpoint]{
		table.Of[Endpoint](row{Key: "method", Said: true, Doc: "the request's method, GET when left out; any for proxies and catch-alls", Kinds: table.Texts, Enum: endpointMethods, AnyCase: true}),
		table.Of[Endpoint](row{Key: "path", Said: true, Doc: "the path to answer, such as /users/:id", Required: true, Kinds: table.Texts, Pattern: "^/"}),
		table.With(row{Key: "host", Doc: "the host to answer for, any when left out", Kinds: table.Texts, Form: address.NameForm, Pattern: address.NamePattern},
			func(d *decoder, v value, e *Endpoint) { e.Host = decodeHost(d, v) }),
		table.Of[Endpoint](row{Key: "if", Doc: "the condition under which the endpoint answers", Kinds: table.Scalars | table.Nulls}),
		table.With(row{Key: "find", Doc: "rows of data, by the names that conditions, texts and webhooks use", Kinds: table.Maps, Value: &row{Kinds: table.Maps, Table: table.Rows(findFields)}},
			func(d *decoder, v value, e *Endpoint) { e.Find = decodeFinds(d, v) }),
		table.With(row{Key: "state", Doc: "the states of scenarios in which the endpoint answers", Kinds: table.Maps, Value: stateValue}, setStates),
		table.With(row{Key: "next", Doc: "the states of scenarios that it leads to", Kinds: table.Maps, Value: &row{Kinds: table.Texts, Filled: true}}, setNext),
		table.With(row{Key: "let", Doc: "values that are made once a request, by the names that texts and webhooks use", Kinds: table.Maps, Value: &row{Kinds: table.Anything}}, setLet),
		table.With(row{Key: "do", Doc: "what the endpoint changes, all of it or nothing", Kinds: table.Lists, Item: doItem},
			func(d *decoder, v value, e *Endpoint) { e.Do = decodeDo(d, v) }),
		table.With(row{Key: "response", Said: true, Doc: "the answer; {} is an empty one with status 200", Required: true, Unless: "responses", Kinds: table.Maps, Table: table.Rows(responseFields)},
			setResponse),
		table.With(row{Key: "responses", Doc: "several answers, of which each request gets one", Kinds: table.Lists, Form: "a list of answers, each a map of its own", Item: &row{Kinds: table.Maps, Table: table.Rows(outcomeFields)}}, setResponses),
		table.Of[Endpoint](row{Key: "select", Doc: "how one of responses is chosen: weighted (the default), sequence or sequence-hold", Kinds: table.Texts, Enum: selects}),
		table.Of[Endpoint](row{Key: "per", Doc: "an operand: each value of it has its own turn in a sequence", Kinds: table.Texts, Filled: true}),
		table.Of[Endpoint](row{Key: "scope", Doc: "whose turns a sequence has: replica (the default), or shared for all replicas with the same --shared-state", Kinds: table.Texts, Enum: LimitScopes}),
		table.With(row{Key: "latency", Doc: "the time from the request to the answer", Kinds: table.Maps, Form: "a map with " + latencyForms, Table: table.Rows(latencyFields)},
			func(d *decoder, v value, e *Endpoint) { e.Latency = decodeLatency(d, v) }),
		table.Map[Endpoint](row{Key: "fault", Doc: "how answers go wrong", Form: "a map with type and rate"}, faultFields),
		table.Map[Endpoint](row{Key: "rate-limit", Doc: "how many requests are answered in a window; {} is 100 in 15 minutes for each address", Form: "a map with max-requests and window"}, rateLimitFields),
		table.Map[Endpoint](row{Key: "capacity", Doc: "how many requests are served at once, and how many wait", Form: "a map with concurrent and queue"}, capacityFields),
		table.With(row{Key: "webhook", Unless: "webhooks", Doc: "a request of the server's own, some time after the answer", Kinds: table.Maps, Table: table.Rows(webhookFields)},
			func(d *decoder, v value, e *Endpoint) { addWebhooks(d, &e.Webhooks, v) }),
		table.With(row{Key: "webhooks", Doc: "several of them", Kinds: table.Lists, Item: &row{Kinds: table.Maps, Table: table.Rows(webhookFields)}},
			func(d *decoder, v value, e *Endpoint) { addWebhooks(d, &e.Webhooks, v.Parts()...) }),
		table.With(row{Key: "query", Said: true, Doc: "documents the query parameters, name: type", Kinds: table.Maps | table.Nulls,
			Value: &row{Kinds: table.Scalars, Form: "the name of a type"}}, setQuery),
		table.With(row{Key: "body", Said: true, Doc: "documents the request's body by an example", Kinds: table.Anything}, setExample),
		table.With(row{Key: "tag", Said: true, Doc: "documents what the endpoint belongs to", Kinds: table.Texts | table.Lists | table.Nulls, Item: &row{Kinds: table.Texts}},
			func(d *decoder, v value, e *Endpoint) { e.Doc.Tags = decodeTags(d, v) }),
		table.Of[Endpoint](row{Key: "summary", Said: true, Doc: "documents the endpoint in a line", Kinds: table.Scalars | table.Nulls}),
		table.Of[Endpoint](row{Key: "description", Said: true, Doc: "documents the endpoint at length", Kinds: table.Scalars | table.Nulls}),
		table.Of[Endpoint](row{Key: "router-name", Said: true, Doc: "documents the endpoint's name", Kinds: table.Scalars | table.Nulls}),
	}
	responseFields = []table.Field[Response]{
		table.Of[Response](row{Key: "status", Doc: "the status, 200 when left out", Kinds: table.Numbers, Min: minStatus, Max: maxStatus}),
		table.With(row{Key: "headers", Doc: "the headers, name: value, or a list of values", Kinds: table.Maps, Name: headerName, Value: headerValue},
			func(d *decoder, v value, r *Response) { r.Headers = decodeHeaders(d, v) }),
		table.With(row{Key: "body", Doc: "the body: a text, or a map or list that is served as JSON", Kinds: table.Bodies},
			func(d *decoder, v value, r *Response) { r.Body, r.BodyJSON = decodeBody(d, v, r.Raw) }),
		table.Map[Response](row{Key: "external-body", Doc: "a body that lives elsewhere, instead of body"}, externalFields),
		proxyField,
		table.With(row{Key: "template", Doc: "false switches placeholders off", Kinds: table.Bools},
			func(_ *decoder, v value, r *Response) { r.Raw = !v.Truth() }),
	}
	externalFields = []table.Field[ExternalBody]{
		table.Of[ExternalBody](row{Key: "provider", Doc: "json or xlsx", Required: true, Kinds: table.Texts, Enum: providers}),
		table.Of[ExternalBody](row{Key: "path", Doc: "the file, or for json an http or https URL", Required: true, Kinds: table.Texts, Filled: true}),
		table.Of[ExternalBody](row{Key: "sheet-name", Doc: "the sheet of the workbook", Kinds: table.Scalars}),
		table.Of[ExternalBody](row{Key: "timeout", Doc: "how long one fetch of a URL may take, 10s when left out", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
		table.Of[ExternalBody](row{Key: "ttl", Doc: "how long a copy of a URL is served without asking again", Kinds: table.Texts | table.Numbers, Length: table.FromZero}),
		table.Of[ExternalBody](row{Key: "stale-if-error", Doc: "true serves the last good copy when a URL fails", Kinds: table.Bools}),
		table.Of[ExternalBody](row{Key: "insecure", Doc: "true does not verify the TLS certificate of a URL", Kinds: table.Bools}),
		table.Of[ExternalBody](row{Key: "ca", Doc: "a file with the CAs that an https URL is trusted by, those of the system when left out", Kinds: table.Texts, Filled: true}),
		table.Of[ExternalBody](row{Key: "cert", Doc: "a file with the certificate that is shown to an https URL", Kinds: table.Texts, Filled: true}),
		table.Of[ExternalBody](row{Key: "key", Of: "client-key", Doc: "a file with the key of cert", Kinds: table.Texts, Filled: true}),
	}
)

// decodeFile decodes the documents of one file into s and checks their endpoints. known is the
// number of errors that the reader of the file has found.
func (s *Spec) decodeFile(docs []*syntax.Node, dir string, known int) {
	count := 0
	for _, doc := range docs {
		count += len(doc.Items)
	}
	s.Endpoints = slices.Grow(s.Endpoints, count)
	d := &decoder{Hint: foreignHint, Dir: dir, Collector: syntax.Collector{ErrorCount: known}}
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
			s.keep(decodeItem(d, n, "["+strconv.Itoa(index)+"]"), dir, d.Reported == nil)
			index++
		}
	}
	s.Problems = append(s.Problems, d.Problems...)
	s.referenced = append(s.referenced, d.Files...)
}

// keep adds the declaration of an item; it is served only if it is valid.
func (s *Spec) keep(it item, dir string, sound bool) {
	if it.endpoint != nil {
		it.endpoint.Dir = dir
	}
	switch {
	case it.endpoint != nil && sound:
		s.Endpoints = append(s.Endpoints, *it.endpoint)
	case it.endpoint != nil:
		s.Broken = append(s.Broken, *it.endpoint)
	case it.scenario != nil && sound:
		s.Scenarios = append(s.Scenarios, *it.scenario)
	case it.scenario != nil:
		s.BrokenScenarios = append(s.BrokenScenarios, *it.scenario)
	case it.upstream != nil:
		it.upstream.Dir = dir
		if sound {
			s.Upstreams = append(s.Upstreams, *it.upstream)
		} else {
			s.BrokenUpstreams = append(s.BrokenUpstreams, it.upstream.Name)
		}
	case it.resource != nil:
		s.keepResource(it, dir, sound)
	case it.data != nil:
		it.data.Dir = dir
		if sound {
			s.Data = append(s.Data, *it.data)
		} else {
			s.BrokenData = append(s.BrokenData, *it.data)
		}
	case it.socket != nil && sound:
		s.WebSockets = append(s.WebSockets, *it.socket)
	case it.socket != nil:
		s.BrokenWebSockets = append(s.BrokenWebSockets, *it.socket)
	}
}

// keepResource adds the operations of a resource, and its set if that is its own.
func (s *Spec) keepResource(it item, dir string, sound bool) {
	for i := range it.operations {
		it.operations[i].Dir = dir
	}
	if it.resource.Data != nil {
		own := *it.resource.Data
		own.Dir = dir
		own.ofResource(it.resource)
		if sound {
			s.Data = append(s.Data, own)
		} else {
			s.BrokenData = append(s.BrokenData, own)
		}
	}
	if sound {
		s.Endpoints = append(s.Endpoints, it.operations...)
	} else {
		s.Broken = append(s.Broken, it.operations...)
	}
}

// notAList returns the problem of a document that is not a list of endpoints. An empty document, as
// between two ---, has no problem.
func notAList(doc *syntax.Node) syntax.Problems {
	hints := hintsOf(doc.Pos().File)
	what := fmt.Sprintf("the document is %s; %s", doc.Shown(), hints.list)
	switch {
	case doc.Kind == syntax.NullNode || doc.Faulty: // a fault has been reported already
		return nil
	case hasItemKey(doc):
		what = "the document is a map; " + hints.single
	case lacksVersion(doc):
		what = noVersion
	}
	return syntax.Problems{{Pos: doc.Pos(), What: what}}
}

// hasItemKey reports whether a map has a key of an item.
func hasItemKey(n *syntax.Node) bool {
	return slices.ContainsFunc(table.Keys(itemFields), func(key string) bool { return n.Get(key) != nil })
}

// decodeItem decodes one item as far as possible. It returns an empty item if the node is not an
// item.
func decodeItem(d *decoder, n *syntax.Node, key string) item {
	if n.Kind != syntax.MapNode || len(n.Entries) == 0 {
		what := n.Shown()
		if n.Kind == syntax.MapNode {
			what = "an empty map"
		}
		d.About(value{Node: n, Key: key}, "is %s; expected a map with one key, "+itemKeys, what)
		return item{}
	}
	first := n.Entries[0]
	if second := n.Entries[len(n.Entries)-1].Key; len(n.Entries) > 1 && slices.Contains(table.Keys(itemFields), first.Key.Text.Value) {
		if first.Value.Kind == syntax.NullNode {
			second = n.Entries[1].Key
			d.Wrong(second.Pos(), key, "%s stands beside %s; "+hintsOf(n.Pos().File).beside, wording.Label(second.Text.Value), first.Key.Text.Value, first.Key.Text.Value)
			return item{}
		}
		if slices.Contains(table.Keys(itemFields), second.Text.Value) {
			d.Wrong(second.Pos(), key, "%s stands beside %s; an item has one of them", second.Text.Value, first.Key.Text.Value)
			return item{}
		}
	}
	if !hasItemKey(n) && slices.Contains(table.Keys(endpointFields), first.Key.Text.Value) {
		d.Wrong(first.Key.Pos(), key, "%s is a key of an endpoint; %s", first.Key.Text.Value, hintsOf(n.Pos().File).bare)
		return item{}
	}
	var it item
	table.Fill(d, n, key, itemFields, &it)
	return it
}

func setEndpoint(d *decoder, v value, into *item) {
	if strayWebSocket(d, v) {
		return
	}
	e := &Endpoint{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, endpointFields, e)
	finishEndpoint(d, e, v.Key, v.Node)
	into.endpoint = e
}

// finishEndpoint checks a decoded endpoint by the rules across its fields, and removes from its
// answers the headers that the server sets itself.
func finishEndpoint(d *decoder, e *Endpoint, key string, n *syntax.Node) {
	for _, p := range check(e, key, n, d.Reported) {
		if !p.Warning {
			d.Known(p.Key)
		}
		d.Add(p)
	}
	e.Response.dropServerSet()
	for i := range e.Responses {
		e.Responses[i].Response.dropServerSet()
	}
}

// strayWebSocket reports whether a WebSocket is inside an endpoint, or is written as one, and adds
// a problem that says where it belongs. The rest of such an endpoint is not checked: what it lacks
// does not matter.
func strayWebSocket(d *decoder, v value) bool {
	for _, e := range v.Entries {
		name, what := e.Key.Text.Value, ""
		switch {
		case name == "websocket":
			what = "a WebSocket is not part of an endpoint"
		case slices.Contains(table.Keys(webSocketFields), name) && !slices.Contains(table.Keys(endpointFields), name):
			what = "belongs to a WebSocket, which is not an endpoint"
		default:
			continue
		}
		d.About(value{Node: e.Key, Key: table.Under(v.Key, name)}, "%s but an item of its own, %s", what, hintsOf(e.Key.Pos().File).socket)
		return true
	}
	return false
}

// decodeHost returns a host in lower case. It reports an invalid one and returns "".
func decodeHost(d *decoder, v value) string {
	host := table.ChangeCase(v.Text.Value, 'A', 'Z')
	if what := address.NameFault(host); what != "" {
		d.About(v, "%s", what)
		return ""
	}
	return host
}

func setResponse(d *decoder, v value, e *Endpoint) {
	e.Response.begin(v)
	table.Fill(d, v.Node, v.Key, responseFields, &e.Response)
}

// begin reads what must be known before the keys of a response are read.
func (r *Response) begin(v value) {
	r.Pos, r.Raw = v.Pos(), templatesOff(v)
}

// templatesOff reports whether a map has template: false. This determines how a body, which may
// come before it, is converted to JSON text.
func templatesOff(v value) bool {
	t := v.Get("template")
	return t != nil && t.Kind == syntax.BoolNode && !t.Truth()
}

func decodeHeaders(d *decoder, v value) []Header {
	canonicalNames(d, v)
	var headers []Header
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		all := []value{v.Part(e.Value, "."+wording.Label(name), v.Row.Value)}
		if e.Key.Faulty {
			d.Known(all[0].Key)
		}
		if all[0].Kind == syntax.ListNode {
			if list := all[0]; len(list.Items) == 0 && !list.Faulty {
				d.Add(syntax.Problem{Pos: list.Pos(), Key: list.Key, What: "is left out: the list has no value", Warning: true})
			}
			all = all[0].Parts()
		}
		for _, one := range all {
			if d.Take(one) {
				headers = append(headers, Header{Name: name, Value: one.AsText()})
			}
		}
	}
	return headers
}

// decodeBody returns a body, and whether it is the JSON text of a map or list. raw means that it
// has no placeholders.
func decodeBody(d *decoder, v value, raw bool) (body syntax.Text, isJSON bool) {
	if table.Scalars.Has(v.Kind) {
		return v.AsText(), false
	}
	return decodeJSON(d, v, raw), true
}
