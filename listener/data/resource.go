package data

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
	"mockserver/listener/state"
	"mockserver/matcher"
	"mockserver/matcher/json"
	"mockserver/renderer"
	"mockserver/renderer/escape"
)

// Operation is one operation of a resource, compiled. It is immutable.
type Operation struct {
	sets   *Sets
	set    *set
	part   *renderer.Operand
	made   *newKeys
	config *config.Operation
	operation
	row     int      // the position of the parameter with the key of the row; -1 for a collection
	parents []parent // in the order of the path
	filters []ordered
	sorts   []ordered
	schema  *jsonschema.Schema // nil for any rows
	item    *renderer.Template // nil for the row as it is
	list    *renderer.Template // nil for what the style has
	size    int
	most    int

	created, updated []string // the ways to members with times; nil for none
}

// parent is a parameter of the path whose value a member of the rows has.
type parent struct {
	param int
	way   []string // to the member
	order int
}

// ordered is a member that can be asked for.
type ordered struct {
	name  string
	order int
}

// The names of what templates of a resource have.
var (
	rowNames  = []string{"row"}
	listNames = []string{"items", "page"}
)

// CompileOperation compiles an operation of a resource, and adds the names of what it makes to the
// scope.
func (s *Sets) CompileOperation(e *config.Endpoint, scope *renderer.Scope) (*Operation, syntax.Problems) {
	c := e.Resource
	o := &Operation{sets: s, config: c, operation: operationOf[c.Name], row: slices.Index(scope.Params, c.Row)}
	scope.Rows = rowNames
	var problems, wrong syntax.Problems
	if o.set, problems = s.find(syntax.Text{Value: c.Set, Pos: c.Pos, Key: c.Key + ".data"}); o.set == nil {
		return o, problems
	}
	o.made = o.set.made
	if c.Data == nil && c.NewKey.Value != "" {
		o.made, wrong = compileNewKeys(&config.Data{NewKey: c.NewKey})
		problems = append(problems, wrong...)
		o.made.largest = o.set.made.largest
	}
	o.part, wrong = o.set.isolation(scope)
	problems = append(problems, wrong...)
	for i, param := range scope.Params {
		if i == o.row {
			continue
		}
		m := ordered{name: c.Member(param)}
		problems = append(problems, o.order(&m, c.Pos, c.Key+".parent."+wording.Label(param))...)
		o.parents = append(o.parents, parent{i, strings.Split(m.name, "."), m.order})
	}
	for _, names := range []struct {
		from []syntax.Text
		to   *[]ordered
	}{{c.Filter, &o.filters}, {c.Sort, &o.sorts}} {
		for _, name := range names.from {
			m := ordered{name: name.Value}
			problems = append(problems, o.order(&m, name.Pos, name.Key)...)
			*names.to = append(*names.to, m)
		}
	}
	if c.Name == "create" || c.Name == "replace" || c.Name == "change" {
		o.schema, wrong = compileSchema(c.Resource, e.Dir)
		problems = append(problems, wrong...)
	}
	o.size, o.most = c.Page.EffectiveSize()
	if c.Stamp.Created != "" {
		o.created = strings.Split(c.Stamp.Created, ".")
	}
	if c.Stamp.Updated != "" {
		o.updated = strings.Split(c.Stamp.Updated, ".")
	}
	o.item, wrong = o.template(c.Item, scope)
	problems = append(problems, wrong...)
	if c.Name == "list" {
		scope.Rows = listNames
		o.list, wrong = o.template(c.List, scope)
		problems = append(problems, wrong...)
	}
	return o, problems
}

// order finds the order of a member.
func (o *Operation) order(m *ordered, pos syntax.Pos, key string) syntax.Problems {
	var known bool
	if m.order, known = o.set.order(m.name); !known {
		return syntax.Problems{{Pos: pos, Key: key, What: o.set.notIndexed(m.name)}}
	}
	return nil
}

// template compiles one of the resource's templates; nil for an empty one.
func (o *Operation) template(text syntax.Text, scope *renderer.Scope) (*renderer.Template, syntax.Problems) {
	if text.Value == "" {
		return nil, nil
	}
	return renderer.Compile(text, renderer.JSON, scope)
}

