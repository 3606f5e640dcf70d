package admin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"mockserver/listener/memory/data"
	liststate "mockserver/listener/memory/state"
	"mockserver/listener/observe/record"
)

// inPart is the query parameter that selects isolated rows.
var inPart = parameter{"part", "string", "the value that isolates the rows; if left out, the rows that all requests see"}

// rowsMedia is the media type of a sequence of rows.
const rowsMedia = "application/x-ndjson"

// shownSet contains the counters of a set.
type shownSet struct {
	record.SetCounts
	Some []string `json:"some_parts,omitempty" doc:"up to 20 of the isolated parts"`
}

// shownSets contains all sets.
type shownSets struct {
	Sets []shownSet `json:"sets" doc:"the sets, by name"`
}

// showState returns the sets and their counters.
func (a *Admin) showState(w http.ResponseWriter, _ *http.Request) {
	shown := shownSets{Sets: []shownSet{}}
	for _, f := range a.server.Control().Data().Figures() {
		one := shownSet{SetCounts: f}
		if set := a.server.Control().Data().Set(f.Name); set != nil {
			one.Some = set.Parts(20)
		}
		shown.Sets = append(shown.Sets, one)
	}
	respond(w, http.StatusOK, shown)
}

// asksReset is the body of a request that resets sets.
type asksReset struct {
	Sets []string `json:"sets,omitempty" doc:"names of the sets; all sets if left out"`
	Part *string  `json:"part,omitempty" doc:"one isolated part; all parts if left out"`
}

// resetState drops changes to rows, as the body specifies. An empty body drops all changes.
func (a *Admin) resetState(w http.ResponseWriter, r *http.Request) {
	var body asksReset
	if r.ContentLength != 0 && !read(w, r, &body) {
		return
	}
	var part []byte
	if body.Part != nil {
		part = []byte(*body.Part)
	}
	respondRows(w, a.server.Control().Data().Reset(body.Sets, part), http.StatusOK, state{Status: "reset"})
}

// respondRows responds to a request about a set: with a value, or nothing for nil, unless the request
// cannot be carried out.
func respondRows(w http.ResponseWriter, err error, status int, value any) {
	var full *liststate.FullError
	switch {
	case err == nil && value == nil:
		w.WriteHeader(status)
	case err == nil:
		respond(w, status, value)
	case errors.Is(err, data.ErrNoSet):
		refuse(w, http.StatusNotFound, "set_not_found", "No such set", err.Error())
	case errors.Is(err, data.ErrNoRow):
		refuse(w, http.StatusNotFound, "row_not_found", "No such row", err.Error())
	case errors.Is(err, data.ErrNoSnapshot):
		refuse(w, http.StatusNotFound, "snapshot_not_found", "No such snapshot", err.Error())
	case errors.Is(err, data.ErrSnapshots):
		refuse(w, http.StatusConflict, "too_many_snapshots", "Too many snapshots", err.Error()+"; delete one first")
	case errors.As(err, &full):
		refuse(w, http.StatusInsufficientStorage, "state_full", "No room for changes", err.Error())
	default:
		badBody(w, err.Error())
	}
}

// asksSnapshot is the body of a request for a snapshot.
type asksSnapshot struct {
	Name string `json:"name" doc:"name of the snapshot, at most 100 bytes; a snapshot with the same name is replaced"`
}

// takeSnapshot stores the current changes under a name.
func (a *Admin) takeSnapshot(w http.ResponseWriter, r *http.Request) {
	var body asksSnapshot
	if !read(w, r, &body) {
		return
	}
	if body.Name == "" || len(body.Name) > 100 || strings.ContainsAny(body.Name, "/\x00") {
		badBody(w, "name is empty, longer than 100 bytes, or contains a slash")
		return
	}
	taken, err := a.server.Control().Data().Take(body.Name)
	respondRows(w, err, http.StatusCreated, taken)
}

// shownSnapshots contains the snapshots that are kept.
type shownSnapshots struct {
	Snapshots []data.Snapshot `json:"snapshots" doc:"the snapshots, the oldest first"`
}

