// Package wiremock imports stub mappings of WireMock 2 to 4: a file with one or several, or a
// directory with mappings and __files. Mappings are placed in the order in which WireMock tries
// them: by priority; with the same priority, the last one first.
package wiremock

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/files"
	"mockserver/internal/semantics"
)

// defaultPriority is the priority of a mapping without one.
const defaultPriority = 5

// Recognizes reports whether a source, or one of the first files of a directory, has mappings. A directory without such
// files may be named mappings.
func Recognizes(s *draft.Source) bool {
	if !s.Dir {
		shape := s.Shape()
		return shape.Kind == '{' && (shape.Has("request", "response") || shape.Keys["mappings"] == '[')
	}
	names, err := mappingFiles(s)
	return err == nil && len(names) == 0 && filepath.Base(s.Name) == "mappings" ||
		slices.ContainsFunc(names[:min(len(names), 20)], func(name string) bool {
			file, err := draft.OpenSource(name)
			return err == nil && Recognizes(file)
		})
}

// mappingFiles returns the files of a directory that may contain mappings, sorted by name: those in
// its subdirectory mappings if there is one, and none of those in __files.
func mappingFiles(s *draft.Source) ([]string, error) {
	root := s.Name
	if inner := filepath.Join(root, "mappings"); files.IsListed(inner) {
		root = inner
	}
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "__files":
			return filepath.SkipDir
		case !entry.IsDir() && strings.EqualFold(filepath.Ext(path), ".json"):
			if names = append(names, path); len(names) > draft.MaxItems {
				return filepath.SkipAll
			}
		}
		return nil
	})
	return names, err
}

// Read adds the mappings of a file or directory.
func Read(s *draft.Source, d *draft.Draft, opts draft.Options) error {
	r := &reader{Draft: d, templated: opts.Templated, scenarios: map[string]string{}, taken: map[string]bool{}, strict: map[string]bool{}}
	if !s.Dir {
		dir := filepath.Dir(s.Name)
		if err := r.file(s, filepath.Join(dir, "__files"), filepath.Join(filepath.Dir(dir), "__files")); err != nil {
			return err
		}
	} else {
		names, err := mappingFiles(s)
		if err != nil {
			return s.Problem(0, 0, "%v", err)
		}
		var problems syntax.Problems
		for _, name := range names {
			file, err := draft.OpenSource(name)
			if err == nil {
				err = r.file(file, filepath.Join(s.Name, "__files"), filepath.Join(filepath.Dir(s.Name), "__files"))
			}
			if all, ok := err.(syntax.Problems); ok {
				problems = append(problems, all...)
			} else if err != nil {
				problems = append(problems, syntax.Problem{Pos: syntax.Pos{File: name}, What: err.Error()})
			}
		}
		if err := problems.Err(); err != nil {
			return err
		}
	}
	r.write()
	return nil
}

// file reads the mappings of a file.
func (r *reader) file(s *draft.Source, dirs ...string) error {
	root, err := s.Nodes()
	if err != nil {
		return err
	}
	list := []*syntax.Node{root}
	if all := get(root, "mappings"); all != nil {
		if all.Kind != syntax.ListNode {
			return s.ProblemAt(all, "mappings is %v; expected a list", all.Kind)
		}
		list = all.Items
	}
	var c checker
	for _, n := range list {
		if n.Kind != syntax.MapNode {
			return s.ProblemAt(n, "a mapping is %v; expected a map", n.Kind)
		}
		c.check("the mapping", n, "m>mapping")
		r.mappings = append(r.mappings, &mapping{Node: n, priority: integer(get(n, "priority"), defaultPriority), dirs: dirs})
	}
	return c.problems.Err()
}

