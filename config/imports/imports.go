// Package imports converts files of other tools to configurations. It recognizes a file by its
// content, has the reader of that format make a draft, and writes the draft as text in the
// configuration language, which is then read like any other configuration.
package imports

import (
	"errors"
	"path/filepath"
	"strings"

	"mockserver/config/imports/curl"
	"mockserver/config/imports/draft"
	"mockserver/config/imports/jsonserver"
	"mockserver/config/imports/mockoon"
	"mockserver/config/imports/postman"
	"mockserver/config/imports/traffic"
	"mockserver/config/imports/wiremock"
	"mockserver/config/syntax"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// Make makes one draft from files and directories, in the given order. An error is of type
// syntax.Problems.
func Make(paths []string, opts draft.Options) (*draft.Draft, error) {
	m := &maker{opts: opts}
	m.traffic = traffic.NewCollector(&m.draft, opts)
	for _, path := range paths {
		s, err := draft.OpenSource(path)
		if err != nil {
			return nil, syntax.Problems{{Pos: syntax.Pos{File: path}, What: err.Error()}}
		}
		if err := m.add(s); err != nil {
			var all syntax.Problems
			if !errors.As(err, &all) {
				all = syntax.Problems{{Pos: syntax.Pos{File: path}, What: err.Error()}}
			}
			return nil, all
		}
	}
	if err := m.traffic.Finish(); err != nil {
		m.traffic.Close()
		return nil, syntax.Problems{{Pos: syntax.Pos{File: paths[0]}, What: err.Error()}}
	}
	m.draft.Done = m.traffic.Close
	names := list.Map(paths, filepath.Base)
	m.draft.Title = append([]string{"Imported from " + strings.Join(names, ", ")}, m.draft.Title...)
	return &m.draft, nil
}

// Recognizes reports whether a file or directory is of a format that Make reads.
func Recognizes(path string) bool {
	s, err := draft.OpenSource(path)
	return err == nil && recognize(s) != nil
}

// maker is an import in progress.
type maker struct {
	draft   draft.Draft
	opts    draft.Options
	traffic *traffic.Collector
}

// add adds the content of a source to the draft.
func (m *maker) add(s *draft.Source) error {
	f := recognize(s)
	if f == nil {
		names := list.Map(formats, func(f format) string { return f.name })
		return s.Problem(0, 0, "the format is unknown; expected %s", wording.OneOf(names))
	}
	before := len(m.draft.Items)
	if err := f.read(m, s); err != nil {
		return err
	}
	if n := len(m.draft.Items) - before; n > draft.MaxItems {
		return s.Problem(0, 0, "has %d items; expected at most %d", n, draft.MaxItems)
	}
	return nil
}

// format is a format of files that are imported.
type format struct {
	name       string // for messages
	recognizes func(s *draft.Source) bool
	read       func(m *maker, s *draft.Source) error
}

// formats lists all formats, the most reliably recognized first.
var formats = []format{
	{"a recording", traffic.RecognizesRecording, func(m *maker, s *draft.Source) error { return m.traffic.AddRecording(s) }},
	{"a HAR", traffic.RecognizesHAR, func(m *maker, s *draft.Source) error { return m.traffic.AddHAR(s) }},
	{"curl commands", curl.Recognizes, each(curl.Read)},
	{"mappings of WireMock", wiremock.Recognizes, each(wiremock.Read)},
	{"an environment of Mockoon", mockoon.Recognizes, each(mockoon.Read)},
	{"a Postman collection", postman.Recognizes, each(postman.Read)},
	{"a db.json of json-server", jsonserver.Recognizes, each(jsonserver.Read)},
}

// each returns a reader that does not depend on the other sources.
func each(read func(*draft.Source, *draft.Draft, draft.Options) error) func(*maker, *draft.Source) error {
	return func(m *maker, s *draft.Source) error { return read(s, &m.draft, m.opts) }
}

// recognize returns the format of a source; nil if it is unknown.
func recognize(s *draft.Source) *format {
	for i := range formats {
		if formats[i].recognizes(s) {
			return &formats[i]
		}
	}
	return nil
}
