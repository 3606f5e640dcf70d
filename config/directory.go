package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// member is a file of a directory, as it was read.
type member struct {
	path string
	look look // before it was read
	data []byte
	err  error
}

// directoryTries bounds how often a directory is read that changes meanwhile.
const directoryTries = 5

// readDirectory reads the files of a directory, all as of one time: when one of
// them came, went or changed meanwhile, as at the swap of a mounted ConfigMap, it
// begins anew. A directory that never stands still is returned as it was read last.
// The error is that of a directory that cannot be listed.
func readDirectory(dir string, read func(path string) ([]byte, error)) ([]member, error) {
	var members []member
	for range directoryTries {
		paths, err := listDirectory(dir)
		if err != nil {
			return nil, err
		}
		members = members[:0]
		for _, path := range paths {
			m := member{path: path, look: lookAt(path)}
			m.data, m.err = read(path)
			members = append(members, m)
		}
		if standStill(dir, members) {
			break
		}
	}
	return slices.DeleteFunc(members, func(m member) bool { return errors.Is(m.err, errDirectory) }), nil
}

// standStill tells whether a directory and its files are still what was read.
func standStill(dir string, members []member) bool {
	paths, err := listDirectory(dir)
	if err != nil || len(paths) != len(members) {
		return false
	}
	for i, m := range members {
		if paths[i] != m.path || !lookAt(m.path).same(m.look) {
			return false
		}
	}
	return true
}

// addDirectory appends the endpoints and problems of the files in a directory.
func (s *Spec) addDirectory(dir string) {
	s.files = append(s.files, dir)
	if left := leftOut(dir); len(left.Subdirectories)+len(left.Hidden) > 0 {
		s.leftOut = append(s.leftOut, left)
	}
	members, err := readDirectory(dir, readFile)
	switch {
	case err != nil:
		var path *fs.PathError // it may be a subdirectory
		name := dir
		if errors.As(err, &path) {
			name = path.Path
		}
		s.Problems = append(s.Problems, fileProblem(name, "the directory cannot be read: "+bare(err).Error()))
	case len(members) == 0:
		s.Problems = append(s.Problems, fileProblem(dir, "the directory holds no file to read: the extension is "+
			wording.OneOf(syntax.Extensions())+"; hidden files are left out, and subdirectories unless the name ends with /..."))
	}
	for _, m := range members {
		if !s.again(m.path) {
			s.addRead(m.path, m.data, m.err, true)
		}
	}
}

// withoutStrays leaves out the documents of a listed file that seem to be no
// configuration, and says so instead of what is wrong inside of them.
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

// stray returns the problem of a document that seems to be no configuration but
// data, which is read only because it lies in a directory of configurations; none
// when it may be one. It is told once, rather than for each item of a long list.
func stray(doc *syntax.Node) syntax.Problems {
	switch {
	case mayBeItem(doc), isDocument(doc), looksLikeMocks(doc): // the first lacks its "- "
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
	if doc.Items[0].Pos() == doc.Pos() { // a map of EDN, around which there are no brackets
		what = "nothing in it"
	}
	return syntax.Problems{{Pos: doc.Pos(), What: what + " has the key " + wording.OneOf(keysOf(itemFields)) + strayHint()}}
}

// mayBeItem tells whether a node has a key of an item, or one much like it.
func mayBeItem(n *syntax.Node) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		key := e.Key.Text.Value
		return slices.Contains(keysOf(itemFields), key) || wording.Nearest(key, keysOf(itemFields)) != ""
	})
}

// strayHint helps those who keep data beside their configurations.
func strayHint() string {
	return "; all " + strings.Join(syntax.Extensions(), ", ") + " files of a directory are read as configurations: " +
		"keep data in a subdirectory, which is read with DIR/... only, or in a hidden one"
}
