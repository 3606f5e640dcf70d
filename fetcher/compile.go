package fetcher

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/clienttls"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Source prepares an external body while a snapshot is built, and reports the errors that can be
// found then. A fixed file is read immediately. dir is where relative paths are looked up first (""
// is the working directory). form and scope are those of the answer's templates. raw turns off
// templates in the content, but not in the path. The source is nil if the problems include errors.
func (l *Loader) Source(ext *item.ExternalBody, dir string, form renderer.Form, raw bool, scope *renderer.Scope) (*Source, syntax.Problems) {
	s := &Source{loader: l, ext: ext, form: form, raw: raw, scope: scope}
	problems := s.prepare(dir)
	if problems.Err() == nil && s.fixed && !s.remote {
		problems = append(problems, s.preload()...)
	}
	if problems.Err() != nil {
		return nil, problems
	}
	return s, problems
}

// prepare compiles the declaration and determines where the body is looked up.
func (s *Source) prepare(dir string) syntax.Problems {
	ext := s.ext
	if ext.Provider != "json" && ext.Provider != "xlsx" {
		return problem(ext.Pos, ext.Key, fmt.Sprintf("unknown provider %q; expected json or xlsx", ext.Provider))
	}
	if ext.Path.Value == "" {
		return problem(ext.Pos, ext.Key, "path is missing: a file, or for json a URL")
	}
	problems := s.compilePath()
	switch {
	case problems.Err() != nil:
		return problems
	case s.workbook() && s.remote:
		return s.pathProblem("a workbook is read from a file, not from a URL")
	}
	path := s.path
	if s.fixedPath, s.fixed = path.Static(); s.fixed && s.fixedPath == "" {
		return s.pathProblem("path is empty: a file, or for json a URL")
	}
	switch {
	case s.remote:
		s.shelf = s.loader.urls
		problems = append(problems, s.connect(dir)...)
		return append(problems, s.checkURL()...)
	case s.workbook():
		problems = append(problems, s.compileSheet()...)
	}
	problems = append(problems, s.locate(dir)...)
	s.chooseShelf()
	return problems
}

// compilePath compiles the path and determines whether it is a URL; an environment variable at its
// beginning has been replaced by then.
func (s *Source) compilePath() syntax.Problems {
	path, problems := renderer.Compile(s.ext.Path, renderer.Plain, s.scope)
	if path == nil {
		return problems
	}
	if s.remote = isURL(path.Prefix()); s.remote {
		path, problems = renderer.Compile(s.ext.Path, renderer.URL, s.scope)
	}
	s.path = path
	ext := s.ext
	for _, k := range ext.URLKeys() {
		if k.Given && !s.remote {
			problems = append(problems, problem(ext.Pos, ext.Key+"."+k.Key,
				k.Key+" is for URLs; this path is a file, since it does not begin with http:// or https://")...)
		}
	}
	return problems
}

// compileSheet compiles the name of the sheet.
func (s *Source) compileSheet() syntax.Problems {
	if s.ext.Sheet.Value == "" {
		return problem(s.ext.Pos, s.ext.Key, "sheet-name is missing: the name of the sheet to convert")
	}
	sheet, problems := renderer.Compile(s.ext.Sheet, renderer.Plain, s.scope)
	if sheet != nil {
		var static bool
		s.sheet = sheet
		s.fixedSheet, static = sheet.Static()
		s.fixed = s.fixed && static
	}
	return problems
}

// chooseShelf gives templates their own shelf, because they are compiled for a single snapshot, and
// are released with it.
func (s *Source) chooseShelf() {
	s.space = fmt.Sprint(s.ext.Provider, s.form, s.file, "\x00", strings.Join(s.dirs, "\x00"), "\x00")
	if s.raw || s.workbook() {
		s.shelf = s.loader.files
		return
	}
	s.shelf = newShelf(s.loader.cache)
	runtime.AddCleanup(s, (*shelf).clear, s.shelf)
}

// connect prepares the connections of a URL. A body from an unverified server, or fetched with a
// certificate, must not be used for a source with other settings.
func (s *Source) connect(dir string) syntax.Problems {
	ext := s.ext
	over := clienttls.Files{
		CA: clienttls.Find(dir, ext.CA.Value), Cert: clienttls.Find(dir, ext.Cert.Value), Key: clienttls.Find(dir, ext.ClientKey.Value), Insecure: ext.Insecure,
	}
	s.space = fmt.Sprintf("%+v ", over)
	var err error
	if s.client, err = s.loader.clients.of(over); err == nil {
		return nil
	}
	at := &ext.CA
	if of, ok := errors.AsType[*clienttls.Error](err); ok {
		switch of.Key {
		case "cert":
			at = &ext.Cert
		case "key":
			at = &ext.ClientKey
		}
	}
	return problem(at.Pos, at.Key, err.Error())
}

// Body returns the body for r. The error is an *Error. A stored body needs no allocation.
func (s *Source) Body(r *matcher.Request) (Body, error) {
	var k *kept
	var waited time.Duration
	if s.remote {
		k, waited = s.fetched(r)
	} else {
		k = s.stored(r)
	}
	if k.err != nil {
		return Body{Waited: waited}, k.err
	}
	body := k.body
	body.Waited = waited
	return body, nil
}
