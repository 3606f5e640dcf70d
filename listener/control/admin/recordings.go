package admin

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"mockserver/config/imports"
	"mockserver/config/imports/draft"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/list"
	"mockserver/listener/observe/recording"
	"mockserver/listener/observe/verdict"
)

// shownRecording describes a recording and what it contains so far.
type shownRecording struct {
	recording.Listed
	Files     int64          `json:"files" doc:"number of files"`
	FirstByte verdict.Spread `json:"first_byte" doc:"time from sending a request to the first byte of its response"`
}

// shownRecordings contains the recordings, and the upstreams that can be recorded.
type shownRecordings struct {
	Recordings []shownRecording `json:"recordings" doc:"the recordings, the latest first"`
	Upstreams  []string         `json:"upstreams" doc:"the declared upstreams"`
}

// newRecording is the body of a request that starts a recording.
type newRecording struct {
	Upstream string         `json:"upstream" doc:"the name of the upstream"`
	To       string         `json:"to,omitempty" doc:"a directory below the working directory; recordings/NAME if left out"`
	Mode     string         `json:"mode,omitempty" doc:"all, which is the default, or missing"`
	If       string         `json:"if,omitempty" doc:"the condition under which a request is recorded"`
	Sample   int            `json:"sample,omitempty" doc:"bodies of one in this many requests are kept"`
	Bodies   int            `json:"bodies,omitempty" doc:"the largest body that is kept, in bytes"`
	Limit    int            `json:"limit,omitempty" doc:"size of the recording, in bytes, after which bodies are left out"`
	Redact   redactedValues `json:"redact,omitzero" doc:"values to replace"`
}

// redactedValues says which values are replaced.
type redactedValues struct {
	Headers []string `json:"headers,omitempty" doc:"names of headers"`
	JSON    []string `json:"json,omitempty" doc:"members of JSON bodies, such as card.number"`
	Query   []string `json:"query,omitempty" doc:"parameters of the query, and fields of forms"`
}

func shownRecordingOf(r recording.Listed) shownRecording {
	return shownRecording{r, int64(len(r.Paths)), verdict.SpreadOf(r.FirstByte)}
}

// listRecordings returns the recordings.
func (a *Admin) listRecordings(w http.ResponseWriter, _ *http.Request) {
	respond(w, http.StatusOK, shownRecordings{
		list.Map(a.server.Control().Recordings().List(), shownRecordingOf),
		list.Map(a.server.Spec().Upstreams, func(u item.Upstream) string { return u.Name }),
	})
}

// startRecording starts a recording.
func (a *Admin) startRecording(w http.ResponseWriter, r *http.Request) {
	var body newRecording
	if !read(w, r, &body) {
		return
	}
	body.To = cmp.Or(body.To, filepath.Join("recordings", body.Upstream))
	wrong := ""
	switch {
	case !filepath.IsLocal(body.To):
		wrong = "to leads out of the working directory; expected a directory below it"
	case leadsOut(body.To):
		wrong = "to leads out of the working directory through a symbolic link, or cannot be a directory"
	case body.Mode != "" && body.Mode != item.RecordAll && body.Mode != item.RecordMissing:
		wrong = "mode is unknown; expected all or missing"
	case body.Sample < 0 || body.Bodies < 0 || body.Bodies > item.MaxBodies || body.Limit < 0:
		wrong = "sample, bodies or limit is out of range; expected numbers above 0, and bodies of at most 64 MiB"
	}
	if wrong != "" {
		badBody(w, wrong)
		return
	}
	started, err := a.server.Control().Recordings().Start(body.Upstream, item.Record{
		To: body.To, Mode: body.Mode, If: syntax.Text{Value: body.If}, Sample: body.Sample, Bodies: body.Bodies, Limit: body.Limit,
		Redact: &item.Redact{Headers: body.Redact.Headers, JSON: body.Redact.JSON, Query: body.Redact.Query},
	})
	var problems syntax.Problems
	switch {
	case errors.Is(err, recording.ErrNoUpstream):
		refuse(w, http.StatusNotFound, "upstream_not_found", "No such upstream", err.Error())
	case errors.Is(err, recording.ErrRecording):
		refuse(w, http.StatusConflict, "recording_under_way", "Recording under way", err.Error())
	case errors.As(err, &problems):
		refuse(w, http.StatusBadRequest, "invalid_condition", "Invalid condition", err.Error())
	case err != nil:
		refuse(w, http.StatusConflict, "recording_failed", "Recording failed", err.Error())
	default:
		respond(w, http.StatusCreated, shownRecordingOf(started))
	}
}

// leadsOut reports whether a path leads out of the working directory through a symbolic link, or
// through a file.
func leadsOut(path string) bool {
	root, err := os.OpenRoot(".")
	if err != nil {
		return true
	}
	defer root.Close()
	_, err = root.Stat(path)
	return err != nil && !errors.Is(err, fs.ErrNotExist)
}

// stopRecording ends a recording.
func (a *Admin) stopRecording(w http.ResponseWriter, r *http.Request) {
	stopped, err := a.server.Control().Recordings().Stop(r.PathValue("id"))
	if err != nil {
		noRecording(w)
		return
	}
	respond(w, http.StatusOK, shownRecordingOf(stopped))
}

func noRecording(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, "recording_not_found", "No such recording", "there is no such recording; GET /__admin/recordings lists them")
}

// recordingOf returns the recording that a request names. If there is none, it refuses the
// request.
func (a *Admin) recordingOf(w http.ResponseWriter, r *http.Request) (recording.Listed, bool) {
	list := a.server.Control().Recordings().List()
	i := slices.IndexFunc(list, func(one recording.Listed) bool { return one.ID == r.PathValue("id") })
	if i < 0 {
		noRecording(w)
		return recording.Listed{}, false
	}
	return list[i], true
}

// These are the media types of the files that are made from a recording.
const (
	harMedia  = "application/har+json"
	yamlMedia = "application/yaml"
	zipMedia  = "application/zip"
)

// showHAR returns the contents of a recording as HAR.
func (a *Admin) showHAR(w http.ResponseWriter, r *http.Request) {
	one, ok := a.recordingOf(w, r)
	if !ok {
		return
	}
	downloaded(w, harMedia, one.Upstream+".har")
	if err := recording.WriteHAR(w, a.opts.Build.Version, one.Paths); err != nil {
		a.cut(one, "HAR", err)
	}
}

// showRecordedConfig returns the configuration that mockserver import makes from a recording. If
// further files belong to the configuration, it returns an archive of all files.
func (a *Admin) showRecordedConfig(w http.ResponseWriter, r *http.Request) {
	one, ok := a.recordingOf(w, r)
	if !ok {
		return
	}
	d, err := imports.Make(one.Paths, draft.Options{})
	if err != nil {
		refuse(w, http.StatusConflict, "recording_failed", "Recording failed", err.Error())
		return
	}
	defer d.Close()
	if len(d.Files) == 0 {
		downloaded(w, yamlMedia, one.Upstream+".yml")
		err = d.Write(w)
	} else {
		downloaded(w, zipMedia, one.Upstream+".zip")
		err = imports.Archive(w, d)
	}
	if err != nil {
		a.cut(one, "configuration", err)
	}
}

// downloaded sets the headers of a response that is a file to download.
func downloaded(w http.ResponseWriter, media, name string) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// cut aborts a response that cannot be completed.
func (a *Admin) cut(one recording.Listed, as string, err error) {
	a.log.Warn("a recording could not be written", "recording", one.ID, "as", as, "error", err.Error())
	panic(http.ErrAbortHandler)
}
