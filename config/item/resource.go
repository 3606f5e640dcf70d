package item

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// Resource is a REST collection over a set: each of its operations is an endpoint that answers with
// the rows.
type Resource struct {
	Pos syntax.Pos
	Key string // "[3].resource"

	Path   syntax.Text // of the collection; the path of a row has one more segment
	Host   string
	Set    string      // the name of the set
	Data   *Data       `key:"data"` // the set, declared in place; nil for one that is declared elsewhere
	NewKey syntax.Text // instead of the NewKey of the set
	Allow  []string    // those of ResourceOperations that exist; nil means all
	Page   Page
	Filter []syntax.Text // members that lists can be filtered by
	Sort   []syntax.Text // members that lists can be sorted by
	Stamp  Stamp
	Parent []Setting // parameters of the path, and the members of the row that hold their values

	Schema     syntax.Text `key:""` // a JSON Schema that rows must match, as JSON text
	SchemaFile syntax.Text `key:""` // the file of that schema, instead of its text
	List       syntax.Text // a template for lists that uses items and page; empty means the form of the style
	Item       syntax.Text // a template for rows that uses row; empty means the row itself
	Steps      *Steps      // for a set of its own: how a member changes over time; nil for not at all
	PutCreates bool        // PUT of a row that does not exist creates it
	Strict     bool        // unknown parameters are refused
	Dialect    string      // one of Dialects: the parameters of lists; "" means ours
	Children   []Setting   // sets, and their members that refer to a row: their rows are removed with it

	policy.Group
	On map[string]*On // by operation
}

// Page says how lists are split into pages.
type Page struct {
	Off   bool      // everything is one page
	Style string    // one of PageStyles; "" means the first
	Size  int       // rows on a page; 0 means DefaultPageSize
	Max   int       // the maximum that a request may ask for; 0 means MaxPageSize
	Names []Setting // other names of the parameters
}

// Stamp names the members that hold the times when a row was created and last changed.
type Stamp struct{ Created, Updated string }

// On says how one operation of a resource answers, apart from its rows.
type On struct {
	Pos      syntax.Pos
	Key      string
	If       syntax.Text
	Response Response `key:""` // only its status and headers
	policy.Group
	Webhooks []Webhook
	// Responses are several answers, of which each request gets one. An answer without a body
	// returns the rows. An answer with a body is sent instead of the rows, and the operation then
	// does nothing.
	Responses []Outcome
	Select    string
}

// Operation is one operation of a resource.
type Operation struct {
	*Resource
	Name string // one of ResourceOperations
	Row  string // the parameter that has the key of the row
}

// Defaults and limits of resources.
const (
	DefaultPageSize = 20
	MaxPageSize     = 100
	WholeList       = 10_000  // the maximum number of rows in a list without pages
	MaxList         = 100_000 // the maximum number of rows of a page, and of a list in a template
)

// ResourceOperations are the operations of a resource. The slice must not be modified.
var ResourceOperations = []string{"list", "read", "create", "replace", "change", "remove"}

// PageStyles are the ways to split lists into pages, the default first. The slice must not be
// modified.
var PageStyles = []string{"link", "page", "offset", "cursor", "after"}

// Dialects are the other servers whose parameters lists can have. The slice must not be modified.
var Dialects = []string{"json-server"}

