package data

import (
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/listener/memory/state"
	"mockserver/listener/observe/record"
	"mockserver/renderer"
)

// Operation is one operation of a resource, compiled. It is immutable.
type Operation struct {
	Name   string // of its endpoint, for messages
	sets   *Sets
	set    *set
	part   *renderer.Operand
	made   *newKeys
	config *item.Operation
	operation
	row       int      // the index of the path parameter with the key of the row; -1 for a collection
	parents   []parent // in the order of the path
	filters   []*state.Member
	sorts     []*state.Member
	schema    *validate.Schema // nil if any row is valid
	relations []relation
	item      *renderer.Template // nil if rows are shown as they are
	list      *renderer.Template // nil if the page style defines the form of a list
	size      int
	most      int

	created, updated []string // the paths to members with times; nil if none
	stampsKey        bool     // the key of a row is such a member, or has the value of a parameter
}

// parent is a path parameter whose value must equal a member of the rows.
type parent struct {
	param  int
	way    []string // the path to the member
	member *state.Member
}

// The names that templates of a resource may use.
var (
	rowNames  = []string{"row"}
	listNames = []string{"items", "page"}
)

// CompileOperation compiles an operation of a resource, and adds the names of its results to the
// scope.
func (s *Sets) CompileOperation(e *item.Endpoint, scope *renderer.Scope) (*Operation, syntax.Problems) {
	c := e.Resource
	o := &Operation{Name: record.Name(e), sets: s, config: c, operation: operationOf[c.Name], row: slices.Index(scope.Params, c.Row)}
	scope.Rows = rowNames
	var problems syntax.Problems
	if o.set, problems = s.find(syntax.Text{Value: c.Set, Pos: c.Pos, Key: c.Key + ".data"}); o.set == nil {
		return o, problems
	}
	o.made = o.set.made
	if c.Data == nil && c.NewKey.Value != "" {
		o.made = into[*newKeys](&problems)(compileNewKeys(&item.Data{NewKey: c.NewKey}))
		if o.set.made != nil { // a set with errors lacks it
			o.made.largest = o.set.made.largest
		}
	}
	o.part = into[*renderer.Operand](&problems)(o.set.isolation(scope))
	member := into[*state.Member](&problems)
	for i, param := range scope.Params {
		if i == o.row {
			continue
		}
		m := member(o.set.ordered(syntax.Text{Value: c.Member(param), Pos: c.Pos, Key: c.Key + ".parent." + wording.Label(param)}))
		o.parents = append(o.parents, parent{i, strings.Split(c.Member(param), "."), m})
	}
	for _, name := range c.Filter {
		o.filters = append(o.filters, member(o.set.ordered(name)))
	}
	for _, name := range c.Sort {
		o.sorts = append(o.sorts, member(o.set.ordered(name)))
	}
	if c.Name == "create" || c.Name == "replace" || c.Name == "change" {
		o.schema = into[*validate.Schema](&problems)(compileSchema(c.Resource, e.Dir))
	}
	problems = append(problems, o.compileRelations(scope)...)
	o.size, o.most = c.Page.EffectiveSize()
	if c.Stamp.Created != "" {
		o.created = strings.Split(c.Stamp.Created, ".")
	}
	if c.Stamp.Updated != "" {
		o.updated = strings.Split(c.Stamp.Updated, ".")
	}
	o.stampsKey = o.created != nil && overlap(o.created, o.set.key) || o.updated != nil && overlap(o.updated, o.set.key) ||
		slices.ContainsFunc(o.parents, func(p parent) bool { return overlap(p.way, o.set.key) })
	template := into[*renderer.Template](&problems)
	o.item = template(o.template(c.Item, scope))
	if c.Name == "list" {
		scope.Rows = listNames
		o.list = template(o.template(c.List, scope))
	}
	return o, problems
}

// template compiles one of the resource's templates; it returns nil for an empty text.
func (o *Operation) template(text syntax.Text, scope *renderer.Scope) (*renderer.Template, syntax.Problems) {
	if text.Value == "" {
		return nil, nil
	}
	return renderer.Compile(text, renderer.JSON, scope)
}

// known reports whether a parameter is one that selects a page.
func (o *Operation) known(param string) bool {
	return slices.ContainsFunc(item.PageNames(o.config.Page.Style), func(name string) bool { return o.parameter(name) == param })
}

// parameter returns the name of a parameter: the declared name, or else the name in the page style.
func (o *Operation) parameter(name string) string {
	for _, other := range o.config.Page.Names {
		if other.Name == name {
			return other.Value.Text.Value
		}
	}
	if o.config.Dialect != "" {
		return "_" + name
	}
	return name
}
