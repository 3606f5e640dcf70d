package admin

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/internal/list"
	"mockserver/listener"
	"mockserver/listener/control/fleet"
	"mockserver/listener/observe/record"
)

// untilReload states how long changes by requests last.
const untilReload = "until the configuration files are read again: when one of them changes, on SIGHUP, or by POST /__admin/reload"

// shownEndpoint describes an endpoint that is served.
type shownEndpoint struct {
	ID        string   `json:"id" doc:"ID, made of method, path, host and condition, so that it survives a restart"`
	Endpoint  string   `json:"endpoint" doc:"method and path, as in logs"`
	Method    string   `json:"method" doc:"method that the endpoint answers"`
	Path      string   `json:"path" doc:"path, as declared"`
	WebSocket bool     `json:"websocket,omitempty" doc:"whether it is a WebSocket, which requests cannot remove"`
	Host      string   `json:"host,omitempty" doc:"host that the endpoint is limited to"`
	If        string   `json:"if,omitempty" doc:"condition of the endpoint"`
	At        string   `json:"at,omitempty" doc:"file, line and column where it is declared"`
	Operation string   `json:"operation,omitempty" doc:"operationId in an OpenAPI document"`
	Summary   string   `json:"summary,omitempty" doc:"summary from its documentation"`
	Has       []string `json:"has,omitempty" doc:"what it declares besides its response: latency, webhooks, …"`
	Requests  uint64   `json:"requests" doc:"requests answered since the start"`
}

func shown(served *record.Served) shownEndpoint {
	s := shownEndpoint{ID: served.ID, Endpoint: served.Name, If: served.If}
	if socket := served.WebSocket; socket != nil {
		s.WebSocket, s.Method, s.Path, s.Host, s.At = true, http.MethodGet, socket.Path.Value, socket.Host, socket.Pos.String()
		return s
	}
	e := served.Endpoint
	s.Method, s.Path, s.Host, s.At, s.Summary = e.EffectiveMethod(), e.Path.Value, e.Host, e.Pos.String(), e.Doc.Summary
	if e.Operation != nil {
		s.Operation = e.Operation.ID
	}
	has := func(name string, there bool) {
		if there {
			s.Has = append(s.Has, name)
		}
	}
	has("responses", len(e.Responses) > 0)
	s.Has = append(s.Has, e.Group.Keys()...)
	has("webhooks", len(e.Webhooks) > 0)
	has("external-body", e.Response.External != nil)
	has("proxy", e.Response.Proxy != nil)
	return s
}

// shownEndpoints returns the endpoints that are served, followed by the WebSockets, in the order in
// which they are declared.
func (a *Admin) shownEndpoints() []shownEndpoint {
	return list.Map(a.server.Endpoints(), func(s record.Served) shownEndpoint { return shown(&s) })
}

// withRequests sets the number of requests of each endpoint.
func (a *Admin) withRequests(list []shownEndpoint) []shownEndpoint {
	counts := a.server.Counts()
	requests := make(map[string]uint64, len(counts.Endpoints))
	for i := range counts.Endpoints {
		requests[counts.Endpoints[i].ID] = counts.Endpoints[i].Requests
	}
	for i := range list {
		list[i].Requests = requests[list[i].ID]
	}
	return list
}

// shownEndpoints contains the endpoints that are served.
type shownEndpoints struct {
	Endpoints []shownEndpoint `json:"endpoints" doc:"the endpoints in the order of declaration, then the WebSockets"`
}

// showEndpoint returns one endpoint.
func (a *Admin) showEndpoint(w http.ResponseWriter, r *http.Request) {
	list := a.shownEndpoints()
	i := slices.IndexFunc(list, func(e shownEndpoint) bool { return e.ID == r.PathValue("id") })
	if i < 0 {
		noEndpoint(w, r)
		return
	}
	respond(w, http.StatusOK, a.withRequests(list[i : i+1])[0])
}

