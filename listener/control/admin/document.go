package admin

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"mockserver/internal/list"
)

// Paths at which the API describes itself, as a list and as an OpenAPI document.
const (
	indexPath    = "/__admin/"
	documentPath = "/__admin/openapi.json"
)

// index lists the requests of the API.
type index struct {
	OpenAPI  string       `json:"openapi" doc:"path of the OpenAPI document of the API"`
	Requests []indexEntry `json:"requests" doc:"all requests of the API"`
}

// indexEntry is one request.
type indexEntry struct {
	Method string `json:"method" doc:"method of the request"`
	Path   string `json:"path" doc:"path of the request; {id} and the like stand for an ID or a name"`
	What   string `json:"what" doc:"what the request does, in one line"`
}

// showIndex returns the list of all requests.
func (a *Admin) showIndex(w http.ResponseWriter, _ *http.Request) {
	respond(w, http.StatusOK, index{documentPath, list.Map(a.table(), func(r route) indexEntry { return indexEntry{r.method, r.path, r.what} })})
}

// openapi is the OpenAPI document of the API, which a test makes from the table of requests.
//
//go:embed openapi.json
var openapi string

// showDocument returns the OpenAPI document of the API, with the version of this build.
func (a *Admin) showDocument(w http.ResponseWriter, _ *http.Request) {
	version, _ := json.Marshal(cmp.Or(a.opts.Build.Version, "dev")) // a string can be encoded
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, strings.Replace(openapi, `"version": "dev"`, `"version": `+string(version), 1)) // an error means that the client has left
}
