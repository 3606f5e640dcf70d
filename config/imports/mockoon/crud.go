package mockoon

import (
	"cmp"
	"fmt"
	"strconv"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// crud adds a resource over the data bucket of a CRUD route.
func (r *reader) crud(n *syntax.Node) {
	name := "CRUD /" + text(get(n, "endpoint"))
	paths, needs, err := routePaths(r.prefixed(n))
	responses := get(n, "responses").List()
	var set string
	switch {
	case err != nil:
	case len(responses) == 0:
		err = fmt.Errorf("the route has no responses")
	case len(paths) != 1 || len(needs) > 0 || len(paths[0]) > 0 && paths[0][len(paths[0])-1].Kind == language.Rest:
		err = fmt.Errorf("its path cannot be the path of a resource")
	default:
		set, err = r.set(responses[0])
	}
	if err != nil {
		r.AddLost("resource", draft.NewMap("path", r.prefixed(n)), n.Pos(), name, err.Error())
		return
	}
	for _, method := range semantics.Methods { // routes after it may overlap with it
		r.order.Place(method, paths[0])
		r.order.Place(method, append(paths[0][:len(paths[0]):len(paths[0])], language.Segment{Kind: language.Param, Text: "row-id"}))
	}
	e := draft.NewMap("path", paths[0].String(), "data", set,
		"page", draft.Flow(draft.NewMap("size", language.WholeList, "max", language.WholeList)))
	if members := r.members[set]; len(members) > 0 {
		e.Set("filter", draft.Flow(members)).Set("sort", draft.Flow(members))
	}
	draft.SetFlow(e, "latency", milliseconds(get(responses[0], "latency"), get(r.root, "latency")))
	on := syntax.NewMap()
	headers := (&endpoint{reader: r}).begin(responses[0]).headers(responses[0])
	response := syntax.NewMap()
	language.SetTexts(response, headers, &language.Template{})
	for _, operation := range []string{"list", "read", "create", "replace", "change", "remove"} {
		one := syntax.NewMap()
		if operation == "remove" {
			one.Set("status", draft.Of(200))
		}
		if h := response.Get("headers"); h.Len() > 0 && response.Get("template") == nil {
			one.Set("headers", draft.Flow(h))
		}
		if one.Len() > 0 {
			on.Set(operation, draft.Flow(one))
		}
	}
	r.Add("resource", e.Set("on", on), name)
	why := "lists are ordered by ?sort=a,-b instead of sort and order, and filtered by ?a=1 and ?a[gte]=1 instead of a_eq and a_gte; search, a_like, a_start and a_end are unknown, and the whole list cannot be replaced or deleted"
	if len(responses) > 1 {
		why += "; only the first response is imported"
	}
	r.Report(n.Pos(), name, why)
}

// set returns the name of the set with the rows of a data bucket. It declares the set if necessary.
func (r *reader) set(response *syntax.Node) (string, error) {
	id, key := text(get(response, "databucketID")), cmp.Or(text(get(response, "crudKey")), "id")
	if set := r.sets[id+" "+key]; set != "" {
		return set, nil
	}
	bucket := r.bucket(id)
	if bucket == nil {
		return "", fmt.Errorf("it has no data bucket")
	}
	rows := asJSON(text(get(bucket, "value")))
	if rows == nil || rows.Kind != syntax.ListNode {
		return "", fmt.Errorf("its data bucket is not a fixed list in JSON")
	}
	if key != language.Name(key) {
		return "", fmt.Errorf("its key %s cannot be expressed", key)
	}
	newKey, err := keys(rows, key)
	if err != nil {
		return "", err
	}
	set := language.Unique(language.Name(text(get(bucket, "name"))), r.names)
	data := draft.NewMap("name", set)
	if key != "id" {
		data.Set("key", draft.Of(key))
	}
	data.Set("new-key", draft.Of(newKey))
	members, list := language.Scalars(rows), syntax.NewList()
	for _, row := range rows.Items {
		list.Append(draft.Flow(row.Document()))
	}
	if len(members) > 0 {
		data.Set("sort", draft.Flow(members))
	}
	if list.Len() > 0 {
		data.Set("rows", list)
	}
	r.Add("data", data)
	r.members[set], r.sets[id+" "+key] = members, set
	return set, nil
}

// keys returns how new keys are made, or why the rows cannot be the rows of a set.
func keys(rows *syntax.Node, key string) (string, error) {
	how, seen := "uuid", map[string]bool{}
	for _, row := range rows.Items {
		id := get(row, key)
		if id == nil || id.Kind != syntax.TextNode && id.Kind != syntax.NumberNode || id.Text.Value == "" || seen[id.Text.Value] {
			return "", fmt.Errorf("not all rows of its data bucket have a key %s of their own", key)
		}
		seen[id.Text.Value] = true
		if _, err := strconv.Atoi(id.Number); err == nil {
			how = "int"
		}
	}
	return how, nil
}
