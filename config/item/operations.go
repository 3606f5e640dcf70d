package item

import (
	"slices"
	"strings"

	"mockserver/config/table"
	"mockserver/internal/address"
)

func decodeResource(d *table.Decoder, v table.Value) (*Resource, []Endpoint) {
	r := &Resource{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, resourceFields, r)
	r.Set = r.setName()
	c := table.Check(r.Pos, r.Key, v.Node, d.Reported)
	r.Group.Check(c, r.Path.Value, nil)
	checkFault(c, r.Fault, "", []string{"fault"})
	d.AddAll(append(r.faults(), c.Problems...))
	operations := r.endpoints()
	for i := range operations {
		Finish(d, &operations[i], v.Key, v.Node)
	}
	return r, operations
}

// endpoints returns the endpoints of the operations.
func (r *Resource) endpoints() []Endpoint {
	methods := map[string]string{"list": "GET", "read": "GET", "create": "POST", "replace": "PUT", "change": "PATCH", "remove": "DELETE"}
	param := r.rowParam()
	var all []Endpoint
	for _, name := range ResourceOperations {
		if r.Allow != nil && !slices.Contains(r.Allow, name) {
			continue
		}
		e := Endpoint{
			Pos: r.Pos, Key: r.Key, Host: r.Host, Method: methods[name], Path: r.Path,
			Resource: &Operation{r, name, param},
		}
		if name != "list" && name != "create" {
			e.Path.Value = strings.TrimSuffix(r.Path.Value, "/") + "/:" + param
		}
		e.Group = r.Group
		if on := r.On[name]; on != nil {
			e.If, e.Response, e.Webhooks, e.Responses, e.Select = on.If, on.Response, on.Webhooks, on.Responses, on.Select
			e.Group = on.Group.Over(r.Group)
		}
		all = append(all, e)
	}
	return all
}

// rowParam returns the name of the parameter that holds the key of a row: id, or another name if
// the path already has a parameter id.
func (r *Resource) rowParam() string {
	known := address.PathParams(r.Path.Value)
	for _, name := range []string{"id", "key", "row"} {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return "row-key"
}
