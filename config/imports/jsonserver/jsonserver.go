// Package jsonserver imports the db.json of json-server: each array becomes a resource over a set
// of rows, or a fixed list if its items have no unique ids. Each object becomes a row that can be
// read, replaced and changed. Lists have the query parameters of json-server.
package jsonserver

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/json"
)

// inPlace is the maximum size, in bytes, of a set of rows that is written into the configuration;
// larger sets are written to a file.
const inPlace = 16 << 10

// askedRows is the maximum number of rows of a list that a check requests.
const askedRows = 20

// Recognizes reports whether a source may be a db.json: a map of lists and maps only, apart from
// $schema.
func Recognizes(s *draft.Source) bool {
	shape := s.Shape()
	if shape.Kind != '{' || len(shape.Keys) == 0 {
		return false
	}
	for key, first := range shape.Keys {
		if first != '{' && first != '[' && key != "$schema" {
			return false
		}
	}
	return true
}

// Read adds the declarations of a db.json.
func Read(s *draft.Source, d *draft.Draft, _ draft.Options) error {
	root, err := s.Nodes()
	if err != nil {
		return err
	}
	if root.Kind != syntax.MapNode {
		return s.ProblemAt(root, "is %v; expected a map of collections", root.Kind)
	}
	im := importer{Draft: d, root: root, sets: map[string]string{}}
	names := map[string]bool{}
	for i := range root.Entries {
		if name := root.Entries[i].Key.Text.Value; name != "$schema" && !isNameless(name) && keyless(root.Entries[i].Value) == "" {
			im.sets[name] = language.Unique(language.Name(name), names)
		}
	}
	for i := range root.Entries {
		im.entry(&root.Entries[i])
	}
	if root.Get("db") == nil {
		im.database()
		im.Report(s.Pos(0, 0), "/db")
	}
	return nil
}

type importer struct {
	*draft.Draft
	root *syntax.Node
	sets map[string]string // their names, by the name of the collection; not of fixed lists
}

func (im *importer) entry(e *syntax.Entry) {
	name := e.Key.Text.Value
	switch {
	case name == "$schema":
	case isNameless(name):
		im.Lost(e.Key.Pos(), name, "the name of a collection cannot be empty or contain a slash")
	case e.Value.Kind == syntax.ListNode:
		im.collection(e, name)
	case e.Value.Kind == syntax.MapNode:
		im.object(e, name)
	default:
		im.Lost(e.Key.Pos(), "/"+name, "it is %v; json-server serves lists and maps only", e.Value.Kind)
	}
}

// isNameless reports whether json-server cannot serve a collection because of its name.
func isNameless(name string) bool { return name == "" || strings.Contains(name, "/") }

// collection adds a resource, or a fixed list if its rows have no unique keys.
func (im *importer) collection(e *syntax.Entry, name string) {
	path := language.Path{{Text: name}}.String()
	if why := keyless(e.Value); why != "" {
		im.Add("endpoint", draft.NewMap("path", path, "response", draft.NewMap("headers", draft.NewMap("Content-Type", "application/json"),
			"template", false, "body", language.JSON(e.Value))))
		im.ask(e.Value, name, "")
		im.Report(e.Key.Pos(), path, why+", so the list is fixed: it can be read, but not filtered or changed")
		return
	}
	set := im.sets[name]
	data := draft.NewMap("name", set, "new-key", newKeys(e.Value))
	if text := language.JSON(e.Value); len(text) > inPlace {
		file := im.AddFile(draft.File{Name: "data/" + set + ".json", Data: []byte(text)})
		data.Set("from", draft.NewMap("path", file))
	} else if len(e.Value.Items) > 0 {
		rows := syntax.NewList()
		for _, row := range e.Value.Items {
			rows.Append(draft.Flow(row.Document()))
		}
		data.Set("rows", rows)
	}
	members := im.members(e)
	if len(members) > 0 {
		data.Set("sort", draft.Flow(members))
	}
	im.Add("data", data)
	im.Add("resource", im.resource(path, name, members))
	if len(e.Value.Items) <= language.WholeList {
		im.Report(e.Key.Pos(), path)
		im.ask(e.Value, name, "")
	} else {
		im.Report(e.Key.Pos(), path, fmt.Sprintf("the list has more than %d rows, which is the longest page; /db is refused", language.WholeList))
	}
	for _, row := range e.Value.Items[:min(len(e.Value.Items), askedRows)] {
		im.ask(row, name, "/"+url.PathEscape(row.Get("id").Text.Value))
	}
	for _, member := range members {
		im.relation(name, member, members)
	}
}

// ask adds the request for a value.
func (im *importer) ask(value *syntax.Node, name, below string) {
	im.Asks = append(im.Asks, draft.Ask{Pos: value.Pos(), Name: "/" + name, Method: "GET", Target: "/" + url.PathEscape(name) + below,
		Want: []draft.Response{{Status: 200, Body: []byte(language.JSON(value)), JSON: true}}})
}

// resource returns the declaration of a resource over the set of a collection.
func (im *importer) resource(path, name string, members []string) *syntax.Node {
	r := draft.NewMap("path", path, "data", im.sets[name], "dialect", "json-server", "page", draft.Flow(draft.NewMap("size", language.WholeList, "max", language.WholeList)))
	if len(members) > 0 {
		r.Set("filter", draft.Flow(members)).Set("sort", draft.Flow(members))
	}
	if children := im.children(name); len(children.Entries) > 0 {
		r.Set("children", draft.Flow(children))
	}
	return r
}

