package renderer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// roots contains the variables, and what may follow each.
var roots = map[string]struct {
	op   opcode
	rest restKind
	read func(r *matcher.Request) value.Value // opRequest and other opcodes that need only the request
}{
	"path-params":   {op: opPathParam, rest: restName},
	"path-segments": {op: opPathSegment, rest: restName},
	"query-params":  {op: opQuery, rest: restName},
	"header-params": {op: opHeader, rest: restName},
	"cookie-params": {op: opCookie, rest: restName},
	"form-params":   {op: opForm, rest: restName},
	"json-params":   {op: opJSON, rest: restSteps},
	"env":           {op: opLiteral, rest: restName},
	"method":        {opRequest, restLength, func(r *matcher.Request) value.Value { return value.OfText(r.Method()) }},
	"path":          {opRequest, restLength, func(r *matcher.Request) value.Value { return value.OfText(r.Path()) }},
	"path-and-query": {opRequest, restLength, func(r *matcher.Request) value.Value {
		text := append(r.Arena, r.Path()...)
		if query := r.QueryString(); len(query) > 0 {
			text = append(append(text, '?'), query...)
		}
		return value.Appended(r, text)
	}},
	"host":         {op: opRequest, rest: restPart},
	"query-string": {opRequest, restLength, func(r *matcher.Request) value.Value { return value.OfText(r.QueryString()) }},
	"protocol": {opRequest, restLength, func(r *matcher.Request) value.Value {
		return value.Appended(r, append(r.Arena, r.In.Protocol.String()...))
	}},
	"remote-addr": {opRequest, restLength, func(r *matcher.Request) value.Value { return value.Appended(r, r.RemoteAddr(r.Arena)) }},
	"tls":         {op: opRequest, rest: restMember},
	"client-cert": {op: opRequest, rest: restMember},
	"body":        {opBody, restLength, func(r *matcher.Request) value.Value { return value.OfText(r.Body()) }},
	"response":    {op: opResponse, rest: restSteps},
	"message":     {opMessage, restLength, message},
	"now":         {opNow, restNothing, func(r *matcher.Request) value.Value { return value.OfTime(r.Now()) }},
	"uuid":        {opRandom, restNothing, value.UUID4},
	"uuid7":       {opRandom, restNothing, value.UUID7},
	"ulid":        {opRandom, restNothing, value.ULID},
	"random":      {opRandom, restNothing, func(r *matcher.Request) value.Value { return value.OfInt(int64(r.Random.Uint64()>>33), r) }},
}

// restKind is what may follow a variable's first word.
type restKind uint8

const (
	restNothing restKind = iota
	restLength           // .length
	restName             // .NAME, .length
	restSteps            // .a.b.0.c, .length
	restMember           // one of members, .length
	restPart             // nothing, one of members, .length
)

// IsVariable reports whether a word has a meaning in the language, so that nothing else can have
// that name.
func IsVariable(word string) bool {
	_, ok := roots[word]
	_, literal := value.Literal(word)
	return ok || literal || slices.Contains([]string{"loop", "and", "or", "not", "contains", "matches"}, word)
}

// isVariable reports whether a word alone is a variable in this scope.
func (s *source) isVariable(word string) bool {
	_, ok := roots[word]
	return ok && (word != messageRoot || s.scope.Message) && (word != responseRoot || s.scope.Response)
}

// The variables that exist only in some scopes.
const (
	messageRoot  = "message"  // WebSockets
	responseRoot = "response" // webhooks
	modelRoot    = "llm"      // endpoints of a language model
)

// variableNames returns the words that may begin a variable in this scope.
func (s *source) variableNames() []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(roots)), func(name string) bool { return !s.isVariable(name) })
	named := slices.DeleteFunc(slices.Clone(s.loops), func(name string) bool { return name == "" })
	return append(append(names, s.scope.Rows...), named...)
}