func noEndpoint(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "endpoint_not_found", "No such endpoint", fmt.Sprintf("endpoint %q is not served; GET /__admin/endpoints lists them", r.PathValue("id")))
}

// changed is the response to a request that changes the specification.
type changed struct {
	Endpoint  *shownEndpoint `json:"endpoint,omitempty" doc:"endpoint that was added or removed"`
	Endpoints int            `json:"endpoints" doc:"how many endpoints are served now"`
	Lasts     string         `json:"lasts,omitempty" doc:"how long the change lasts"`
	Warnings  []problem      `json:"warnings,omitempty" doc:"warnings about what was sent"`
}

// addEndpoint adds the endpoint in the body of a request in front of all others, so that it takes
// precedence over endpoints that match the same requests.
func (a *Admin) addEndpoint(w http.ResponseWriter, r *http.Request) {
	media, text, ok := readText(w, r)
	if !ok {
		return
	}
	added := a.parse("added", media, text)
	problems := a.check(added)
	if a.refused(w, problems.Err()) {
		return
	}
	if len(added.Endpoints) != 1 || len(added.WebSockets) > 0 || len(added.Documents()) > 0 {
		refuse(w, http.StatusUnprocessableEntity, "not_one_endpoint", "Not one endpoint", "expected one endpoint, alone or in a list, and no document; PUT /__admin/spec takes anything else")
		return
	}
	now := changed{Lasts: untilReload, Warnings: problemsOf(problems.Warnings())}
	if a.refused(w, a.change(func(served *config.Spec) (*config.Spec, error) {
		spec := config.Join(added, served)
		e := shown(&record.Endpoints(spec)[0]) // it precedes the endpoints of documents
		now.Endpoint, now.Endpoints = &e, len(spec.Endpoints)
		return spec, nil
	})) {
		return
	}
	a.log.Info("endpoint added by the admin address", "endpoint", now.Endpoint.Endpoint, "id", now.Endpoint.ID, "endpoints", now.Endpoints, "lasts", untilReload)
	w.Header().Set("Location", "/__admin/endpoints/"+now.Endpoint.ID)
	respond(w, http.StatusCreated, now)
}

// errNoEndpoint is the error for a change to an endpoint that is not served.
var errNoEndpoint = errors.New("no such endpoint")

// removeEndpoint removes one endpoint.
func (a *Admin) removeEndpoint(w http.ResponseWriter, r *http.Request) {
	var now changed
	err := a.change(func(served *config.Spec) (*config.Spec, error) {
		all := record.Endpoints(served)
		i := slices.IndexFunc(all, func(s record.Served) bool { return s.Endpoint != nil && s.ID == r.PathValue("id") })
		if i < 0 {
			return nil, errNoEndpoint
		}
		e := a.withRequests([]shownEndpoint{shown(&all[i])})[0]
		spec := served.Without(all[i].Index)
		now = changed{Endpoint: &e, Endpoints: len(spec.Endpoints), Lasts: untilReload}
		return spec, nil
	})
	if errors.Is(err, errNoEndpoint) {
		noEndpoint(w, r)
		return
	}
	if a.refused(w, err) {
		return
	}
	a.log.Info("endpoint removed by the admin address", "endpoint", now.Endpoint.Endpoint, "id", now.Endpoint.ID, "endpoints", now.Endpoints, "lasts", untilReload)
	respond(w, http.StatusOK, now)
}

// shownSpec describes the specification that is served.
type shownSpec struct {
	Endpoints []shownEndpoint `json:"endpoints" doc:"the endpoints in the order of declaration, then the WebSockets"`
	Changed   bool            `json:"changed" doc:"whether a request has changed it, so that it differs from the files"`
}

