package renderer

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config"
)

// roots are the variables, and what follows each.
var roots = map[string]struct {
	op   opcode
	rest restKind
}{
	"path-params":   {opPathParam, restName},
	"query-params":  {opQuery, restName},
	"header-params": {opHeader, restName},
	"cookie-params": {opCookie, restName},
	"form-params":   {opForm, restName},
	"json-params":   {opJSON, restSteps},
	"env":           {opLiteral, restName},
	"method":        {opMethod, restLength},
	"path":          {opPath, restLength},
	"host":          {opHost, restLength},
	"query-string":  {opQueryString, restLength},
	"remote-addr":   {opRemoteAddr, restLength},
	"body":          {opBody, restLength},
	"message":       {opMessage, restLength},
	"now":           {opNow, restNothing},
	"uuid":          {opUUID, restNothing},
	"random":        {opRandom, restNothing},
}

// restKind tells what may follow a variable's first word.
type restKind uint8

const (
	restNothing restKind = iota
	restLength           // .length
	restName             // .NAME, .length
	restSteps            // .a.b.0.c, .length
)

// isVariable tells whether a word alone is a variable of the language, here.
func (s *source) isVariable(word string) bool {
	_, ok := roots[word]
	return ok && (word != messageRoot || s.scope.Message)
}

// messageRoot is the variable of WebSockets alone.
const messageRoot = "message"

// variableNames are the words that may begin a variable here.
func (s *source) variableNames() []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(roots)), func(name string) bool { return !s.isVariable(name) })
	return append(names, s.loops...)
}

// variable parses the word t as a variable. known is false when it is none; ok is
// false when it is one, with a mistake that was reported.
func (s *scanner) variable(t token) (e expr, ok, known bool) {
	root, rest, dotted := strings.Cut(t.text, ".")
	bracket := strings.IndexByte(root, '[')
	if bracket > 0 {
		root, rest, dotted = t.text[:bracket], t.text[bracket:], true
	}
	for i := len(s.loops) - 1; i >= 0; i-- {
		if s.loops[i] == root {
			steps, ok := s.steps(t, rest, dotted)
			return expr{op: opLoopItem, index: i, steps: steps}, ok, true
		}
	}
	if root == "loop" && len(s.loops) > 0 {
		return s.loopVariable(t, rest)
	}
	v := roots[root]
	if !s.isVariable(root) || s.bare && !dotted && root == "env" {
		return expr{}, false, false
	}
	e.op = v.op
	switch {
	case v.rest == restSteps:
		e.steps, ok = s.steps(t, rest, dotted)
		return e, ok, true
	case v.rest == restName:
		return s.named(t, root, rest)
	case dotted && (v.rest == restNothing || rest != "length"):
		s.fail(t.offset, "%q: nothing%s may follow %s", t.text, exceptLength(v.rest), root)
		return e, false, true
	default:
		e.length = dotted
	}
	return e, true, true
}

// remember gives a memo to an expression that a loop around it would otherwise
// work out again at each turn.
func (s *scanner) remember(e *expr) {
	switch e.op {
	case opQuery, opHeader, opCookie, opForm, opJSON:
		if len(s.loops) == 0 {
			return
		}
	case opLoopItem:
		if e.index == len(s.loops)-1 {
			return
		}
	default:
		return
	}
	s.memos++
	e.memo = s.memos
}

func exceptLength(rest restKind) string {
	if rest == restLength {
		return " but .length"
	}
	return ""
}

func (s *scanner) loopVariable(t token, rest string) (e expr, ok, known bool) {
	ops := map[string]opcode{"index": opLoopIndex, "first": opLoopFirst, "last": opLoopLast}
	if op, found := ops[rest]; found {
		return expr{op: op, index: len(s.loops) - 1}, true, true
	}
	s.fail(t.offset, "unknown variable %q; accepted are loop.index, loop.first, loop.last", t.text)
	return expr{}, false, true
}

// named parses what follows path-params and its like: a name, which may hold
// dots, and .length.
func (s *scanner) named(t token, root, rest string) (e expr, ok, known bool) {
	e.op = roots[root].op
	e.name = rest
	if name, found := strings.CutSuffix(rest, ".length"); found {
		e.name, e.length = name, true
	}
	if e.name == "" {
		s.fail(t.offset, "%s needs a name: %s.NAME", root, root)
		return e, false, true
	}
	switch root {
	case "path-params":
		e.index = s.pathParam(t, e.name)
	case "env":
		e.literal = s.environment(t, e.name)
	}
	return e, true, true
}

// pathParam is the position of a path parameter, -1 with a warning for one that
// the path does not declare.
func (s *scanner) pathParam(t token, name string) int {
	for i, param := range s.scope.Params {
		if param == name {
			return i
		}
	}
	s.warn(t.offset, "the path declares no parameter %q%s; it renders as missing", name, config.DidYouMean(name, s.scope.Params))
	return -1
}

// environment looks a variable up now, so that serving never does.
func (s *scanner) environment(t token, name string) value {
	if s.scope.Env != nil {
		if v, ok := s.scope.Env(name); ok {
			return textValue([]byte(v))
		}
	}
	if !s.defaulted() {
		s.warn(t.offset, "the environment variable %s is not set; it renders as missing", name)
	}
	return value{}
}

// defaulted tells whether the first filter of the operand just read is default: what to
// do without the operand is said then.
func (s *scanner) defaulted() bool {
	ahead := *s
	if !ahead.tok.is("|") {
		return false
	}
	ahead.next()
	return ahead.tok.word("default")
}

// steps cuts "a.b.0.c", or "a[0].c", into steps.
func (s *scanner) steps(t token, path string, dotted bool) (steps []step, ok bool) {
	if !dotted {
		return nil, true
	}
	dots := indexes.ReplaceAllString(path, ".$1")
	if strings.HasPrefix(path, "[") {
		dots = strings.TrimPrefix(dots, ".")
	}
	for _, key := range strings.Split(dots, ".") {
		if key == "" || strings.ContainsAny(key, "[]") {
			s.fail(t.offset, "%q is no way into a value; a.b, a.0.b and a[0].b are accepted", t.text)
			return nil, false
		}
		index := -1
		if n, err := strconv.ParseUint(key, 10, 31); err == nil {
			index = int(n)
		}
		steps = append(steps, step{key: key, index: index})
	}
	return steps, true
}

// indexes are the array indexes of a path that are written in brackets.
var indexes = regexp.MustCompile(`\[(\d+)\]`)
