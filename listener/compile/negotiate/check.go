package negotiate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/ascii"

	"github.com/valyala/fasthttp"

	"mockserver/config/openapi/generate"
	"mockserver/config/openapi/validate"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// maxListedViolations is the maximum number of violations in the message of a response. The list
// contains all violations of the verdict.
const maxListedViolations = 20

// refuse validates a request if validation is turned on, and answers an invalid one. It reports
// whether it has answered.
func (o *Operation) refuse(r *matcher.Request, to *reply.Reply) bool {
	if !o.document.Checked() {
		return false
	}
	body, err := plainBody(r, o.maxBody)
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		reply.PayloadTooLarge.Write(to, "the request body is larger than "+wording.Count(o.maxBody, "byte")+" without its content coding")
		return true
	case err != nil:
		o.writeErrors(r, to, reply.UnsupportedMedia, &validate.Verdict{Violations: []validate.Violation{{
			In: "header", Pointer: "/header/content-encoding", Message: "does not match the body, or is not supported: " + wording.Bounded(err.Error()),
		}}})
		return true
	}
	header := func(name string) (values []string) {
		for value := range r.In.Header.Values(name) {
			values = append(values, string(value))
		}
		return values
	}
	cookie := func(name string) (string, bool) {
		value, ok := r.Cookie(name)
		return string(value), ok
	}
	verdict := o.document.Check(&validate.Request{
		Path: string(r.Path()), Query: string(r.QueryString()), Header: header, Cookie: cookie, Body: body,
	})
	if verdict == nil {
		return false
	}
	f := reply.InvalidRequest
	switch verdict.Status {
	case fasthttp.StatusUnauthorized:
		f = reply.Unauthorized
	case fasthttp.StatusUnsupportedMediaType:
		f = reply.UnsupportedMedia
	case fasthttp.StatusUnprocessableEntity:
		f = reply.InvalidBody
	}
	o.writeErrors(r, to, f, verdict)
	for _, challenge := range verdict.Challenges {
		to.Add("Www-Authenticate", challenge)
	}
	return true
}

// plainBody returns the body without its content codings. Its size is limited like that of any
// body.
func plainBody(r *matcher.Request, limit int) ([]byte, error) {
	coding, _ := r.Header(fasthttp.HeaderContentEncoding)
	if len(coding) == 0 || ascii.EqualFold(coding, "identity") || len(r.In.Body) == 0 {
		return r.In.Body, nil
	}
	var req fasthttp.Request
	req.SetBodyRaw(r.In.Body)
	switch { // names of codings are case-insensitive, which the library's own choice does not consider
	case ascii.EqualFold(coding, "gzip"), ascii.EqualFold(coding, "x-gzip"):
		return req.BodyGunzipWithLimit(limit)
	case ascii.EqualFold(coding, "deflate"):
		return req.BodyInflateWithLimit(limit)
	case ascii.EqualFold(coding, "br"):
		return req.BodyUnbrotliWithLimit(limit)
	case ascii.EqualFold(coding, "zstd"):
		return req.BodyUnzstdWithLimit(limit)
	}
	return nil, fasthttp.ErrContentEncodingUnsupported
}

// writeErrors answers with the error that the document declares for invalid requests, else with the
// error response f.
func (o *Operation) writeErrors(r *matcher.Request, p *reply.Reply, f reply.Failure, v *validate.Verdict) {
	declared, status := o.declaredError(f.Status)
	if declared == "" {
		writeViolations(p, f, v, messageOf(v, o.name))
		return
	}
	var candidates []int
	for i := range o.document.Responses {
		if o.document.Responses[i].Declared == declared {
			candidates = append(candidates, i)
		}
	}
	i := o.best(candidates, r.In.Header)
	d, message := &o.document.Responses[i], messageOf(v, o.name)
	p.Begin()
	contentType, fields := Head(d)
	p.Status, p.ContentType, p.Body, p.Rendered = status, contentType, d.Body, false
	for _, h := range fields {
		p.Add(h.Name, h.Value)
	}
	if d.ErrorBody != nil {
		p.Body = d.ErrorBody(generate.Refusal{Status: status, Message: message, Violations: v.Violations})
	}
	p.Refusal = &reply.Refusal{Code: f.Code, Message: message}
}

// declaredError returns the key and the status of the declared answer for invalid requests: the
// answer for the status, or for a status that is often used instead, or for 4XX, or the default one
// unless that is the answer to valid requests. It returns "" if there is none.
func (o *Operation) declaredError(status int) (string, int) {
	codes := o.codes()
	for _, code := range usedInstead[status] {
		if declared := strconv.Itoa(code); slices.Contains(codes, declared) {
			return declared, code
		}
	}
	declared := o.declaredFor(status)
	if declared == "default" && o.document.Responses[o.document.Default].Declared == "default" {
		return "", 0
	}
	return declared, status
}

// usedInstead are the statuses that documents declare for a status of a verdict, the best first.
var usedInstead = map[int][]int{401: {401}, 422: {422, 400}, 400: {400, 422}, 415: {415, 400, 422}}

// messageOf returns a message that says what is wrong with a request to an operation.
func messageOf(v *validate.Verdict, name string) string {
	listed := make([]string, 0, maxListedViolations)
	for _, x := range v.Violations[:min(len(v.Violations), maxListedViolations)] {
		listed = append(listed, x.Pointer+" "+x.Message)
	}
	message := "the request is not what " + name + " accepts: " + strings.Join(listed, "; ")
	if more := len(v.Violations) - len(listed) + v.More; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
		if v.Cut {
			message += " at least"
		}
	}
	return message
}

// writeViolations makes p the error response f with everything that is wrong with a request.
func writeViolations(p *reply.Reply, f reply.Failure, v *validate.Verdict, message string) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(struct { // encoding text never fails
		Error      string               `json:"error"`
		Code       string               `json:"code"`
		Message    string               `json:"message"`
		Violations []validate.Violation `json:"violations"`
	}{f.Title, f.Code, message, v.Violations})
	e := reply.Preset{Status: f.Status, Refusal: reply.Refusal{Code: f.Code, Message: message}, Body: body.Bytes()}
	e.Write(p)
}