// relation adds, for a member such as postId, the resource below a row of the collection that the
// member refers to, such as /posts/1/comments. It does nothing if there is no such collection.
func (im *importer) relation(name, member string, members []string) {
	for _, parent := range im.root.Entries {
		of := parent.Key.Text.Value
		if parent.Value.Kind != syntax.ListNode || member != reference(of) {
			continue
		}
		path := language.Path{{Text: of}, {Kind: language.Param, Text: language.Name(member)}, {Text: name}}.String()
		im.Add("resource", im.resource(path, name, members).Set("parent", draft.Flow(draft.NewMap(language.Name(member), member))).
			Set("allow", draft.Flow([]string{"list", "create"})))
	}
}

// children returns the sets whose rows json-server removes with a row of a collection, and their members that refer
// to it.
func (im *importer) children(name string) *syntax.Node {
	all := draft.NewMap()
	for i := range im.root.Entries {
		e := &im.root.Entries[i]
		set := im.sets[e.Key.Text.Value]
		if set != "" && e.Value.Kind == syntax.ListNode && slices.Contains(im.members(e), reference(name)) {
			all.Set(set, syntax.NewText(reference(name)))
		}
	}
	return all
}

// members returns the members of a list by which requests filter and order without looking at each row: those of its
// rows or, of an empty list, those by which rows may refer to other lists.
func (im *importer) members(of *syntax.Entry) []string {
	all := language.Scalars(of.Value)
	for _, e := range im.root.Entries {
		name, member := e.Key.Text.Value, reference(e.Key.Text.Value)
		if len(of.Value.Items) == 0 && im.sets[name] != "" && e.Value.Kind == syntax.ListNode && name != of.Key.Text.Value &&
			member == language.Name(member) && !slices.Contains(all, member) {
			all = append(all, member)
		}
	}
	return all
}

// reference returns the name of the members that refer to rows of a list, such as postId for posts.
func reference(name string) string { return language.Singular(name) + "Id" }

// keyless returns why the rows of a list have no unique keys; "" if they have unique keys.
func keyless(list *syntax.Node) string {
	seen := map[string]bool{}
	for _, row := range list.Items {
		if row.Kind != syntax.MapNode {
			return "not all of its items are objects"
		}
		id := row.Get("id")
		if id == nil || id.Kind != syntax.TextNode && id.Kind != syntax.NumberNode || id.Text.Value == "" {
			return "not all of its items have an id"
		}
		if text := id.Text.Value; json.IsNumber([]byte(text)) && (text == "-0" || strings.Contains(text, ".") || id.Kind == syntax.NumberNode && strings.ContainsAny(text, "eE")) {
			return fmt.Sprintf("the id %s is not written as an integer", text) // 1, 1.0 and 1e0 are one key here
		}
		if seen[id.Text.Value] {
			return fmt.Sprintf("two of its items have the id %s", id.Text.Value)
		}
		seen[id.Text.Value] = true
	}
	return ""
}

// newKeys returns how the keys of new rows are made. As in json-server, they are numbers if all
// existing keys are.
func newKeys(list *syntax.Node) string {
	for _, row := range list.Items {
		if _, err := strconv.Atoi(row.Get("id").Number); err != nil {
			return "{{random-text(7)}}"
		}
	}
	return "int"
}

// database adds the endpoint of all collections.
func (im *importer) database() {
	find := draft.NewMap()
	var members []string
	for i, e := range im.root.Entries {
		set, name := im.sets[e.Key.Text.Value], "all"+strconv.Itoa(i)
		value := draft.Literal(language.JSON(e.Value))
		switch {
		case set != "" && e.Value.Kind == syntax.MapNode:
			find.Set(name, draft.Flow(draft.NewMap("in", set, "key", "1")))
			value = "{{" + name + ".value}}"
		case set != "" && e.Value.Kind == syntax.ListNode:
			find.Set(name, draft.Flow(draft.NewMap("in", set, "pick", "all")))
			value = "{{" + name + "}}"
		}
		members = append(members, draft.Literal(language.JSON(e.Key))+":"+value)
	}
	body := "{" + strings.Join(members, ",") + "}"
	response := draft.NewMap("headers", draft.NewMap("Content-Type", "application/json"), "body", body)
	im.Add("endpoint", draft.NewMap("path", "/db", "find", find, "response", response))
}

// object adds a single object: a row of a set of its own, which requests read, replace and change.
func (im *importer) object(e *syntax.Entry, name string) {
	path, set := language.Path{{Text: name}}.String(), im.sets[name]
	json := draft.NewMap("Content-Type", "application/json")
	find := draft.NewMap("one", draft.Flow(draft.NewMap("in", set, "key", "1")))
	body := "{{one.value}}"
	im.Add("data", draft.NewMap("name", set, "rows", syntax.NewList(draft.Flow(draft.NewMap("id", 1, "value", e.Value.Document())))))
	im.Add("endpoint", draft.NewMap("path", path, "find", find, "response", draft.NewMap("headers", json, "body", body)))
	im.ask(e.Value, name, "")
	for _, change := range []struct {
		method, how string
		status      int
	}{{"PUT", "put", 200}, {"POST", "put", 201}, {"PATCH", "merge", 200}} {
		with := draft.NewMap("id", 1, "value", "{{json-params}}")
		do := draft.NewMap(change.how, draft.NewMap("in", set, "key", "1", "with", draft.Flow(with), "as", "one"))
		response := draft.NewMap("status", change.status, "headers", json, "body", body)
		im.Add("endpoint", draft.NewMap("method", change.method, "path", path, "do", syntax.NewList(do), "response", response))
	}
	im.Report(e.Key.Pos(), path, "PATCH removes members that are null and changes nested objects member by member (RFC 7396); json-server stores null and replaces objects")
}
