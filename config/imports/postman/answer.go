package postman

import (
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// answer is one saved answer and the request that it was an answer to.
type answer struct {
	*request
	pos         syntax.Pos
	name, label string // as saved; with that of its request
	summary     string
	folder      []string
	response    *draft.Map
	status      int
	want        draft.Answer
	why         string // what differs; "" for nothing
	lost        string // why it cannot be served; "" if it can
	conditions  []string
}

// left are headers that the server writes itself, or that belonged to the body on its way.
var left = []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Date", "Content-Encoding", "Trailer", "Upgrade", "Proxy-Connection", "Te"}

// read reads what was answered.
func (a *answer) read(n *syntax.Node, v vars) {
	a.status = 200
	if code := get(n, "code"); code != nil {
		status, err := strconv.Atoi(code.Text.Value)
		a.status = status
		if err != nil || status < 200 || status > 599 {
			a.status, a.lost = 200, "the status "+code.Text.Value+" cannot be sent; statuses are 200 to 599"
		}
	}
	if !a.known() {
		a.lost = "the method " + a.method + " is unknown"
	}
	a.response = &draft.Map{}
	if a.status != 200 {
		a.response.Set("status", a.status)
	}
	body, unknown := v.template(text(get(n, "body")))
	if unknown != "" {
		a.why = "the variable " + unknown + " has no equivalent and is sent as it is"
	}
	tags := body.Tags()
	var headers []header
	for _, f := range fields(get(n, "header"), vars{}) {
		value, unknown := v.template(f.Value)
		if unknown != "" {
			a.why = "the variable " + unknown + " has no equivalent and is sent as it is"
		}
		tags = tags || value.Tags()
		headers = append(headers, header{f.Name, value})
	}
	if tags {
		body.Use()
		for _, h := range headers {
			h.value.Use()
		}
	}
	a.headers(headers, text(get(n, "_postman_previewlanguage")))
	raw := body.String()
	if !tags && (draft.HasTags(raw) || slices.ContainsFunc(headers, func(h header) bool { return draft.HasTags(h.value.String()) })) {
		a.response.Set("template", false)
	}
	if raw != "" {
		a.response.Set("body", raw)
	}
	a.want = draft.Answer{Status: a.status, Body: []byte(raw), Any: tags}
}

type header struct {
	name  string
	value *language.Template
}

var previews = map[string]string{"json": "application/json", "xml": "application/xml", "html": "text/html", "javascript": "text/javascript", "text": "text/plain"}

// once are headers that an answer has once at most.
var once = []string{"Content-Type", "Content-Location", "Content-Range", "Content-Disposition", "Location", "ETag", "Last-Modified", "Expires", "Age",
	"Retry-After", "Server", "Strict-Transport-Security", "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Max-Age"}

func folds(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// headers sets the headers. Several of one name become a list.
func (a *answer) headers(all []header, preview string) {
	m := &draft.Map{}
	names := map[string]string{} // as they were written first
	for _, h := range all {
		switch written, again := names[strings.ToLower(h.name)]; {
		case folds(left, h.name):
		case !language.HeaderName(h.name):
			a.why = "the header " + strconv.Quote(h.name) + " has no valid name and is left out"
		case again && folds(once, h.name):
			a.why = "of the header " + h.name + " the first value is sent"
		case again:
			list, ok := m.Get(written).(draft.List)
			if !ok {
				list = draft.List{m.Get(written)}
			}
			m.Set(written, append(list, h.value.String()))
		default:
			names[strings.ToLower(h.name)] = h.name
			m.Set(h.name, h.value.String())
		}
	}
	if _, ok := names["content-type"]; !ok && previews[preview] != "" {
		m.Set("Content-Type", previews[preview])
	}
	if m.Len() > 0 {
		a.response.Set("headers", m)
	}
}
