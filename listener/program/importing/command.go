// Package importing implements the command import: it makes a configuration from files of other
// tools, and compares its answers with those in the files. Files makes configurations from such
// files for the server.
package importing

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mockserver/config/imports"
	"mockserver/config/imports/draft"
	"mockserver/internal/wording"
)

// Exit codes of the command.
const (
	exitOK     = 0
	exitFailed = 1 // no output could be written, answers differ, or not everything is exact with --strict
	exitUsage  = 2 // a bad flag, or a file that cannot be imported
)

// Command runs mockserver import. args are the arguments after "import". It returns the exit code.
func Command(args []string, stdout, stderr io.Writer) int {
	o, err := orderOf(args)
	if o.help {
		fmt.Fprint(stdout, Usage())
		return exitOK
	}
	var d *draft.Draft
	if err == nil {
		d, err = imports.Make(o.files, o.Options)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	defer d.Close()
	if err := write(d, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, err)
		return exitFailed
	}
	imports.Summary(stderr, d)
	code := exitOK
	if o.check || o.against != "" {
		if err := compare(stderr, d, o.against); err != nil {
			fmt.Fprintln(stderr, err)
			code = exitFailed
		}
	}
	if o.strict && d.Count(draft.Approximate)+d.Count(draft.Lost) > 0 {
		code = exitFailed
	}
	return code
}

// write writes the report, and the configuration to its directory or to standard output.
func write(d *draft.Draft, o order, stdout, stderr io.Writer) error {
	if o.report != "" {
		if err := report(d, o.report, o.force); err != nil {
			return err
		}
	}
	if o.out != "" {
		if err := imports.Write(d, o.out, o.force); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "written:", filepath.Join(o.out, imports.Name))
		return nil
	}
	switch n := len(d.Files); {
	case n == 0:
		return d.Write(stdout)
	case o.check || o.against != "":
		fmt.Fprintf(stderr, "not printed: the configuration comes with %s; -o DIR writes it\n", wording.Count(n, "file"))
		return nil
	default:
		return fmt.Errorf("the configuration comes with %s; expected a directory, with -o", wording.Count(n, "file"))
	}
}

// report writes the report to a file, as JSON if the file's extension is .json.
func report(d *draft.Draft, name string, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: already exists; --force overwrites it", name)
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
