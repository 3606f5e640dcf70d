package fetcher

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Source is one external body of one snapshot. It is immutable and safe for
// concurrent use.
type Source struct {
	loader *Loader
	ext    *item.ExternalBody
	form   renderer.Form
	raw    bool
	scope  *renderer.Scope

	remote bool // the path is a URL
	path   *renderer.Template
	sheet  *renderer.Template // nil for json
	fixed  bool               // neither path nor sheet has placeholders

	fixedPath  string       // the path as declared; "" if it has placeholders
	fixedSheet string       // the sheet as declared; "" if it has placeholders
	url        string       // of a fixed URL, without the fragment
	client     *http.Client // of a URL

	file   string   // of a fixed path: the file found at load
	dirs   []string // of a rendered path: the directories in which it is looked up
	prefix int      // of a rendered path: the length of its directory in bytes

	shelf  *shelf                // where its bodies are stored
	space  string                // prefix of its keys, so that only equal sources share keys
	pinned atomic.Pointer[entry] // of a fixed file, so that a hit needs no lookup
}

func problem(pos syntax.Pos, key, what string) syntax.Problems {
	return syntax.Problems{{Pos: pos, Key: key, What: what}}
}

// pathProblem returns an error in the value of path.
func (s *Source) pathProblem(what string) syntax.Problems {
	return problem(s.ext.Path.Pos, s.ext.Path.Key, what)
}

func (s *Source) workbook() bool { return s.ext.Provider == "xlsx" }

// Declared returns the path as declared: placeholders are not rendered, and a URL may contain
// credentials.
func (s *Source) Declared() string { return s.ext.Path.Value }

// IsRemote reports whether the body is fetched from a URL.
func (s *Source) IsRemote() bool { return s.remote }

// stopped returns the error for a request whose path could not be rendered completely; nil
// otherwise.
func stopped(r *matcher.Request) *kept {
	if r == nil || r.Stopped == nil {
		return nil
	}
	return &kept{err: &Error{Kind: Unavailable, Message: r.Stopped.Error(), Err: r.Stopped}}
}

// fileError returns why a file is not available. An error of a rendered path is the client's,
// unless this machine causes it; see troubled.
func (s *Source) fileError(path string, err error) *Error {
	kind := Unavailable
	if s.file == "" && !troubled(err) {
		kind = NotFound
	}
	return &Error{Kind: kind, Message: fmt.Sprintf("file %q: %s", path, causeOf(err)), Err: err}
}

// broken returns why an existing file cannot be served.
func (s *Source) broken(path, cause string, err error) *Error {
	return &Error{Kind: Unavailable, Message: fmt.Sprintf("file %q: %s", path, cause), Err: err}
}

// troubled reports whether err is caused by this machine rather than by the path.
func troubled(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrPermission, syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM},
		func(e error) bool { return errors.Is(err, e) })
}

// Body is the body to send: Template if it is not nil, otherwise Bytes, which must not be modified
// and never change.
type Body struct {
	Template    *renderer.Template
	Bytes       []byte
	ContentType string // of a remote body; "" otherwise, and if the remote server sent none
	// Waited is how long the request waited for a remote server, even if the fetch failed.
	Waited time.Duration
}
