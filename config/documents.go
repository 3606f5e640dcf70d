package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/files"
)

// Documents rereads the OpenAPI documents of a specification that the loader has loaded, each with
// everything that it refers to. title is the name of the first file without its extension.
func (l Loader) Documents(s *Spec) (all []*syntax.Node, title string, err error) {
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
			bundled, problems := openapi.Bundled(doc.Document(), files.Absolute(file), l.options())
			if err := problems.Err(); err != nil {
				return nil, "", err
			}
			all = append(all, bundled)
		}
	}
	return all, title, nil
}
