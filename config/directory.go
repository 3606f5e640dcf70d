package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// addDirectory appends the declarations and problems of the files in a directory that were not
// given before.
func (s *Spec) addDirectory(dir string) {
	s.files = append(s.files, dir)
	var left files.LeftOut
	members, err := files.ReadDirectory(func() (paths []string, err error) {
		paths, left, err = files.List(dir, syntax.Reads)
		return paths, err
	}, files.Read)
	if len(left.Subdirectories)+len(left.Hidden) > 0 {
		s.leftOut = append(s.leftOut, left.String())
	}
	switch {
	case err != nil:
		var path *fs.PathError // the unreadable directory may be a subdirectory
		name := dir
		if errors.As(err, &path) {
			name = path.Path
		}
		s.Problems = append(s.Problems, fileProblem(name, "the directory cannot be read: "+files.Bare(err).Error()))
	case len(members) == 0:
		s.Problems = append(s.Problems, fileProblem(dir, "the directory contains no file to read; expected a name that ends in "+
			wording.OneOf(syntax.Extensions())+"; hidden files are left out, and so are subdirectories unless the name ends with /..."))
	}
	for _, m := range members {
		if !s.again(m.Path) {
			s.addRead(m.Path, m.Data, m.Err, true)
		}
	}
}

// withoutStrays removes the documents that do not seem to be configurations from a file in a
// directory. It reports them as such instead of reporting the errors inside them.
func withoutStrays(name string, docs []*syntax.Node, problems syntax.Problems) ([]*syntax.Node, syntax.Problems) {
	extension := strings.ToLower(filepath.Ext(name))
	if len(docs) == 0 && len(problems) > 0 && (extension == ".json" || extension == ".edn") {
		problems[0].What += strayHint()
	}
	kept := make([]*syntax.Node, 0, len(docs))
	for i, doc := range docs {
		wrong := stray(doc)
		if len(wrong) == 0 {
			kept = append(kept, doc)
			continue
		}
		problems = slices.DeleteFunc(problems, func(p syntax.Problem) bool {
			return !p.Pos.Before(doc.Pos()) && (i+1 == len(docs) || p.Pos.Before(docs[i+1].Pos()))
		})
		problems = append(problems, wrong...)
	}
	return kept, problems
}

// stray returns a problem if a document that is read only because it is in a directory of
// configurations seems to be data rather than a configuration. It returns none if the document may
// be a configuration. The problem is reported once, not for each item of a long list.
func stray(doc *syntax.Node) syntax.Problems {
	switch {
	case mayBeItem(doc), isDocument(doc), looksLikeMocks(doc): // the first item lacks its "- "
		return nil
	case doc.Kind != syntax.ListNode:
		wrong := notAList(doc)
		for i := range wrong {
			wrong[i].What += strayHint()
		}
		return wrong
	case len(doc.Items) == 0 || slices.ContainsFunc(doc.Items, mayBeItem):
		return nil
	}
	what := "no item of this list"
	if doc.Items[0].Pos() == doc.Pos() { // an EDN map without brackets around it
		what = "nothing in it"
	}
	return syntax.Problems{{Pos: doc.Pos(), What: what + " has the key " + item.Names + strayHint()}}
}

// mayBeItem reports whether a node has a key of an item, or a similar one.
func mayBeItem(n *syntax.Node) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		key := e.Key.Text.Value
		near := wording.Nearest(key, table.Keys(item.Fields))
		// A key similar to data does not count: path, date and state are also similar to it.
		return slices.Contains(table.Keys(item.Fields), key) || near != "" && near != "data"
	})
}

// strayHint returns a hint for those who keep data next to their configurations.
func strayHint() string {
	return "; all " + strings.Join(syntax.Extensions(), ", ") + " files of a directory are read as configurations: " +
		"keep data in a subdirectory, which is read only with DIR/..., or in a hidden one"
}