var resourceFields = slices.Concat(
	[]table.Field[Resource]{
		table.Of[Resource](table.Row{Key: "path", Doc: "the path of the collection, such as /payments", Required: true, Kinds: table.Texts, Pattern: "^/"}),
		table.By[Resource](table.Row{Key: "host", Doc: "the host to answer for; any by default", Kinds: table.Texts, Form: address.NameForm, Pattern: address.NamePattern}, decodeHost),
		table.With(table.Row{Key: "data", Doc: "the set of its rows: a name, or the keys of data; an empty set of its own by default", Kinds: table.Texts | table.Maps,
			Form: "the name of a set, or a map", Pattern: dataNamePattern, Table: table.Rows(resourceDataFields)}, setResourceData),
		table.Of[Resource](table.Row{Key: "new-key", Doc: "how the key of a new row is made: uuid (the default), uuid7, ulid, int, or a template", Kinds: table.Texts, Filled: true}),
		table.With(table.Row{Key: "allow", Doc: "the operations; all by default", Kinds: table.Lists, Item: &table.Row{Kinds: table.Texts, Enum: ResourceOperations}},
			func(d *table.Decoder, v table.Value, r *Resource) { r.Allow = append([]string{}, d.Strings(v)...) }),
		table.With(table.Row{Key: "page", Doc: "how lists are split into pages; false turns pages off", Kinds: table.Maps | table.Bools, Form: "a map, or false", Table: table.Rows(pageFields)}, setPage),
		table.Of[Resource](table.Row{Key: "filter", Doc: "members that lists can be filtered by", Kinds: table.Lists, Form: membersForm, Item: &table.Row{Kinds: table.Texts, Filled: true}}),
		table.Of[Resource](table.Row{Key: "sort", Doc: "members that lists can be sorted by", Kinds: table.Lists, Form: membersForm, Item: &table.Row{Kinds: table.Texts, Filled: true}}),
		table.With(table.Row{Key: "stamp", Doc: "members that hold the times of a row", Kinds: table.Maps, Table: table.Rows(stampFields)},
			func(d *table.Decoder, v table.Value, r *Resource) {
				table.Fill(d, v.Node, v.Key, stampFields, &r.Stamp)
			}),
		table.By[Resource](table.Row{Key: "parent", Doc: "parameters of the path, and the members of rows that hold their values; members of the same name by default", Kinds: table.Maps,
			Value: &table.Row{Kinds: table.Texts}}, decodeNames),
		table.With(table.Row{Key: "schema", Doc: "a JSON Schema that rows must match: the schema itself, or file with its name", Kinds: table.Maps, Form: "the schema as a map, or {file: s.json}", Value: &table.Row{Kinds: table.Anything}}, setSchema),
		table.Of[Resource](table.Row{Key: "list", Doc: "a template for a list, with items and page", Kinds: table.Texts}),
		table.Of[Resource](table.Row{Key: "item", Doc: "a template for a row, with row", Kinds: table.Texts}),
		table.By[Resource](stepsField, decodeSteps),
		table.Of[Resource](table.Row{Key: "put-creates", Doc: "true lets PUT create a row that does not exist", Kinds: table.Bools}),
		table.Of[Resource](table.Row{Key: "dialect", Doc: "the parameters of lists as another server has them: json-server", Kinds: table.Texts, Enum: Dialects}),
		table.By[Resource](table.Row{Key: "children", Doc: "sets, and their members that refer to a row: their rows are removed with it", Kinds: table.Maps, Value: &table.Row{Kinds: table.Texts, Filled: true}}, decodeNames),
		table.Of[Resource](table.Row{Key: "strict", Doc: "true refuses unknown parameters", Kinds: table.Bools}),
	},
	policy.ResponseKeys[Resource](faultItem),
	policy.LimitKeys[Resource]("requests of an operation"),
	[]table.Field[Resource]{
		table.With(table.Row{Key: "on", Doc: "how operations answer, apart from their rows", Kinds: table.Maps, Table: table.Rows(operationFields)},
			func(d *table.Decoder, v table.Value, r *Resource) {
				r.On = map[string]*On{}
				table.Fill(d, v.Node, v.Key, operationFields, r)
			}),
	},
)

// resourceDataFields are the keys of a set that a resource declares in place, whose name is made from
// the path if it is left out.
var resourceDataFields = slices.Concat([]table.Field[Data]{
	table.Of[Data](table.Row{Key: "name", Doc: "the name by which endpoints refer to it; the path by default, with - for /", Kinds: table.Texts, Pattern: dataNamePattern, Form: dataNameForm, Is: isDataName}),
}, dataFields[1:])

var pageFields = []table.Field[Page]{
	table.Of[Page](table.Row{Key: "style", Doc: "link (the default), page, offset, cursor or after", Kinds: table.Texts, Enum: PageStyles}),
	table.Of[Page](table.Row{Key: "size", Doc: "rows on a page; 20 by default", Kinds: table.Numbers, Min: 1, Max: MaxList}),
	table.Of[Page](table.Row{Key: "max", Doc: "how many rows a request may ask for; 100 by default", Kinds: table.Numbers, Min: 1, Max: MaxList}),
	table.By[Page](table.Row{Key: "names", Doc: "other names of the parameters", Kinds: table.Maps, Value: &table.Row{Kinds: table.Texts}}, decodeNames),
}

