package admin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"mockserver/listener/runs"
	"net/http"
	"path"
	"time"
)

// pageFiles are the page as it is served: nothing is built of it, and nothing else is
// loaded by it.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page load its own files and ask this server, and nothing else. A
// report that is fetched with a token is shown from the page, under its policy: so the
// style in it is allowed, by its hash.
func pagePolicy() string {
	style := sha256.Sum256([]byte(runs.Style()))
	return "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) + "'; " +
		"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

// pageTypes are what browsers have to be told of files, whatever the system's table says.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// page is the paths of the page. Its files say nothing of what the server does, and a
// browser brings no token to them: where there is one, they ask for it, and anybody
// gets them. Where there is none, they are for this machine only, as all else is; but a
// page of another site may have a link that leads here.
func (a *Admin) page() map[string]verbs {
	paths := map[string]verbs{"/{$}": {"GET": a.pageFile("index.html")}}
	files, _ := pageFiles.ReadDir("page") // it is embedded
	for _, file := range files {
		paths["/page/"+file.Name()] = verbs{"GET": a.pageFile(file.Name())}
	}
	return paths
}

// pageFile is the handler of one file of the page: "index.html".
func (a *Admin) pageFile(name string) http.HandlerFunc {
	content, err := pageFiles.ReadFile("page/" + name)
	if a.opts.Token != "" { // so that the page asks for it, and is not refused first
		content = bytes.Replace(content, []byte("<html "), []byte("<html data-token "), 1)
	}
	hash := sha256.Sum256(content)
	tag := `"` + base64.RawURLEncoding.EncodeToString(hash[:16]) + `"`
	policy := pagePolicy()
	show := func(w http.ResponseWriter, r *http.Request) {
		if err != nil { // a defect: page names what is not embedded
			refuse(w, http.StatusInternalServerError, "internal", "Internal error", err.Error())
			return
		}
		h := w.Header()
		h.Set("Content-Type", pageTypes[path.Ext(name)])
		h.Set("Content-Security-Policy", policy)
		h.Set("Cache-Control", "no-cache") // asked for each time, answered 304
		h.Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
	return a.asThePage(show)
}

// asThePage is a handler of what has no data of the server: with a token anybody may
// have it, without one it is for this machine only.
func (a *Admin) asThePage(show http.HandlerFunc) http.HandlerFunc {
	refused := a.guarded(show)
	return func(w http.ResponseWriter, r *http.Request) {
		if a.opts.Token == "" && !namesThisMachine(r.Host) {
			refused(w, r)
			return
		}
		show(w, r)
	}
}
