package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/listener/control/runs"
)

// compare prints the comparison of two runs, and writes it as a page if the order names a file.
func compare(f *Fleet, o order, p Process) int {
	var sides [2]*runs.Report
	var failed [2]error
	for i, word := range o.runs {
		earlier := 0
		if i == 0 && o.runs[0] == o.runs[1] {
			earlier = 1
		}
		sides[i], failed[i] = f.reportOf(word, o, earlier)
	}
	err := errors.Join(failed[:]...)
	if err == nil {
		c := runs.Compare(sides[0], sides[1])
		if err = c.Write(p.Stdout); err == nil && o.out != "" {
			var page []byte
			if page, err = c.Page(); err == nil {
				err = os.WriteFile(o.out, page, 0o644)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return exitFailed
	}
	return exitOK
}

// reportOf returns the report that a word names: a file, otherwise a report in the directory of
// reports with this ID or name, otherwise a run that the server at the admin address knows. Of
// several with one name it is the newest, or one that is earlier by a number.
func (f *Fleet) reportOf(word string, o order, earlier int) (*runs.Report, error) {
	if info, err := os.Stat(word); err == nil && !info.IsDir() {
		return readReport(word)
	}
	names, err := fs.Glob(os.DirFS(o.report), "*.json") // not filepath.Glob: the directory may contain brackets
	var found []*runs.Report
	for _, name := range names {
		if !strings.Contains(name, word) && !strings.HasPrefix(name, fileName(word)) {
			continue
		}
		if r, err := readReport(filepath.Join(o.report, name)); err == nil && (r.Name == word || r.ID == word) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *runs.Report) int { return b.Begin.Compare(a.Begin) })
	if len(found) > 0 {
		return found[min(earlier, len(found)-1)], nil
	}
	var r runs.Report
	for _, path := range [...]string{"/__admin/fleet/runs/", "/__admin/runs/"} {
		for _, reply := range f.Ask(context.Background(), f.addresses(context.Background()), Question{Method: http.MethodGet, Path: path + url.PathEscape(word)}) {
			if err = reply.into(&r); err == nil {
				return &r, nil
			}
			err = fmt.Errorf("%s: %w", reply.Address, err)
		}
	}
	return nil, fmt.Errorf("%s: not a file, nor the ID or name of a report in %s; %w", word, o.report, err)
}

// readReport reads a report in JSON.
func readReport(path string) (*runs.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r runs.Report
	if err := json.Unmarshal(text, &r); err != nil || r.ID == "" || r.Form == 0 {
		return nil, fmt.Errorf("%s: not a report; expected the JSON that mockserver run has written", path)
	}
	return &r, nil
}