var stampFields = []table.Field[Stamp]{
	table.Of[Stamp](table.Row{Key: "created", Doc: "the member for the time when the row was created", Kinds: table.Texts}),
	table.Of[Stamp](table.Row{Key: "updated", Doc: "the member for the time when the row was last changed", Kinds: table.Texts}),
}

var onFields = slices.Concat(
	[]table.Field[On]{
		table.Of[On](table.Row{Key: "if", Doc: "the condition under which it answers", Kinds: table.Scalars | table.Nulls}),
		table.Of[On](table.Row{Key: "status", Doc: "its status", Kinds: table.Numbers, Min: minStatus, Max: maxStatus}),
		table.By[On](table.Row{Key: "headers", Doc: "further headers, name: value, or a list of values", Kinds: table.Maps, Name: headerName, Value: headerValue}, decodeHeaders),
	},
	policy.ResponseKeys[On](faultItem),
	[]table.Field[On]{
		table.With(table.Row{Key: "responses", Doc: "several answers, of which each request gets one; one without a body answers with the rows", Kinds: table.Lists,
			Form: "a list of answers, each a map", Item: &table.Row{Kinds: table.Maps, Table: table.Rows(outcomeFields)}}, setOnResponses),
		table.Of[On](table.Row{Key: "select", Doc: "how one of responses is chosen: weighted (the default), sequence or sequence-hold", Kinds: table.Texts, Enum: selects}),
	},
	webhookKeys("a request that the server sends some time after the answer", func(o *On) *[]Webhook { return &o.Webhooks }),
)

// operationFields are the keys of on: the operations.
var operationFields = list.Map(ResourceOperations, func(name string) table.Field[Resource] {
	row := table.Row{Key: name, Doc: "how " + name + " answers, apart from its rows", Kinds: table.Maps, Table: table.Rows(onFields)}
	return table.With(row, func(d *table.Decoder, v table.Value, r *Resource) {
		on := &On{Pos: v.Pos(), Key: v.Key}
		table.Fill(d, v.Node, v.Key, onFields, on)
		c := table.Check(on.Pos, v.Key, v.Node, d.Reported)
		checkUnseen(c, on.Fault, nil)
		checkOutcomes(c, selection{outcomes: on.Responses, by: on.Select, fault: on.Fault, latency: on.Latency})
		on.Group.Check(c, "", nil)
		checkFault(c, on.Fault, formOf(on.Responses, &Response{}), []string{"fault"})
		d.AddAll(c.Problems)
		r.On[name] = on
	})
})

// setName returns the name of the set. For a set of the resource's own, it makes the name from the
// path, and declares the set if necessary.
func (r *Resource) setName() string {
	if r.Set != "" {
		return r.Set
	}
	if r.Data == nil {
		r.Data = &Data{Pos: r.Pos, Key: r.Key}
	}
	if r.Data.Name != "" {
		return r.Data.Name
	}
	r.Data.Name = strings.Map(func(c rune) rune {
		if isDataName(string(c)) {
			return c
		}
		return '-'
	}, strings.Trim(r.Path.Value, "/"))
	return r.Data.Name
}

func setResourceData(d *table.Decoder, v table.Value, r *Resource) {
	if v.Kind == syntax.TextNode {
		if r.Set = v.Text.Value; !isDataName(r.Set) {
			d.Refuse(v)
		}
		return
	}
	r.Data = &Data{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, resourceDataFields, r.Data)
}

func setSchema(d *table.Decoder, v table.Value, r *Resource) {
	if file := v.Get("file"); file != nil && len(v.Entries) == 1 {
		at := v.Part(file, ".file", &table.Row{Kinds: table.Texts, Filled: true})
		if d.Take(at) {
			r.SchemaFile = at.AsText()
		}
		return
	}
	r.Schema = decodeJSON(d, v, true)
}