// write adds the scenarios and endpoints of all mappings.
func (r *reader) write() {
	slices.Reverse(r.mappings) // the last one is tried first
	slices.SortStableFunc(r.mappings, func(a, b *mapping) int { return cmp.Compare(a.priority, b.priority) })
	for _, m := range r.mappings {
		request := get(m.Node, "request")
		for _, key := range []string{"url", "urlPath"} {
			if path, _, _ := strings.Cut(text(get(request, key)), "?"); len(path) > 1 && strings.HasSuffix(path, "/") {
				r.strict[strings.TrimSuffix(path, "/")] = true
			}
		}
		r.scenario(m)
	}
	all := make([]*made, len(r.mappings))
	for i, m := range r.mappings {
		all[i] = r.place(m)
	}
	// An endpoint for any method comes after those for one: none of these may follow in the source and overlap.
	later := map[string]bool{} // the first segments of mappings for one method
	for _, m := range slices.Backward(all) {
		first := ""
		if len(m.path) > 0 && m.path[0].Kind == language.Literal {
			first = "/" + m.path[0].Text
		} else if len(m.path) > 0 {
			first = "*"
		}
		m.any = len(m.methods) == len(semantics.Methods) && !later[first] && !later["*"] && (first != "*" || len(later) == 0)
		for _, p := range m.placed {
			m.any = m.any && p.condition == m.placed[0].condition && slices.Equal(p.path, m.placed[0].path)
		}
		if !m.any && m.Gone == "" {
			later[first] = true
		}
	}
	for _, m := range all {
		r.mapping(m)
	}
}

// place reads the request of a mapping, and places it among those before it.
func (r *reader) place(n *mapping) *made {
	m := &made{reader: r, mapping: n}
	for _, e := range n.Entries {
		if key := e.Key.Text.Value; !slices.Contains(keys, key) {
			m.Note("the key " + key + " is unknown")
		}
	}
	m.request(get(n.Node, "request"))
	m.name = m.label()
	if m.Gone == "" {
		for _, method := range m.methods {
			path, condition := r.order.Place(method, m.path)
			m.placed = append(m.placed, placed{path, condition})
		}
	}
	return m
}

// mapping adds the endpoints of a mapping: one for each method that it answers, or one for any.
func (r *reader) mapping(m *made) {
	if m.Gone != "" {
		r.off(m)
		return
	}
	var declarations []*syntax.Node
	for i, method := range m.methods {
		if m.any {
			method = "any"
		}
		m.written = m.placed[i].path
		e := draft.NewMap("method", method, "path", m.written.String())
		e.SetText("if", language.Outermost(language.And(append([]string{m.placed[i].condition}, m.needs...)...)))
		r.enter(e, m.mapping)
		m.response(e)
		if declarations = append(declarations, e); m.any {
			break
		}
	}
	if m.Gone != "" {
		r.off(m)
		return
	}
	r.Add("endpoint", declarations[0], m.name)
	r.Report(m.Pos(), m.name, m.Differ...)
	for _, e := range declarations[1:] {
		r.Add("endpoint", e)
	}
}

// off adds the known parts of a mapping that cannot be served, commented out.
func (r *reader) off(m *made) {
	e := draft.NewMap("method", "GET", "path", m.path.String())
	if len(m.methods) == len(semantics.Methods) {
		e.Set("method", draft.Of("any"))
	} else if len(m.methods) > 0 {
		e.Set("method", draft.Of(m.methods[0]))
	}
	e.SetText("if", language.Outermost(language.And(m.needs...)))
	shown := syntax.NewMap()
	if status := integer(get(m.Node, "response", "status"), 200); status >= 200 && status <= 599 {
		shown.Set("status", draft.Of(status))
	}
	a := &response{made: m, node: get(m.Node, "response")}
	if headers := get(a.node, "headers"); headers != nil {
		shown.Set("headers", headers.Document())
	}
	why := m.Gone // before that of the body
	body, _ := a.body()
	shown.SetText("body", body)
	r.AddLost("endpoint", e.Set("response", shown), m.Pos(), m.name, why)
}
