package renderer

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/internal/wording"
	"mockserver/renderer/fake"
)

// otherWords maps words that other tools use for parts of a request, in lower case without - and _,
// to the word to use here. NAME is replaced by the name that follows.
var otherWords = map[string]string{
	"query": "query-params.NAME", "queries": "query-params.NAME", "args": "query-params.NAME",
	"params": "path-params.NAME", "param": "path-params.NAME", "urlparam": "path-params.NAME", "urlparams": "path-params.NAME",
	"pathvariables": "path-params.NAME", "pathsegments": "path-segments.NAME",
	"header": "header-params.NAME", "headers": "header-params.NAME",
	"cookie": "cookie-params.NAME", "cookies": "cookie-params.NAME",
	"form": "form-params.NAME", "formdata": "form-params.NAME",
	"json": "json-params.NAME", "jsonbody": "json-params.NAME", "bodyjson": "json-params.NAME", "jsonpath": "json-params.NAME",
	"data": "json-params.NAME", "payload": "json-params.NAME", "body": "json-params.NAME", "bodyraw": "body",
	"method": "method", "path": "path", "url": "path-and-query", "uri": "path-and-query", "originalurl": "path-and-query", "querystring": "query-string",
	"host": "host", "hostname": "host.name", "baseurl": "host.url", "port": "host.port", "ip": "remote-addr", "clientip": "remote-addr", "remoteaddress": "remote-addr",
	"clientcert": "client-cert.cn", "clientcertificate": "client-cert.cn", "peercertificate": "client-cert.cn", "sni": "tls.sni",
	"environment": "env.NAME", "getenvvar": "env.NAME", "getenv": "env.NAME", "process": "env.NAME",
	"timestamp": `now|date:"unix"`, "isotimestamp": "now", "date": `now|date:"date"`, "datetime": "now", "today": `now|date:"date"`,
	"guid": "uuid", "randomuuid": "uuid", "randomvalue": "uuid", "uuidv4": "uuid",
	"randomint": "random-int(1, 100)", "randominteger": "random-int(1, 100)", "int": "random-int(1, 100)",
	"oneof": `pick("a", "b")`, "randomchoice": `pick("a", "b")`,
	"randomstring": "random-text(10)", "randomalphanumeric": "random-text(10)", "nanoid": "random-text(21)", "randomhex": "random-hex(32)",
	"hexadecimal": "random-hex(32)", "uuidv7": "uuid7", "negate": "VALUE|neg",
}

// hint returns what a message about an unknown word suggests instead; "" for nothing. The word may
// be followed by a name in quotes.
func (s *scanner) hint(word string) string {
	name := ""
	switch {
	case s.tok.kind == textToken:
		name = s.tok.text
	case s.tok.word("request.body"): // {{jsonPath request.body '$.name'}}
		name, _ = unquoted(strings.TrimLeft(s.text.Value[s.pos:s.end], " \t\r\n"))
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "$"), ".")
	root, _ := cutRoot(word)
	switch write := elsewhere(word, name); {
	case slices.Contains(s.scope.Params, word):
		return " (write path-params." + word + ")"
	case write != "":
		return " (write " + write + ")"
	}
	return wording.DidYouMean(root, s.variableNames())
}

// otherOperators maps operators of other languages to ours.
var otherOperators = map[string]string{
	"&&": "and", "&": "and", "|": "or", "||": "or", "eq": "=", "equals": "=", "is": "=", "ne": "!=", "neq": "!=", "gt": ">", "lt": "<",
	"gte": ">=", "ge": ">=", "lte": "<=", "le": "<=", "has": "contains", "includes": "contains", "regex": "matches", "like": "matches",
}