// Serve makes the reply of an operation, without declared headers. Nil means that it could; otherwise
// nothing has changed.
func (o *Operation) Serve(r *matcher.Request, p *reply.Reply) *Failed {
	w := workOf(r)
	w.owner = nil
	p.ContentType = "application/json"
	for range maxAttempts {
		w.tx.Begin(o.sets.store)
		w.room, w.keys = w.room[:0], w.keys[:0]
		r.Rows = append(r.Rows[:0], json.Value{}, json.Value{})
		failed := o.serve(w, r, p)
		if failed == nil {
			failed = ofCommit(w.tx.Commit())
		}
		if failed == nil {
			o.set.tally.note(o.operation, resultOK)
			return nil
		}
		w.giveBack()
		if !failed.Conflict {
			o.set.tally.failed(o.operation, failed.Failure)
			return failed
		}
		p.Begin()
		p.ContentType = "application/json"
	}
	return refuse(reply.StateBusy, "the row has changed before each of %d attempts to write it", maxAttempts)
}

// maxAttempts is how often an operation is tried. Each time another one has succeeded meanwhile.
const maxAttempts = 10_000

func (o *Operation) serve(w *work, r *matcher.Request, p *reply.Reply) *Failed {
	part := partOf(o.part, w, r)
	switch o.config.Name {
	case "list":
		return o.serveList(part, w, r, p)
	case "create":
		return o.create(part, w, r, p)
	}
	key := w.keep(r.Param(o.row))
	row := w.tx.Get(o.set.Set, part, key)
	if row.Found() && !o.isChild(row, r) {
		row = state.Row{}
	}
	if failed := o.precondition(row, r); failed != nil {
		return failed
	}
	if !row.Found() && !(o.config.Name == "replace" && o.config.PutCreates) {
		return refuse(reply.RowNotFound, "the set %q has no row %q", o.set.declared.Name, wording.Clip(string(key)))
	}
	switch o.config.Name {
	case "remove":
		w.tx.Delete(o.set.Set, part, key)
		r.Rows[0] = json.Value{Kind: json.Object, Raw: row.JSON}
		p.Status, p.ContentType = fasthttp.StatusNoContent, ""
		return nil
	case "read":
		return o.read(row, r, p)
	}
	return o.write(part, key, row, w, r, p)
}

// isChild reports whether a row belongs to the path.
func (o *Operation) isChild(row state.Row, r *matcher.Request) bool {
	for _, p := range o.parents {
		if string(member(row.JSON, p.way).AppendText(nil)) != string(r.Param(p.param)) {
			return false
		}
	}
	return true
}

// refuse returns a failure.
func refuse(f reply.Failure, format string, args ...any) *Failed {
	return &Failed{Else: -1, Failure: f, Message: fmt.Sprintf(format, args...)}
}

// tagged adds the entity tag of a row to a reply.
func tagged(p *reply.Reply, row []byte) {
	var room [20]byte
	p.AddCopy("ETag", appendTag(room[:0], row))
}

