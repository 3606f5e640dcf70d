package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// target is a request from a file of --requests, with the number of its line.
type target struct {
	request
	number int
}

// targetLine matches the first line of a target.
var targetLine = regexp.MustCompile(`^([A-Z][A-Z-]*)[ \t]+((?:https?://[^/?# \t]+)?)(\S*)$`)

// readTargets reads a file of requests in the form that vegeta reads: for each request a line
// "METHOD URL", then header lines "Name: value", and a line "@FILE" that names a file with the
// body, relative to the directory of the requests. Empty lines and lines that begin with # are
// skipped.
func readTargets(file string) ([]target, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []target
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch m := targetLine.FindStringSubmatch(line); {
		case line == "" || line[0] == '#':
			continue
		case m != nil:
			all = append(all, newTarget(m[1], m[2], m[3], i+1))
		case len(all) == 0:
			err = fmt.Errorf("%q: expected METHOD URL, such as GET /users", line)
		default:
			err = all[len(all)-1].add(line, filepath.Dir(file))
		}
		if err == nil {
			err = all[len(all)-1].check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no request; expected lines METHOD URL, such as GET /users", file)
	}
	return all, nil
}

// newTarget returns a target without headers of its own. The host of its URL, if there is one,
// becomes its Host header.
func newTarget(method, origin, path string, number int) target {
	t := target{request{Method: method, Path: path, Headers: map[string]string{}}, number}
	if _, host, ok := strings.Cut(origin, "://"); ok {
		t.Headers["Host"] = host
		if !strings.HasPrefix(path, "/") {
			t.Path = "/" + path
		}
	}
	t.Path, _, _ = strings.Cut(t.Path, "#")
	return t
}

// add adds a header line, or a body from a file, to a target.
func (t *target) add(line, dir string) error {
	if name, ok := strings.CutPrefix(line, "@"); ok {
		if name = strings.TrimSpace(name); !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		body, err := os.ReadFile(name)
		t.Body = string(body)
		return err
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return errors.New("expected METHOD URL, a header \"Name: value\", or @FILE with a body")
	}
	name = strings.TrimSpace(name)
	if strings.EqualFold(name, "Host") {
		name = "Host" // it replaces the host of the URL
	}
	t.Headers[name] = strings.TrimSpace(value)
	return nil
}