// replaceSpec replaces the specification with the one in the body of a request. With ?check=true,
// replaceSpec only reports what is wrong with the new specification. ?change=N is sent by a replica
// that makes the same change on all replicas.
func (a *Admin) replaceSpec(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	check, number := q.one("check", "true", "false") == "true", q.number("change", 0, 1, math.MaxInt)
	if q.refused(w) {
		return
	}
	media, text, ok := readText(w, r)
	if !ok {
		return
	}
	spec := a.parse("spec", media, text)
	problems := a.check(spec) // before the change, so that an error does not count as a failed configuration
	if a.refused(w, problems.Err()) {
		return
	}
	now := changed{Endpoints: len(spec.Endpoints), Lasts: untilReload, Warnings: problemsOf(problems.Warnings())}
	if check {
		if a.refused(w, a.server.Control().Try(spec)) {
			return
		}
		now.Lasts = ""
		respond(w, http.StatusOK, now)
		return
	}
	err := a.take(fleet.Change{Number: uint64(number), Media: media, Text: text}, spec)
	if errors.Is(err, errOvertaken) {
		refuse(w, http.StatusConflict, "change_overtaken", "Change overtaken", err.Error())
		return
	}
	if a.refused(w, err) {
		return
	}
	a.log.Info("specification replaced by the admin address", "endpoints", len(spec.Endpoints), "lasts", untilReload)
	respond(w, http.StatusOK, now)
}

// reload reads the configuration files again.
func (a *Admin) reload(w http.ResponseWriter, _ *http.Request) {
	if a.refused(w, a.opts.Reload()) {
		return
	}
	respond(w, http.StatusOK, changed{Endpoints: len(a.server.Spec().Endpoints)})
}

// syntaxes maps the media types of specifications to file extensions.
var syntaxes = map[string]string{
	"application/json": ".json", "application/yaml": ".yml", "application/x-yaml": ".yml", "text/yaml": ".yml", "text/x-yaml": ".yml",
	"application/edn": ".edn",
}

// parse parses a specification in one of the syntaxes. The file name contains a number, so that
// positions identify the request that contained a declaration.
func (a *Admin) parse(name, media string, text []byte) *config.Spec {
	loader := a.opts.Loader
	loader.Single = true
	return loader.Parse(name+"-"+strconv.FormatUint(a.changes.Add(1), 10)+syntaxes[media], text)
}

// largestBody is the size of the largest specification in a request, in bytes.
const largestBody = 64 << 20

// readText reads the specification in the body of a request, and refuses the request if that is not
// possible. The media type is a key of syntaxes.
func readText(w http.ResponseWriter, r *http.Request) (media string, text []byte, ok bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || syntaxes[media] == "" {
		refuse(w, http.StatusUnsupportedMediaType, "unsupported_media_type", "Unsupported media type",
			"the Content-Type says which syntax the body has: application/yaml, application/json or application/edn")
		return "", nil, false
	}
	text, err = io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, "payload_too_large", "Request body too large", "the body is larger than 64 MiB")
		return "", nil, false
	case err != nil:
		refuse(w, http.StatusBadRequest, "bad_request", "Bad request", "the body cannot be read: "+err.Error())
		return "", nil, false
	}
	return media, text, true
}

// check returns the errors and warnings of a specification.
func (a *Admin) check(spec *config.Spec) syntax.Problems {
	opts := a.opts.Check
	opts.SentryDSN = "" // it is not part of the specification
	return listener.Check(spec, opts)
}

// refused refuses the request if err is not nil, and reports whether it did.
func (a *Admin) refused(w http.ResponseWriter, err error) bool {
	var wrong syntax.Problems
	switch {
	case err == nil:
		return false
	case errors.As(err, &wrong):
		respond(w, http.StatusUnprocessableEntity, failure{"Invalid configuration", "invalid_configuration", strings.Join(wrong.Lines(), "\n"), problemsOf(wrong)})
	case errors.Is(err, listener.ErrStopped):
		refuse(w, http.StatusServiceUnavailable, "stopping", "Stopping", "the server is stopping and accepts no changes")
	default:
		a.log.Error("the admin address cannot change the specification", "error", err.Error())
		refuse(w, http.StatusInternalServerError, "internal", "Internal error", err.Error())
	}
	return true
}