func (a *Admin) removeSnapshot(w http.ResponseWriter, r *http.Request) {
	respondRows(w, a.server.Control().Data().Forget(r.PathValue("name")), http.StatusNoContent, nil)
}

func (a *Admin) restoreSnapshot(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	respondRows(w, a.server.Control().Data().Restore(name), http.StatusOK, state{ID: name, Status: "restored"})
}

// shownRows contains rows of a set.
type shownRows struct {
	Rows    []json.RawMessage `json:"rows" doc:"the rows, in the order of insertion"`
	Total   int               `json:"total" doc:"how many rows there are"`
	Changes []shownRowChange  `json:"changes,omitempty" doc:"the changed rows, instead of rows, with changed=true"`
}

// shownRowChange is a change to a row.
type shownRowChange struct {
	Key  string          `json:"key" doc:"key of the row"`
	Part *string         `json:"part,omitempty" doc:"the value that isolates the row; left out for rows that all requests see"`
	Row  json.RawMessage `json:"row" doc:"the row as it is now; null if it was deleted"`
}

// changesOf returns up to limit changes of a set, in all parts.
func changesOf(set *liststate.Set, limit int) (changes []shownRowChange) {
	set.Changes(func(c liststate.Change) bool {
		if c.JSON == nil && c.Taken {
			return true // a row of the base that was only picked
		}
		one := shownRowChange{Key: string(c.Key), Row: c.JSON}
		if c.Isolated {
			one.Part = &c.Part
		}
		if c.JSON == nil {
			one.Row = json.RawMessage("null")
		}
		changes = append(changes, one)
		return len(changes) < limit
	})
	return changes
}

// partOf returns the part that a request asks for; nil for the rows that are not isolated.
func partOf(r *http.Request) []byte {
	if values := r.URL.Query(); values.Has("part") {
		return []byte(values.Get("part"))
	}
	return nil
}

// showRows returns rows as a list or, if the client accepts rowsMedia, all rows as a sequence.
func (a *Admin) showRows(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	limit, offset := q.number("limit", 100, 1, 10_000), q.number("offset", 0, 0, 1<<31-1)
	if q.refused(w) {
		return
	}
	set, part := a.server.Control().Data().Set(r.PathValue("set")), partOf(r)
	if set == nil {
		respondRows(w, data.ErrNoSet, 0, nil)
		return
	}
	rows := set.All(part)
	if strings.Contains(r.Header.Get("Accept"), rowsMedia) {
		w.Header().Set("Content-Type", rowsMedia)
		rows.Each(0, 1, func(row liststate.Row) bool {
			_, err := w.Write(append(append([]byte(nil), row.JSON...), '\n'))
			return err == nil
		})
		return
	}
	shown := shownRows{Rows: []json.RawMessage{}, Total: rows.Len()}
	switch {
	case q.values.Get("changed") == "true":
		shown.Changes, shown.Total = changesOf(set, limit), int(set.Figures().Changes)
	case q.values.Has("key"):
		if row := a.server.Control().Data().Row(set.Name, part, []byte(q.values.Get("key"))); row.Found() {
			shown.Rows = append(shown.Rows, row.JSON)
		}
	default:
		rows.Each(offset, 1, func(row liststate.Row) bool {
			shown.Rows = append(shown.Rows, row.JSON)
			return len(shown.Rows) < limit
		})
	}
	respond(w, http.StatusOK, shown)
}

// writeRow returns the handler that writes the row in the body, and responds with the resulting row.
func (a *Admin) writeRow(merge bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestRow))
		if err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, "payload_too_large", "Request body too large", "the body is larger than 16 MiB, or cannot be read")
			return
		}
		row, err := a.server.Control().Data().Put(r.PathValue("set"), partOf(r), []byte(r.PathValue("key")), body, merge)
		respondRows(w, err, http.StatusOK, json.RawMessage(row))
	}
}

// largestRow is the maximum size of a row in bytes.
const largestRow = 16 << 20

func (a *Admin) deleteRow(w http.ResponseWriter, r *http.Request) {
	respondRows(w, a.server.Control().Data().Delete(r.PathValue("set"), partOf(r), []byte(r.PathValue("key"))), http.StatusNoContent, nil)
}
