package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"mockserver/config"
	"mockserver/config/imports"
	"mockserver/config/imports/draft"
	"mockserver/config/settings"
	"mockserver/internal/wording"
)

// importing is the command import. It returns the exit code.
func (s speaker) importing(args []string) int {
	set, err := settings.ReadImport(args)
	switch {
	case err != nil:
		return s.refuse(err)
	case set.Help:
		fmt.Fprint(s.stdout, settings.ImportUsage())
		return exitOK
	}
	d, err := imports.Make(set.Files, draftOptions(set))
	if err != nil {
		return s.refuse(err)
	}
	defer d.Close()
	if err := s.written(d, set); err != nil {
		s.refuse(err)
		return exitFailed
	}
	imports.Summary(s.stderr, d)
	code := exitOK
	if set.Check || set.Against != "" {
		if err := compare(s.stderr, d, set.Against); err != nil {
			s.refuse(err)
			code = exitFailed
		}
	}
	if set.Strict && d.Count(draft.Approximate)+d.Count(draft.Lost) > 0 {
		code = exitFailed
	}
	return code
}

func draftOptions(set settings.Import) draft.Options {
	return draft.Options{Paths: set.Paths, Last: set.Last, Subtract: set.Subtract, EnvFile: set.EnvFile, Variables: set.Variables}
}

// written writes the report, and the configuration to its directory or to standard output.
func (s speaker) written(d *draft.Draft, set settings.Import) error {
	if set.Report != "" {
		if err := report(d, set.Report, set.Force); err != nil {
			return err
		}
	}
	if set.Out != "" {
		if err := imports.Write(d, set.Out, set.Force); err != nil {
			return err
		}
		fmt.Fprintln(s.stderr, "written:", filepath.Join(set.Out, imports.Name))
		return nil
	}
	if n := len(d.Files); n > 0 {
		return fmt.Errorf("the configuration has %s beside it: give a directory with -o", wording.Count(n, "file"))
	}
	return d.Write(s.stdout)
}

// report writes the report to a file: as JSON if its name says so.
func report(d *draft.Draft, name string, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: exists already; --force overwrites it", name)
	}
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	write := imports.Report
	if strings.EqualFold(filepath.Ext(name), ".json") {
		write = imports.ReportJSON
	}
	if err := errors.Join(write(w, d), w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// importer makes configurations of files of other tools that the server is given, in a directory of
// its own.
type importer struct {
	mu    sync.Mutex
	dir   string // "" until it is needed
	made  int
	tell  func(path string, d *draft.Draft)
	fresh map[string][]string // what was made of each file, the newest last
}

// file makes a configuration of a file or directory, and returns its name; "" if it is of no format
// that is imported.
func (i *importer) file(path string) (string, error) {
	if !imports.Recognizes(path) {
		return "", nil
	}
	d, err := imports.Make([]string{path}, draft.Options{})
	if err != nil {
		return "", err
	}
	defer d.Close()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dir == "" {
		if i.dir, err = os.MkdirTemp("", "mockserver-import-"); err != nil {
			return "", err
		}
	}
	i.made++
	dir := filepath.Join(i.dir, strconv.Itoa(i.made))
	if err := imports.Write(d, dir, false); err != nil {
		return "", err
	}
	if i.fresh == nil {
		i.fresh = map[string][]string{}
	}
	const kept = 3 // what is served, what replaces it, and what a broken change was tried with
	i.fresh[path] = append(i.fresh[path], dir)
	if all := i.fresh[path]; len(all) > kept {
		os.RemoveAll(all[0])
		i.fresh[path] = all[1:]
	}
	i.tell(path, d)
	return filepath.Join(dir, imports.Name), nil
}

// close removes what was made.
func (i *importer) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dir != "" {
		os.RemoveAll(i.dir)
	}
}

// loader returns the loader of the settings, which also reads the files of other tools.
func (p *program) loader() config.Loader {
	l := p.settings.Loader()
	l.Import = p.imported.file
	return l
}

// tellImport logs what became of a file that was imported.
func (p *program) tellImport(path string, d *draft.Draft) {
	p.log.Info("imported", "file", path, "exact", d.Count(draft.Exact), "approximate", d.Count(draft.Approximate), "lost", d.Count(draft.Lost))
}
