package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/list"
)

// failure is an error response, in the same form as the error responses of the server itself.
type failure struct {
	Title    string    `json:"error" doc:"the kind of error, in words"`
	Code     string    `json:"code" doc:"the kind of error, stable"`
	Message  string    `json:"message" doc:"what is wrong, and what is expected"`
	Problems []problem `json:"problems,omitempty" doc:"each error in the configuration; only with the code invalid_configuration"`
}

// problem is an error or warning of a specification.
type problem struct {
	File   string `json:"file,omitempty" doc:"file with the error"`
	Line   int    `json:"line,omitempty" doc:"line of the error, from 1"`
	Column int    `json:"column,omitempty" doc:"column of the error, from 1"`
	Key    string `json:"key,omitempty" doc:"path of keys, such as [0].endpoint.response.status"`
	What   string `json:"what" doc:"what is wrong, and what is expected"`
}

// problemsShown is the maximum number of problems in one response.
const problemsShown = 1000

func problemsOf(ps syntax.Problems) []problem {
	return list.Map(ps[:min(len(ps), problemsShown)], func(p syntax.Problem) problem {
		return problem{p.Pos.File, p.Pos.Line, p.Pos.Column, p.Key, p.What}
	})
}

// state is the response to requests that return no data.
type state struct {
	ID     string `json:"id,omitempty" doc:"ID of what was changed"`
	Status string `json:"status" doc:"the state now: ok, ready, reset, restored, fired, cancelled"`
}

// refuse refuses a request with an error response.
func refuse(w http.ResponseWriter, status int, code, title, message string) {
	respond(w, status, failure{Title: title, Code: code, Message: message})
}

// badQuery refuses a request because of its query.
func badQuery(w http.ResponseWriter, message string) {
	refuse(w, http.StatusBadRequest, "bad_query", "Bad query", message)
}

// badBody refuses a request because of its body.
func badBody(w http.ResponseWriter, message string) {
	refuse(w, http.StatusBadRequest, "invalid_body", "Invalid body", message)
}

// respond writes a value as JSON.
func respond(w http.ResponseWriter, status int, value any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil { // a bug: every response can be encoded
		status = http.StatusInternalServerError
		text.Reset()
		text.WriteString(`{"error":"Internal error","code":"internal","message":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // an error means that the client has left
}

// smallBody is the maximum size, in bytes, of a body that is neither a specification nor a row.
const smallBody = 64 << 10

// read decodes the JSON body of a request, and reports whether the body is valid. If it is not,
// read refuses the request.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, smallBody))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more text follows the JSON object")
		}
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, "payload_too_large", "Request body too large", "the body is larger than 64 KiB")
	case err != nil:
		badBody(w, "the body is not valid: "+faultOf(err)+"; expected a JSON object with the keys "+keysOf(into))
	}
	return err == nil
}

// faultOf describes what is wrong with a body.
func faultOf(err error) string {
	if errors.Is(err, io.EOF) {
		return "it is empty"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// keysOf lists the JSON keys of a struct.
func keysOf(into any) string {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			keys = append(keys, name)
		}
	}
	return strings.Join(keys, ", ")
}
