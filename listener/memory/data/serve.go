package data

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/valyala/fasthttp"

	"mockserver/internal/json"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer/escape"
)

// Serve makes the reply of an operation, without the declared headers. If the result is not nil,
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
			o.set.counters.note(o.operation, resultOK)
			return nil
		}
		w.giveBack()
		if !failed.Conflict {
			o.set.counters.failed(o.operation, failed.Failure)
			return failed
		}
		p.Begin()
		p.ContentType = "application/json"
	}
	return refuse(reply.StateBusy, "the row has changed during each of %d attempts to write it", maxAttempts)
}

// maxAttempts is how often an operation is tried while it conflicts with others. Each time it
// conflicts, another operation has succeeded.
const maxAttempts = 10_000

func (o *Operation) serve(w *work, r *matcher.Request, p *reply.Reply) *Failed {
	part := partOf(o.part, w, r)
	switch o.config.Name {
	case "list":
		return o.serveList(part, w, r, p)
	case "create":
		return o.create(part, w, r, p)
	}
	row, key := o.set.get(&w.tx, part, w.keep(r.Param(o.row)))
	isOthers := row.Found() && slices.ContainsFunc(o.parents, func(p parent) bool { return !o.hasParent(&p, row.JSON, r) })
	switch creates := o.config.Name == "replace" && o.config.PutCreates; {
	case isOthers && creates:
		return refuse(reply.KeyExists, "the set %q already has a row %q", o.set.declared.Name, wording.Clip(string(key)))
	case isOthers || !row.Found() && !creates:
		return refuse(reply.RowNotFound, "the set %q has no row %q", o.set.declared.Name, wording.Clip(string(key)))
	}
	if kind, ok := r.Header("Content-Type"); ok && o.config.Name == "change" && !isPatch(kind) {
		p.Add("Accept-Patch", "application/merge-patch+json, application/json")
		return refuse(reply.UnsupportedMedia, "%q is not the media type of a JSON merge patch; expected application/merge-patch+json or application/json", wording.Clip(string(kind)))
	}
	if failed := o.precondition(row, r); failed != nil {
		return failed
	}
	switch o.config.Name {
	case "remove":
		if failed := o.removeChildren(key, w, r); failed != nil {
			return failed
		}
		w.tx.Delete(o.set.Set, part, key)
		r.Rows[0] = json.Value{Kind: json.Object, Raw: row.JSON}
		if p.Status, p.ContentType = fasthttp.StatusNoContent, ""; o.config.Dialect != "" {
			p.Status, p.ContentType, p.Body = fasthttp.StatusOK, "application/json", []byte("{}")
		}
		return nil
	case "read":
		return o.read(row, w, r, p)
	}
	return o.write(part, key, row, w, r, p)
}

// serveList makes the reply of a list.
func (o *Operation) serveList(part []byte, w *work, r *matcher.Request, p *reply.Reply) *Failed {
	d, failed := o.demands(part, w, r)
	if failed != nil {
		return failed
	}
	l, failed := o.rows(d, part, w)
	if failed != nil {
		return failed
	}
	page, failed := o.page(l, d, part, w)
	if failed != nil {
		return failed
	}
	j, failed := o.joins(r)
	if failed != nil {
		return failed
	}
	for i := range page.rows {
		row := &page.rows[i]
		if row.JSON, failed = j.extend(row.JSON, o.set.key, w, r); failed != nil {
			return failed
		}
		row.JSON = o.shown(row.JSON, r)
	}
	items := listOf(page.rows)
	page.total = l.Len()
	o.links(page, r, d, p)
	if o.list != nil {
		r.Rows[0], r.Rows[1] = json.Value{Kind: json.Array, Raw: items}, json.Value{Kind: json.Object, Raw: page.body("template", nil)}
		p.Body = o.list.Append(nil, r)
		return nil
	}
	p.Body = page.body(page.style, items)
	return nil
}

// hasParent reports whether a row has the value of a path parameter, in any notation.
func (o *Operation) hasParent(p *parent, row []byte, r *matcher.Request) bool {
	var room, paramRoom [128]byte
	value := p.member.Value(row, room[:0])
	return bytes.Equal(value, appendOrderedParam(paramRoom[:0], r.Param(p.param)))
}

func (o *Operation) read(row state.Row, w *work, r *matcher.Request, p *reply.Reply) *Failed {
	j, failed := o.joins(r)
	if failed == nil {
		row.JSON, failed = j.extend(row.JSON, o.set.key, w, r)
	}
	if failed != nil {
		return failed
	}
	tagged(p, row.JSON)
	r.Rows[0] = json.Value{Kind: json.Object, Raw: row.JSON}
	if field, ok := r.Header("If-None-Match"); ok && names(field, etag(row.JSON), true) {
		p.Status, p.ContentType = fasthttp.StatusNotModified, ""
		return nil
	}
	p.Body = o.shown(row.JSON, r)
	return nil
}

// shown returns a row as responses show it.
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