func setPage(d *table.Decoder, v table.Value, r *Resource) {
	if v.Kind == syntax.BoolNode {
		if r.Page.Off = !v.Truth(); !r.Page.Off {
			d.Refuse(v)
		}
		return
	}
	table.Fill(d, v.Node, v.Key, pageFields, &r.Page)
}

func setOnResponses(d *table.Decoder, v table.Value, on *On) {
	on.Responses = decodeOutcomes(d, v)
	for i := range on.Responses {
		if o := &on.Responses[i]; len(o.Do) > 0 {
			d.About(table.Value{Node: v.Items[i], Key: o.Key + ".do"}, "a resource changes its rows itself; expected do in an endpoint")
		}
	}
}

// OfResource adds to a set the declarations that a resource over it needs. The keys of new rows and
// the steps are those of a resource with a set of its own.
func (s *Data) OfResource(r *Resource) {
	if r.Data != nil && r.NewKey.Value != "" {
		s.NewKey = r.NewKey
	}
	if r.Data != nil && r.Steps != nil {
		s.Steps = r.Steps
	}
	s.Updated = cmp.Or(s.Updated, r.Stamp.Updated)
	s.Index = append(slices.Clip(s.Index), r.Filter...)
	s.Sort = append(slices.Clip(s.Sort), r.Sort...)
	for _, p := range r.Parent {
		s.Index = append(s.Index, p.Value.Text)
	}
	for _, name := range address.PathParams(r.Path.Value) {
		if r.Member(name) == name {
			s.Index = append(s.Index, syntax.Text{Value: name, Pos: r.Pos, Key: r.Key + ".path"})
		}
	}
}

// Member returns the member of rows that holds the value of a parameter of the path.
func (r *Resource) Member(param string) string {
	for _, p := range r.Parent {
		if p.Name == param {
			return p.Value.Text.Value
		}
	}
	return param
}

// EffectiveSize returns how many rows a page has, and the maximum that a request may ask for.
func (p *Page) EffectiveSize() (size, most int) {
	size = cmp.Or(p.Size, DefaultPageSize)
	most = cmp.Or(p.Max, max(MaxPageSize, size))
	return min(size, most), most
}

// faults returns the violations of the rules that involve more than one key of a resource.
func (r *Resource) faults() (found syntax.Problems) {
	wrong := func(key, format string, args ...any) {
		found = append(found, syntax.Problem{Pos: r.Pos, Key: r.Key + "." + key, What: fmt.Sprintf(format, args...)})
	}
	known := address.PathParams(r.Path.Value)
	for _, p := range r.Parent {
		if !slices.Contains(known, p.Name) {
			wrong("parent."+wording.Label(p.Name), "the path has no parameter %q%s", p.Name, wording.DidYouMean(p.Name, known))
		}
	}
	if strings.Contains(r.Path.Value, "*") {
		wrong("path", "%q ends with a catch-all; expected the path of a collection", r.Path.Value)
	}
	if r.Steps != nil && (r.Data == nil || r.Data.Steps != nil) {
		wrong("steps", "the rows are in the set %q; expected the steps there", r.Set)
	}
	if r.Page.Size > 0 && r.Page.Max > 0 && r.Page.Size > r.Page.Max {
		wrong("page.size", "is %d; expected at most max, which is %d", r.Page.Size, r.Page.Max)
	}
	if r.Dialect != "" && (r.Page.Off || r.Page.Style != "" && r.Page.Style != PageStyles[0]) {
		wrong("dialect", "has the page style %s; expected no other one", PageStyles[0])
	}
	names := PageNames(r.Page.Style)
	for _, n := range r.Page.Names {
		if !slices.Contains(names, n.Name) {
			wrong("page.names."+wording.Label(n.Name), "is not a parameter of this style%s; expected %s", wording.DidYouMean(n.Name, names), wording.OneOf(names))
		}
	}
	return found
}

// PageNames returns the names of the request parameters for pages in a style.
func PageNames(style string) []string {
	switch style {
	case "offset":
		return []string{"offset", "limit"}
	case "cursor":
		return []string{"cursor", "limit"}
	case "after":
		return []string{"starting_after", "ending_before", "limit"}
	}
	return []string{"page", "limit"}
}