// appendTag appends the entity tag of a row. It is the same in each process.
func appendTag(to, row []byte) []byte {
	sum := uint64(crc32.ChecksumIEEE(row))<<32 | uint64(crc32.Checksum(row, castagnoli))
	return append(strconv.AppendUint(append(to, '"'), sum, 36), '"')
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func etag(row []byte) string { return string(appendTag(nil, row)) }

// names reports whether a header field lists an entity tag, or any. Only with weak, a weak tag of the
// field is the strong one with its text (RFC 9110, section 8.8.3.2).
func names(field []byte, tag string, weak bool) bool {
	for _, one := range strings.Split(string(field), ",") {
		one = strings.TrimSpace(one)
		if weak {
			one = strings.TrimPrefix(one, "W/")
		}
		if one == "*" || one == tag {
			return true
		}
	}
	return false
}

// precondition returns why a write must not happen: If-Match and If-None-Match, in that order, as RFC
// 9110 section 13.2.2 has it.
func (o *Operation) precondition(row state.Row, r *matcher.Request) *Failed {
	if o.config.Name == "read" {
		return nil
	}
	if field, ok := r.Header("If-Match"); ok && !(row.Found() && names(field, etag(row.JSON), false)) {
		return refuse(reply.Precondition, "the ETag of the row is not one of those in If-Match")
	}
	if field, ok := r.Header("If-None-Match"); ok && row.Found() && names(field, etag(row.JSON), true) {
		return refuse(reply.Precondition, "the ETag of the row is one of those in If-None-Match")
	}
	return nil
}

func (o *Operation) read(row state.Row, r *matcher.Request, p *reply.Reply) *Failed {
	tagged(p, row.JSON)
	r.Rows[0] = json.Value{Kind: json.Object, Raw: row.JSON}
	if field, ok := r.Header("If-None-Match"); ok && names(field, etag(row.JSON), true) {
		p.Status, p.ContentType = fasthttp.StatusNotModified, ""
		return nil
	}
	p.Body = o.shown(row.JSON, r)
	return nil
}

// shown returns a row as it is answered.
func (o *Operation) shown(row []byte, r *matcher.Request) []byte {
	if o.item == nil {
		return row
	}
	before := r.Rows[0]
	r.Rows[0] = json.Value{Kind: json.Object, Raw: row}
	text := o.item.Append(nil, r)
	r.Rows[0] = before
	return text
}

// write replaces or changes a row.
func (o *Operation) write(part, key []byte, row state.Row, w *work, r *matcher.Request, p *reply.Reply) *Failed {
	if o.config.Name == "change" {
		if kind, ok := r.Header("Content-Type"); ok && !isPatch(string(kind)) {
			p.Add("Accept-Patch", "application/merge-patch+json, application/json")
			return refuse(reply.UnsupportedMedia, "%q is not the type of a JSON merge patch; expected application/merge-patch+json or application/json", wording.Clip(string(kind)))
		}
	}
	sent, failed := o.body(w, r, false)
	if failed != nil {
		return failed
	}
	old := json.Value{Kind: json.Object, Raw: row.JSON}
	made := sent[0].Raw
	if given := member(made, o.set.key); given.Kind != json.Missing && string(given.AppendText(nil)) != string(key) {
		return refuse(reply.KeyMismatch, "the body has the key %s in %q, and the path has %q; expected the same", wording.Clip(string(given.Raw)), joined(o.set.key), wording.Clip(string(key)))
	}
	if o.config.Name == "change" {
		made = w.merged(old, sent[0])
	} else {
		made = w.with(made, o.set.key, o.set.keyJSON(old, key))
		if o.created != nil && row.Found() {
			if at := member(row.JSON, o.created); at.Kind != json.Missing {
				made = w.with(made, o.created, at.Raw)
			}
		}
	}
	made = o.stamped(made, !row.Found(), w, r)
	if failed := violations(o.schema, made); failed != nil {
		return failed
	}
	made = o.set.put(&w.tx, part, key, row, made, r.Now())
	r.Rows[0] = json.Value{Kind: json.Object, Raw: made}
	if !row.Found() {
		p.Status = fasthttp.StatusCreated
		p.Add("Location", string(r.Path()))
	}
	tagged(p, made)
	p.Body = o.shown(made, r)
	return nil
}

// isPatch reports whether a Content-Type is that of a merge patch.
func isPatch(kind string) bool {
	media := semantics.MediaType(kind)
	return media == "application/merge-patch+json" || media == "application/json" || media == "application/x-www-form-urlencoded"
}

// stamped returns a row with its times and the values of the path.
func (o *Operation) stamped(row []byte, isNew bool, w *work, r *matcher.Request) []byte {
	for i := range o.parents {
		p := &o.parents[i]
		if v := member(row, p.way); v.Kind == json.Missing || string(v.AppendText(nil)) != string(r.Param(p.param)) {
			row = w.with(row, p.way, scalarJSON(r.Param(p.param)))
		}
	}
	if isNew {
		row = o.set.steps.begun(row)
	}
	if isNew && o.created != nil {
		row = w.with(row, o.created, appendTime(r.Now()))
	}
	if o.updated != nil {
		row = w.with(row, o.updated, appendTime(r.Now()))
	}
	return row
}

// scalarJSON returns the text of a parameter as a JSON value: a number if it is one as JSON writes it.
func scalarJSON(text []byte) []byte {
	if syntax.IsJSONNumber(text) {
		return text
	}
	return appendText(text)
}

var slash = []byte("/")

// create adds the row of the body, or those of a list: all of them or none.
func (o *Operation) create(part []byte, w *work, r *matcher.Request, p *reply.Reply) *Failed {
	sent, failed := o.body(w, r, true)
	if failed != nil {
		return failed
	}
	p.Status = fasthttp.StatusCreated
	isList := r.JSON().Kind == json.Array
	var answer []byte
	for i, v := range sent {
		row := w.keyed(v.Raw, o.set.key, o.made, r)
		row = o.stamped(row, true, w, r)
		if failed := violations(o.schema, row); failed != nil {
			return failed
		}
		key, what := w.keyOf(row, o.set.key)
		if what != "" {
			return refuse(reply.BadJSON, "%s", what)
		}
		if w.tx.Get(o.set.Set, part, key).Found() {
			return refuse(reply.KeyExists, "the set %q already has a row %q", o.set.declared.Name, wording.Clip(string(key)))
		}
		o.made.atLeast(wholeNumber(key))
		kept := o.set.put(&w.tx, part, key, state.Row{}, row, r.Now())
		r.Rows[0] = json.Value{Kind: json.Object, Raw: kept}
		if !isList {
			start := len(w.room)
			w.room = append(append(w.room, bytes.TrimSuffix(r.Path(), slash)...), '/')
			w.room = escape.AppendPathSegment(w.room, key)
			p.AddCopy("Location", w.made(start))
			tagged(p, kept)
			p.Body = o.shown(kept, r)
			return nil
		}
		if i > 0 {
			answer = append(answer, ',')
		}
		answer = append(answer, o.shown(kept, r)...)
	}
	p.Body = append(append([]byte{'['}, answer...), ']')
	return nil
}

// body returns the objects of the request's body: one or, if a list is allowed, several.
func (o *Operation) body(w *work, r *matcher.Request, list bool) ([]json.Value, *Failed) {
	kind, _ := r.Header("Content-Type")
	v := r.JSON()
	if semantics.MediaType(string(kind)) == "application/x-www-form-urlencoded" && v.Kind != json.Object && v.Kind != json.Array {
		return formObject(r.Body())
	}
	compact := func(v json.Value) json.Value {
		start := len(w.room)
		w.room = appendCompact(w.room, v.Raw)
		return json.Value{Kind: v.Kind, Raw: w.room[start:len(w.room):len(w.room)]}
	}
	if v.Kind == json.Object {
		return []json.Value{compact(v)}, nil
	}
	expected := "a JSON object"
	if list {
		expected += ", or a list of them"
	}
	if v.Kind != json.Array || !list {
		return nil, refuse(reply.BadJSON, "the body is not %s", expected)
	}
	var all []json.Value
	for elements := v.Elements(); ; {
		one, ok := elements.Next()
		if !ok {
			return all, nil
		}
		if len(all) == maxCreated {
			return nil, refuse(reply.TooManyRows, "the body has more than %d objects", maxCreated)
		}
		if one.Kind != json.Object {
			return nil, refuse(reply.BadJSON, "item %d of the body is not an object", len(all))
		}
		all = append(all, compact(one))
	}
}

// maxCreated is how many rows one request may create, and maxFormFields how many fields a form may have.
const (
	maxCreated    = 10_000
	maxFormFields = 1000
)

// formObject returns the object that a form means: a[b]=1 is a member b of a member a.
func formObject(body []byte) ([]json.Value, *Failed) {
	var args fasthttp.Args
	args.ParseBytes(body)
	if args.Len() > maxFormFields {
		return nil, refuse(reply.BadJSON, "the form has more than %d fields", maxFormFields)
	}
	object := []byte("{}")
	for name, value := range args.All() {
		way := strings.FieldsFunc(string(name), func(c rune) bool { return c == '[' || c == ']' })
		if len(way) > 0 && len(way) <= maxFormDepth {
			object = appendWith(nil, json.Value{Kind: json.Object, Raw: object}, way, appendText(value))
		}
	}
	return []json.Value{{Kind: json.Object, Raw: object}}, nil
}

// maxFormDepth is how deep the members of a form may be.
const maxFormDepth = 32