// write replaces or changes a row. With PutCreates, replacing a row that does not exist creates the
// row.
func (o *Operation) write(part, key []byte, row state.Row, w *work, r *matcher.Request, p *reply.Reply) *Failed {
	sent, failed := o.body(w, r, false)
	if failed != nil {
		return failed
	}
	old := json.Value{Kind: json.Object, Raw: row.JSON}
	made := sent[0].Raw
	assigns := o.config.Dialect != "" // as json-server does: the key stays, and PATCH replaces members as a whole
	if what := o.set.mismatch(made, key); what != "" && !assigns {
		return refuse(reply.KeyMismatch, "%s", what)
	}
	switch {
	case o.config.Name == "change" && assigns:
		made = w.hold(edit.AppendAssigned(w.room, old, sent[0]))
		made = w.with(made, o.set.key, o.set.keyJSON(o.made, old, key))
	case o.config.Name == "change":
		made = w.hold(edit.AppendMerged(w.room, old, sent[0]))
	default:
		made = w.with(made, o.set.key, o.set.keyJSON(o.made, old, key))
		if o.created != nil && row.Found() {
			if at := edit.Member(row.JSON, o.created); at.Kind != json.Missing {
				made = w.with(made, o.created, at.Raw)
			}
		}
	}
	made = o.stamped(made, !row.Found(), w, r)
	if _, what := w.keyOf(edit.Member(made, o.set.key), o.set.key); what != "" {
		return refuse(reply.BadJSON, "%s", what)
	}
	if failed := violations(o.schema, "body", made); failed != nil {
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

// isPatch reports whether a Content-Type is accepted for a merge patch.
func isPatch(kind []byte) bool {
	return slices.Contains([]string{"application/merge-patch+json", "application/json", urlencoded, multipartForm}, semantics.MediaType(string(kind)))
}

// stamped returns a row with the values from the path and its time stamps. A new row also gets the
// first value of the member that changes by itself.
func (o *Operation) stamped(row []byte, isNew bool, w *work, r *matcher.Request) []byte {
	for i := range o.parents {
		if p := &o.parents[i]; o.config.Dialect != "" { // which writes a text
			row = w.with(row, p.way, edit.Text(r.Param(p.param)))
		} else if !o.hasParent(p, row, r) {
			row = w.with(row, p.way, scalarJSON(r.Param(p.param)))
		}
	}
	if isNew {
		row = o.set.steps.begun(row)
	}
	if isNew && o.created != nil {
		row = w.with(row, o.created, edit.Time(r.Now()))
	}
	if o.updated != nil {
		row = w.with(row, o.updated, edit.Time(r.Now()))
	}
	return row
}

// scalarJSON returns the text of a parameter as a JSON value: a number if the text is a valid JSON
// number, otherwise a string.
func scalarJSON(text []byte) []byte {
	if json.IsNumber(text) {
		return text
	}
	return edit.Text(text)
}

var slash = []byte("/")

// create adds the row in the body, or either all rows of a list or none.
func (o *Operation) create(part []byte, w *work, r *matcher.Request, p *reply.Reply) *Failed {
	sent, failed := o.body(w, r, true)
	if failed != nil {
		return failed
	}
	p.Status = fasthttp.StatusCreated
	isList := r.JSON().Kind == json.Array
	var all []state.Row
	for i, v := range sent {
		at := "body"
		if isList {
			at = fmt.Sprint("body/", i)
		}
		row, key, what := w.keyed(v.Raw, o.set, o.made, part, r)
		if what != "" {
			return refuse(reply.BadJSON, "%s", what)
		}
		row = o.stamped(row, true, w, r)
		if o.stampsKey {
			if key, what = w.keyOf(edit.Member(row, o.set.key), o.set.key); what != "" {
				return refuse(reply.BadJSON, "%s", what)
			}
		}
		if failed := violations(o.schema, at, row); failed != nil {
			return failed
		}
		if old, _ := o.set.get(&w.tx, part, key); old.Found() {
			return refuse(reply.KeyExists, "the set %q already has a row %q", o.set.declared.Name, wording.Clip(string(key)))
		}
		kept := o.set.put(&w.tx, part, key, state.Row{}, row, r.Now())
		r.Rows[0] = json.Value{Kind: json.Object, Raw: kept}
		if !isList {
			location := append(append(w.room, bytes.TrimSuffix(r.Path(), slash)...), '/')
			p.AddCopy("Location", w.hold(escape.AppendPathSegment(location, key)))
			tagged(p, kept)
			p.Body = o.shown(kept, r)
			return nil
		}
		all = append(all, state.Row{JSON: o.shown(kept, r)})
	}
	p.Body = listOf(all)
	return nil
}

// Failed is a reason why nothing was changed.
type Failed struct {
	Conflict bool          // what the request read has changed: answer it again
	Else     int           // the index of the change whose else response is to be sent; -1 for none
	Failure  reply.Failure // otherwise, the error to send and its message
	Message  string
}

// refuse returns a Failed with an error to send.
func refuse(f reply.Failure, format string, args ...any) *Failed {
	return &Failed{Else: -1, Failure: f, Message: fmt.Sprintf(format, args...)}
}

// ofCommit translates the error of a commit; it returns nil if there is no error.
func ofCommit(err error) *Failed {
	if err == nil {
		return nil
	}
	if full, ok := errors.AsType[*state.FullError](err); ok {
		return refuse(reply.StateFull, "the set %q has no room for more changes", full.Set)
	}
	return &Failed{Conflict: true, Else: -1}
}
