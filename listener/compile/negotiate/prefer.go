package negotiate

import (
	"bytes"
	"strconv"

	"mockserver/internal/ascii"
	"mockserver/internal/wording"

	"mockserver/matcher"
)

const preferHeader = "Prefer"

// preferences holds what a request prefers among the answers of an operation, as given in its
// Prefer headers (RFC 7240) or in its query.
type preferences struct {
	code    int    // 0 for any
	example []byte // name of the example; empty for any
	dynamic bool
	implied bool   // dynamic is not from the request, but from Options.Dynamic
	wrong   string // an error of the client; "" for none

	coded, named, dynamicGiven bool // whether code, example and dynamic were given
}

// imply prefers newly generated bodies for a request that does not say otherwise, if
// Options.Dynamic is set.
func (p *preferences) imply(dynamic bool) {
	if dynamic && !p.dynamicGiven && !p.named {
		p.dynamic, p.implied = true, true
	}
}

// allow reports whether a request accepts the default answer, which has the given status.
func (p *preferences) allow(status int) bool {
	return p.wrong == "" && !p.dynamic && len(p.example) == 0 && (p.code == 0 || p.code == status)
}

// readPreferences reads the preferences of a request. A header takes precedence over the query, and
// the first of several preferences with the same name counts. Unknown preferences are ignored.
func readPreferences(r *matcher.Request) preferences {
	var p preferences
	for line := range r.In.Header.Values(preferHeader) {
		r.Arena = p.read(line, r.Arena)
	}
	if !Asks(r.QueryString()) {
		return p
	}
	for _, name := range [...]string{preferCode, preferExample, preferDynamic} {
		if value, ok := r.Query(queryNames[name]); ok {
			p.set(name, value)
		}
	}
	return p
}

var queryNames = map[string]string{
	preferCode: queryPrefix + preferCode, preferExample: queryPrefix + preferExample, preferDynamic: queryPrefix + preferDynamic,
}

// read parses one Prefer header. Texts with escapes are unescaped into arena, which is returned. A
// space between preferences counts as a comma, because many clients omit the comma.
func (p *preferences) read(line, arena []byte) []byte {
	for len(line) > 0 {
		var element []byte
		element, line = cutList(line, ',')
		element, _ = cutList(element, ';') // parameters of preferences are not used
		for {
			var name, value []byte
			name, value, element, arena = cutPreference(element, arena)
			if len(name) == 0 {
				break
			}
			for _, known := range [...]string{preferCode, preferExample, preferDynamic} {
				if ascii.EqualFold(name, known) {
					p.set(known, value)
				}
			}
		}
	}
	return arena
}

// cutPreference cuts "name", "name = word" or "name = \"text\"" off the beginning of b.
func cutPreference(b, arena []byte) (name, value, rest, grown []byte) {
	b = ascii.TrimBlanks(b)
	end := 0
	for end < len(b) && b[end] != '=' && !ascii.IsBlank(b[end]) {
		end++
	}
	name, rest = b[:end], ascii.TrimBlanks(b[end:])
	if len(rest) == 0 || rest[0] != '=' {
		return name, nil, rest, arena
	}
	rest = ascii.TrimBlanks(rest[1:])
	if len(name) == 0 { // a "=" without a name: what follows is ignored
		return nil, nil, nil, arena
	}
	if len(rest) > 0 && rest[0] == '"' {
		return cutQuoted(name, rest[1:], arena)
	}
	end = 0
	for end < len(rest) && !ascii.IsBlank(rest[end]) {
		end++
	}
	return name, rest[:end], rest[end:], arena
}

func cutQuoted(name, b, arena []byte) (_, value, rest, grown []byte) {
	start := len(arena)
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			return name, arena[start:len(arena):len(arena)], b[i+1:], arena
		case b[i] == '\\' && i+1 < len(b):
			i++
		}
		arena = append(arena, b[i])
	}
	return name, arena[start:len(arena):len(arena)], nil, arena // the closing quote is missing
}

// set stores a preference, unless it was given before.
func (p *preferences) set(name string, value []byte) {
	switch {
	case name == preferExample && !p.named:
		p.named, p.example = true, value
	case name == preferCode && !p.coded:
		p.coded = true
		if p.code = readStatus(value); p.code == 0 {
			p.refuse(name, value, "a status from 200 to 599")
		}
	case name == preferDynamic && !p.dynamicGiven:
		p.dynamicGiven = true
		p.dynamic = len(value) == 0 || ascii.EqualFold(value, "true")
		if !p.dynamic && !ascii.EqualFold(value, "false") {
			p.refuse(name, value, "true or false")
		}
	}
}

func (p *preferences) refuse(name string, value []byte, expected string) {
	if p.wrong == "" {
		p.wrong = "the preference " + name + " is " + strconv.Quote(wording.Bounded(string(value))) + "; expected " + expected
	}
}

// readStatus returns the status code in b; 0 if no answer can have that status.
func readStatus(b []byte) int {
	if len(b) != 3 || b[0] < '2' || '5' < b[0] || b[1] < '0' || '9' < b[1] || b[2] < '0' || '9' < b[2] {
		return 0
	}
	return 100*int(b[0]-'0') + 10*int(b[1]-'0') + int(b[2]-'0')
}

// The names of the preferences are the same as in Prism.
const (
	preferCode    = "code"
	preferExample = "example"
	preferDynamic = "dynamic"
	// queryPrefix is the prefix of preferences in a query.
	queryPrefix = "__"
)

// Asks reports whether a query may contain a preference. Clients have no reason to escape the
// characters of these names.
func Asks(query []byte) bool { return len(query) > 0 && bytes.Contains(query, []byte(queryPrefix)) }