// variable parses the word t as a variable. known is false if it is not a variable. ok is false if
// it is a variable with an error, which has been reported.
func (s *scanner) variable(t token) (e expr, ok, known bool) {
	root, rest := cutRoot(t.text)
	if reads := s.scope.ReadsBody; reads != nil && slices.Contains([]string{"body", "form-params", "json-params", modelRoot}, root) {
		*reads = true
	}
	if e, ok, known = s.local(t, root, rest); known {
		return e, ok, true
	}
	if slices.Contains(s.scope.Later, root) {
		s.fail(t.offset, "%q is a name of this endpoint that is not available here: find and let see the names before them, conditions see the names of find; "+
			"a text is written in quotes", root)
		return expr{}, false, true
	}
	v := roots[root]
	if !s.isVariable(root) || s.bare && rest == "" && (root == "env" || v.rest == restMember) {
		return expr{}, false, false
	}
	e.op, e.read = v.op, v.read
	switch {
	case root == responseRoot:
		return s.response(t, rest)
	case v.rest == restSteps:
		e.steps, ok = s.steps(t, rest)
		return e, ok, true
	case v.rest == restName:
		return s.named(t, root, rest)
	case v.rest >= restMember:
		return s.member(t, root, rest)
	case rest != "" && (v.rest == restNothing || rest != ".length"):
		except := map[restKind]string{restLength: " but .length"}
		s.fail(t.offset, "%q: nothing%s may follow %s", t.text, except[v.rest], root)
		return e, false, true
	default:
		e.length = rest != ""
	}
	return e, true, true
}

// local parses a name that the loops around the text, the endpoint or the stream give.
func (s *scanner) local(t token, root, rest string) (e expr, ok, known bool) {
	for i := len(s.loops) - 1; i >= 0; i-- {
		if s.loops[i] == root && root != "" {
			steps, ok := s.steps(t, rest)
			return expr{op: opLoopItem, index: i, steps: steps}, ok, true
		}
	}
	if root == "loop" && len(s.loops) > 0 {
		return s.loopVariable(t, rest)
	}
	if i := slices.Index(s.scope.Rows, root); i >= 0 {
		steps, ok := s.steps(t, rest)
		return expr{op: opRow, index: i, steps: steps}, ok, true
	}
	if read := s.scope.Model; root == modelRoot && read != nil {
		steps, ok := s.steps(t, rest)
		e := expr{op: opModel, read: func(r *matcher.Request) value.Value { return value.OfJSON(read(r), r) }, steps: steps}
		if len(steps) > 0 { // the items of a stream must not search a long prompt
			name := steps[0].key
			e.read, e.steps = func(r *matcher.Request) value.Value { return value.OfJSON(read(r).First(name), r) }, steps[1:]
		}
		return e, ok, true
	}
	if s.scope.Stream && t.text == "stream.index" {
		return expr{op: opStreamIndex}, true, true
	}
	return e, false, false
}

// cutRoot cuts a variable before its first . or [.
func cutRoot(word string) (root, rest string) {
	if i := strings.IndexAny(word, ".["); i >= 0 {
		return word[:i], word[i:]
	}
	return word, ""
}

func (s *scanner) loopVariable(t token, rest string) (e expr, ok, known bool) {
	ops := map[string]opcode{".index": opLoopIndex, ".first": opLoopFirst, ".last": opLoopLast}
	if op, found := ops[rest]; found {
		return expr{op: op, index: len(s.loops) - 1}, true, true
	}
	s.fail(t.offset, "unknown variable %q; expected loop.index, loop.first or loop.last", t.text)
	return expr{}, false, true
}

// response parses what follows response: .status, .headers.NAME, or .body and a path to a member.
func (s *scanner) response(t token, rest string) (e expr, ok, known bool) {
	part, after := cutRoot(strings.TrimPrefix(rest, "."))
	switch {
	case part == "status" && after == "":
		return expr{op: opResponseStatus}, true, true
	case part == "headers" && after != "":
		steps, ok := s.steps(t, after)
		if ok && len(steps) == 1 {
			return expr{op: opResponseHeader, name: steps[0].key}, true, true
		}
	case (part == "items" || part == "duration" || part == "end") && after == "":
		return expr{op: opResponseStream, name: part}, true, true
	case part == "body" && s.scope.Streamed:
		s.fail(t.offset, "%q: a stream has no body to refer to; expected response.items, response.status or response.headers.NAME", t.text)
		return e, false, true
	case part == "body":
		steps, ok := s.steps(t, after)
		return expr{op: opResponse, steps: steps}, ok, true
	}
	s.fail(t.offset, "%q is not a part of the response; expected response.status, response.headers.NAME or response.body.MEMBER", t.text)
	return e, false, true
}

