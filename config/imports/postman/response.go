package postman

import (
	"slices"
	"strconv"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// response is one saved answer and the request to which it belongs.
type response struct {
	*request
	pos         syntax.Pos
	name, label string // the saved name, alone and with the name of the request
	summary     string
	folder      []string
	response    *syntax.Node
	status      int
	want        draft.Response
	why         string // what differs; "" if nothing differs
	lost        string // why it cannot be served; "" if it can
	conditions  []condition
	ways        []way // to choose it; nil for the last one, which answers everything else
}

// read reads the saved answer.
func (a *response) read(n *syntax.Node, v vars) {
	a.status = 200
	if code := get(n, "code"); code != nil {
		status, err := strconv.Atoi(code.Text.Value)
		a.status = status
		if err != nil || status < 200 || status > 599 {
			a.status, a.lost = 200, "the status "+code.Text.Value+" cannot be sent; statuses are 200 to 599"
		}
	}
	if !slices.Contains(semantics.Methods, a.method) {
		a.lost = "the method " + a.method + " is unknown"
	}
	a.response = syntax.NewMap()
	if a.status != 200 {
		a.response.Set("status", draft.Of(a.status))
	}
	a.content(n, v)
}

// content sets headers and body.
func (a *response) content(n *syntax.Node, v vars) {
	translate := func(source string) *language.Template {
		t, unknown := v.template(source)
		if unknown != "" {
			a.why = "the variable " + unknown + " has no equivalent and is sent as it is"
		}
		return t
	}
	headers := &language.Headers{}
	for _, f := range fields(get(n, "header"), vars{}) {
		if why := headers.Add(f.Name, translate(f.Value)); why != "" {
			a.why = why
		}
	}
	if kind := previews[text(get(n, "_postman_previewlanguage"))]; kind != "" && !headers.Has("Content-Type") {
		headers.Add("Content-Type", language.Fixed(kind))
	}
	body := translate(text(get(n, "body")))
	language.SetTexts(a.response, headers, body)
	a.want = draft.Response{Status: a.status, Body: []byte(body.String()), Any: body.Tags()}
}

var previews = map[string]string{"json": "application/json", "xml": "application/xml", "html": "text/html", "javascript": "text/javascript", "text": "text/plain"}