// operatorHint returns a hint for a token that stands where an operator, and or or may stand.
func (s *scanner) operatorHint(t token) string {
	near := otherOperators[strings.ToLower(t.text)]
	switch {
	case near != "" || t.kind == endToken || t.kind == textToken:
	case t.is("="): // method = GET = POST
		near = "or"
	case t.kind == operator: // 1 < json-params.n < 5
		near = "and"
	case s.lone:
		near = wording.Nearest(t.text, []string{"and", "or", "contains", "matches"})
	default:
		near = wording.Nearest(t.text, []string{"and", "or"})
	}
	if near == "" && s.lone && (t.kind == wordToken || t.kind == textToken) { // method GET
		near = "="
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}

// colonHint returns how to write a name whose colon ended the previous word.
func colonHint(t token) string {
	if t.is(":") {
		return "; a name with a colon is written in brackets and quotes: json-params[\"a:b\"]"
	}
	return ""
}

// elsewhere returns what to write for a word from another tool; "" for an unknown word.
func elsewhere(word, name string) string {
	parts := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("$.[]", r) })
	if len(parts) > 1 && slices.Contains([]string{"request", "req", "ctx", "context"}, parts[0]) {
		parts = parts[1:]
	}
	if len(parts) == 0 {
		return ""
	}
	if name != "" {
		parts = append(parts, name)
	}
	first := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(parts[0]))
	write := otherWords[first]
	switch root, _ := cutRoot(write); {
	case first == "faker" || first == "fake":
		return `fake("` + kindOfData(parts[len(parts)-1]) + `")`
	case root == "json-params":
		return strings.Join(append([]string{root}, parts[1:]...), ".")
	case len(parts) > 1 && strings.ContainsAny(parts[1], wordEnds+"."):
		return strings.Replace(write, ".NAME", fmt.Sprintf("[%q]", parts[1]), 1)
	case len(parts) > 1:
		return strings.Replace(write, "NAME", parts[1], 1)
	}
	return write
}

// kindOfData returns the kind of invented data at the end of another library's path, such as
// internet.email, or an example of one.
func kindOfData(path string) string {
	kind := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
	if !fake.IsKind(kind) {
		return "email"
	}
	return kind
}

// functionHint is like hint, for the name of an unknown function.
func (s *scanner) functionHint(name string, known []string) string {
	switch _, isFilter := filters[name]; {
	case name == "shared-counter" || name == "shared-sequence":
		return wording.ByReplica
	case name == "random":
		return " (write random, or random-int(1, 100))"
	case s.isVariable(name):
		return " (write " + name + " without parentheses: it is a variable)"
	case isFilter:
		return " (write VALUE|" + name + ": it is a filter)"
	}
	if near := wording.DidYouMean(name, known); near != "" && elsewhere(name, "") == "" {
		return near
	}
	return s.hint(name)
}

// helperHint returns what to write for a variable that is written like a helper of another tool,
// with more text after a blank.
func (s *scanner) helperHint(e *expr) string {
	switch {
	case e.op == opBody && s.tok.kind == textToken:
		return " (write json-params." + strings.TrimPrefix(s.tok.text, "$.") + ")"
	case e.op == opNow && (s.tok.kind == textToken || s.tok.kind == wordToken):
		return ` (write now|date:"%Y-%m-%d")`
	}
	return ""
}

// foreign returns what to write for a tag from another template language; "" for a tag that may be
// valid here. inside is the text between its braces.
func foreign(inside string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(inside), " ")
	switch {
	case inside == "":
		return ""
	case inside[0] == '{':
		name := strings.TrimSpace(inside[1:])
		if len(name) > 40 {
			name = "x"
		}
		return "three braces are not a placeholder; write {{" + name + "}}, or with a { before it { {{" + name + "}}"
	case strings.HasPrefix(word, "!"):
		return "comments are not supported; write them outside the text, in the configuration"
	case word == "#each" || word == "/each":
		return "{{" + word + "}} is not known; write {% for x in ARRAY %} … {% endfor %}"
	case word == "#unless" || word == "/unless":
		return "{{" + word + "}} is not known; write {% if not (CONDITION) %} … {% endif %}"
	case strings.HasPrefix(word, "#"), strings.HasPrefix(word, "/"), strings.HasPrefix(word, "^"):
		return "{{" + word + "}} is not known; expected {% if CONDITION %}, {% for x in ARRAY %} or {% raw %}"
	case strings.HasPrefix(word, ">"):
		return "templates do not include others; write an external-body, or the text itself"
	case strings.HasPrefix(word, "&"):
		return "{{&}} is not known; write {{" + strings.TrimSpace(strings.TrimPrefix(word, "&")) + "}}, which is escaped only where necessary"
	}
	return ""
}

// trimmed returns the text inside a tag without the signs that remove surrounding blanks in other
// template languages, and how many bytes it removed on the left. A minus before a number is not
// such a sign.
func trimmed(inside string, block bool) (rest string, left int) {
	rest = inside
	if rest != "" && strings.IndexByte("-~", rest[0]) >= 0 &&
		(block || rest[0] == '~' || strings.HasPrefix(rest, "- ")) {
		rest, left = rest[1:], 1
	}
	if strings.HasSuffix(rest, " -") || strings.HasSuffix(rest, "~") || left > 0 && strings.HasSuffix(rest, "-") {
		rest = rest[:len(rest)-1]
	}
	return rest, left
}
