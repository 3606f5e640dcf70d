package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// Words are the files of a specification as they were written, without secrets.
type Words struct {
	Title     string // the name of the first file without its extension
	Documents []Document
	Mocks     []syntax.Entry // what mocks files declare for operations, by name
	Hidden    Problems       // a warning for each secret that is replaced in them

	declared map[string]*syntax.Node // by file and key
}

// Document is an OpenAPI document with everything that it refers to.
type Document struct {
	Root    *syntax.Node
	Content func(name string) ([]byte, error) // reads a file that it refers to, relative to its directory
}

func (w *Words) hidden(at syntax.Pos, key string) {
	w.Hidden = append(w.Hidden, syntax.Problem{Pos: at, Key: key, What: "may be a secret, and is not shown", Warning: true})
}

// At returns the declaration at a key of a file, or nil if there is none.
func (w *Words) At(file, key string) *syntax.Node {
	if n := w.declared[file+" "+key]; n != nil {
		return n.Document()
	}
	return nil
}

// Words rereads the files of a specification that the loader has loaded.
func (l Loader) Words(s *Spec) (*Words, error) {
	w := &Words{Title: "mocks", declared: map[string]*syntax.Node{}}
	if len(s.files) > 0 {
		name := filepath.Base(s.files[0])
		w.Title = strings.TrimSuffix(name, filepath.Ext(name))
	}
	for _, file := range s.files {
		if !syntax.Reads(file) {
			continue
		}
		data, err := files.Read(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		docs, _ := syntax.Read(file, data)
		if err := w.add(l, file, docs); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// add adds the documents of one file.
func (w *Words) add(l Loader, file string, docs []*syntax.Node) error {
	index := 0
	for _, doc := range docs {
		if isDocument(doc) {
			dir := filepath.Dir(files.Absolute(file))
			opts := l.options(&Spec{}, dir)
			bundled, problems := openapi.Bundled(doc.Document(), filepath.Join(dir, filepath.Base(file)), opts)
			if err := problems.Err(); err != nil {
				return err
			}
			w.Documents = append(w.Documents, Document{Root: bundled, Content: opts.Content})
		}
		if isMocks(doc) {
			for _, e := range doc.Entries {
				table.Row{Table: table.Rows(mockFields)}.Hide(nested(e.Value), "", wording.Label(e.Key.Text.Value), w.hidden)
				w.Mocks = append(w.Mocks, syntax.Entry{Key: e.Key, Value: nested(e.Value).Document()})
			}
		}
		for _, n := range doc.Items {
			table.Row{Table: table.Rows(item.Fields)}.Hide(n, "", "["+strconv.Itoa(index)+"]", w.hidden)
			for _, e := range n.Entries {
				w.declared[file+" ["+strconv.Itoa(index)+"]."+e.Key.Text.Value] = e.Value
			}
			index++
		}
	}
	return nil
}