// named parses what follows path-params and similar words: a name, which may contain dots or be in
// brackets and quotes, and .length.
func (s *scanner) named(t token, root, rest string) (e expr, ok, known bool) {
	e.op = roots[root].op
	name, length := rest, false
	if st, after, quoted := quotedStep(rest); quoted {
		e.name, e.length = st.key, after == ".length"
		ok = e.length || after == ""
	} else {
		name, length = strings.CutSuffix(rest, ".length")
		e.name, e.length = strings.TrimPrefix(name, "."), length
		ok = e.name != "" && e.name != name && !strings.ContainsAny(name, "\"'")
	}
	if !ok {
		s.fail(t.offset, "%q: missing name; expected %s.NAME or %s[\"NAME\"]", t.text, root, root)
		return e, false, true
	}
	switch root {
	case "path-params":
		e.index = s.pathParam(t, e.name)
	case "path-segments":
		n, err := strconv.ParseUint(e.name, 10, 16)
		if e.index = int(n); err != nil {
			s.fail(t.offset, "%q: %q is not a number; expected path-segments.N, counted from 0", t.text, e.name)
			return e, false, true
		}
	case "env":
		e.literal = s.environment(t, e.name)
	}
	return e, true, true
}

// pathParam returns the position of a path parameter. It returns -1 with a warning for a parameter
// that the path does not declare.
func (s *scanner) pathParam(t token, name string) int {
	i := slices.Index(s.scope.Params, name)
	if i < 0 {
		s.warn(t.offset, "the path declares no parameter %q%s; it renders as missing", name, wording.DidYouMean(name, s.scope.Params))
	}
	return i
}

// environment looks up an environment variable during compilation, so that no request has to. If
// the variable is not set and has no default, there is a warning at the end of the expression.
func (s *scanner) environment(t token, name string) value.Value {
	if s.scope.Env != nil {
		if v, ok := s.scope.Env(name); ok {
			return value.OfText([]byte(v))
		}
	}
	s.unset = append(s.unset, token{text: name, offset: t.offset})
	return value.Value{}
}

// maxSteps limits the length of a path into a value: each step reads the whole value that it
// enters.
const maxSteps = 1000

// steps splits .a.b.0["c d"][0] into steps.
func (s *scanner) steps(t token, path string) (steps []step, ok bool) {
	for path != "" {
		if len(steps) == maxSteps {
			s.fail(t.offset, "the path into a value has more than %d steps", maxSteps)
			return nil, false
		}
		var st step
		if st, path, ok = nextStep(path); !ok {
			s.fail(t.offset, "%q is not a path into a value; expected the form a.b, a.0.b, a[0].b or a[\"b\"]", t.text)
			return nil, false
		}
		steps = append(steps, st)
	}
	return steps, true
}

// nextStep cuts the first step from a path: .key, [0] or ["key"].
func nextStep(path string) (st step, rest string, ok bool) {
	if st, rest, ok = quotedStep(path); ok {
		return st, rest, true
	}
	path = strings.TrimPrefix(path, ".")
	bracketed := strings.HasPrefix(path, "[")
	path = strings.TrimPrefix(path, "[")
	end := strings.IndexAny(path, ".[]\"'")
	if end < 0 {
		end = len(path)
	}
	st = step{key: path[:end], index: -1}
	if n, err := strconv.ParseUint(st.key, 10, 31); err == nil {
		st.index = int(n)
	}
	rest, closed := strings.CutPrefix(path[end:], "]")
	wellEnded := rest == "" || rest[0] == '.' || rest[0] == '['
	return st, rest, st.key != "" && closed == bracketed && (!bracketed || st.index >= 0) && wellEnded
}

// quotedStep cuts a first step in brackets and quotes from a path. Such a step names a member,
// never an index or a length.
func quotedStep(path string) (st step, rest string, ok bool) {
	inside, ok := strings.CutPrefix(strings.TrimPrefix(path, "."), "[")
	if !ok {
		return step{}, "", false
	}
	key, n := unquoted(inside)
	rest, ok = strings.CutPrefix(inside[n:], "]")
	ok = ok && n > 0 && (rest == "" || rest[0] == '.' || rest[0] == '[')
	return step{key: key, index: -1, quoted: true}, rest, ok
}
