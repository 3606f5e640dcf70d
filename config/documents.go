package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/files"
)

// Document is an OpenAPI document with everything that it refers to.
type Document struct {
	Root    *syntax.Node
	Content func(name string) ([]byte, error) // reads a file that it refers to, relative to its directory
}

// Documents rereads the OpenAPI documents of a specification that the loader has loaded. title is the
// name of its first file without the extension.
func (l Loader) Documents(s *Spec) (all []Document, title string, err error) {
	title = "mocks"
	if len(s.files) > 0 {
		name := filepath.Base(s.files[0])
		title = strings.TrimSuffix(name, filepath.Ext(name))
	}
	for _, file := range s.files {
		if !syntax.Reads(file) {
			continue
		}
		data, err := files.Read(file)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", file, err)
		}
		docs, _ := syntax.Read(file, data)
		for _, doc := range docs {
			if !isDocument(doc) {
				continue
			}
			dir := filepath.Dir(files.Absolute(file))
			opts := l.options(&Spec{}, dir)
			bundled, problems := openapi.Bundled(doc.Document(), filepath.Join(dir, filepath.Base(file)), opts)
			if err := problems.Err(); err != nil {
				return nil, "", err
			}
			all = append(all, Document{Root: bundled, Content: opts.Content})
		}
	}
	return all, title, nil
}
