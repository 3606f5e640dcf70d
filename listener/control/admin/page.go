package admin

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"

	"mockserver/listener/control/runs"
)

// pageFiles contains the files of the page as they are served. The page loads nothing else.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page load its own files and send requests to this server only. A report that
// was fetched with a token is shown under this policy, which therefore allows the hashes of the
// report's style and script.
func pagePolicy() string {
	return "default-src 'none'; script-src 'self' '" + runs.Hash(string(runs.Script())) + "'; style-src 'self' '" + runs.Hash(string(runs.Style())) + "'; " +
		"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

// pageTypes maps file extensions to media types, independently of the system's table.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// page returns the paths of the page. Its files contain no data of the server. If a token is set,
// anyone may fetch them, since a browser cannot send the token when it loads a page; the page then
// asks for the token. Without a token, only this machine may fetch them, like everything else, but
// pages of other sites may link to them.
func (a *Admin) page() map[string]verbs {
	paths := map[string]verbs{"/{$}": {"GET": a.pageFile("index.html")}}
	files, _ := pageFiles.ReadDir("page") // the directory is embedded, so it exists
	for _, file := range files {
		paths["/page/"+file.Name()] = verbs{"GET": a.pageFile(file.Name())}
	}
	for _, name := range [...]string{"base.css", "reading.js"} { // reports have them too
		paths["/page/"+name] = verbs{"GET": a.pageFile(name)}
	}
	return paths
}

// pageFile returns the handler of one file of the page, such as "index.html".
func (a *Admin) pageFile(name string) http.HandlerFunc {
	content := runs.Shared(name)
	if content == nil {
		content, _ = pageFiles.ReadFile("page/" + name) // the file is embedded, so it exists
	}
	if a.opts.Token != "" { // so that the page asks for the token at once
		content = bytes.Replace(content, []byte("<html "), []byte("<html data-token "), 1)
	}
	if a.fleet != nil {
		content = bytes.Replace(content, []byte("<html "), []byte("<html data-fleet "), 1)
	}
	tag, policy := `"`+runs.Hash(string(content))+`"`, pagePolicy()
	return a.named(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", pageTypes[path.Ext(name)])
		h.Set("Content-Security-Policy", policy)
		h.Set("Cache-Control", "no-cache") // validated each time, by its ETag
		h.Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
