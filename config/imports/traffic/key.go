package traffic

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/internal/json"
)

// column is a part of the requests that the answers may depend on, with its values.
type column struct {
	from   byte   // 'p' path parameter, 'q' query, 'f' form, 'j' JSON
	name   string // in nested JSON, the names joined by 0x01
	index  int    // of a path parameter: its segment
	values []uint32
}

const (
	// maxKey is the maximum number of members of query and body in a key.
	maxKey = 3
	// few is the number of exchanges up to which every difference between answers is assumed to
	// depend on the request.
	few = 100
)

// operand returns the variable of the column in the configuration language.
func (c *column) operand() string {
	root := map[byte]string{'p': "path-params", 'q': "query-params", 'f': "form-params", 'j': "json-params"}[c.from]
	for name := range strings.SplitSeq(c.name, "\x01") {
		if isWord(name) {
			root += "." + name
		} else {
			root += "[" + draft.Quote(name) + "]"
		}
	}
	return root
}

// isWord reports whether a name can be used in a variable without quotes.
func isWord(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}) && name != "length"
}

// columns returns the parts of requests that the answers of the group may depend on: path
// parameters, then members of query and body, each only if its values differ.
func (g *group) columns() (params, members []*column) {
	for i, s := range g.pattern.segments {
		if !s.param {
			continue
		}
		c := &column{from: 'p', name: s.name, index: i, values: make([]uint32, len(g.records))}
		for k, r := range g.records {
			c.values[k] = g.words.add(g.pattern.value(g.path(r), i))
		}
		if c.differs() {
			params = append(params, c)
		}
	}
	byName := map[string]*column{}
	put := func(from byte, name, value string, k int) {
		c := byName[string(from)+name]
		if c == nil {
			if len(byName) >= maxMembers {
				return
			}
			c = &column{from: from, name: name, values: make([]uint32, len(g.records))}
			byName[string(from)+name] = c
			members = append(members, c)
		}
		c.values[k] = g.words.add("=" + value) // differs from a missing value, 0
	}
	for k, r := range g.records {
		if r.query != 0 {
			for _, f := range parameters(g.words.texts[r.query]) {
				put('q', f.Name, f.Value, k)
			}
		}
		if r.members != 0 {
			text := g.words.texts[r.members]
			for from, rest := text[0], text[1:]; rest != ""; {
				var name, value string
				name, rest, _ = strings.Cut(rest, "\x00")
				value, rest, _ = strings.Cut(rest, "\x00")
				put(from, name, value, k)
			}
		}
	}
	return params, slices.DeleteFunc(members, func(c *column) bool { return !c.differs() })
}

func (c *column) differs() bool {
	return slices.ContainsFunc(c.values, func(v uint32) bool { return v != c.values[0] })
}

// findKey sets the columns that the answers depend on.
func (g *group) findKey() {
	g.numberAnswers()
	g.keys = make([]uint32, len(g.records))
	left := g.conflicts(g.keys)
	if left == 0 {
		return
	}
	params, members := g.columns()
	for _, c := range params {
		g.extend(c, &left)
	}
	for range maxKey {
		var best *column
		least := left
		for _, c := range members {
			keys, distinct := refine(g.keys, c.values)
			if n := g.conflicts(keys); n < least && g.plausible(left, distinct) && !slices.Contains(g.key, c) {
				best, least = c, n
			}
		}
		if best == nil || left == 0 {
			break
		}
		g.extend(best, &left)
	}
	for _, c := range slices.Clone(g.key) { // later columns may make c unnecessary
		rest := slices.DeleteFunc(slices.Clone(g.key), func(k *column) bool { return k == c })
		keys := make([]uint32, len(g.records))
		for _, k := range rest {
			keys, _ = refine(keys, k.values)
		}
		if len(rest) > 0 && g.conflicts(keys) <= left {
			g.key, g.keys = rest, keys
		}
	}
}

// extend adds a column to the key if this makes fewer answers conflict and the key stays plausible.
func (g *group) extend(c *column, left *int) {
	keys, distinct := refine(g.keys, c.values)
	if n := g.conflicts(keys); n < *left && g.plausible(*left, distinct) {
		g.key, g.keys, *left = append(g.key, c), keys, n
	}
}

// plausible reports whether a key with the given number of values can be assumed to determine the
// answers. A key whose values hardly ever repeat would explain anything, even failures under load,
// so it counts only if most answers differ.
func (g *group) plausible(conflicts, distinct int) bool {
	n := len(g.records)
	return n <= few || distinct <= n/2 || conflicts >= n/2
}

// refine returns keys that distinguish all records that either of two keys distinguishes, and the
// number of different keys.
func refine(keys, values []uint32) ([]uint32, int) {
	numbers := map[uint64]uint32{}
	refined := make([]uint32, len(keys))
	for i := range keys {
		both := uint64(keys[i])<<32 | uint64(values[i])
		n, known := numbers[both]
		if !known {
			n = uint32(len(numbers))
			numbers[both] = n
		}
		refined[i] = n
	}
	return refined, len(numbers)
}

// conflicts returns the number of answers that differ from the most frequent answer to their key.
// Answers whose bodies were not recorded do not count.
func (g *group) conflicts(keys []uint32) int {
	counts := make(map[uint64]int32, 16)
	most := map[uint32]int32{}
	unknown := 0
	for i, key := range keys {
		if g.records[i].lost {
			unknown++
			continue
		}
		both := uint64(key)<<32 | uint64(g.answers[i])
		counts[both]++
		most[key] = max(most[key], counts[both])
	}
	n := len(keys)
	for _, m := range most {
		n -= int(m)
	}
	return n - unknown
}

// numberAnswers numbers the different answers. Answers differ by status, body, truncation or
// Location.
func (g *group) numberAnswers() {
	numbers := map[string]uint32{}
	g.answers = make([]uint32, len(g.records))
	for i, r := range g.records {
		id := strconv.Itoa(int(r.status)) + " " + strconv.Itoa(int(r.body)) + " " + strconv.FormatBool(r.cut)
		if r.status >= 300 && r.status < 400 || r.status == 201 {
			id += " " + fieldOf(split(g.store.get(r.headers, &g.buf[0])), "Location")
		}
		n, known := numbers[id]
		if !known {
			n = uint32(len(numbers))
			numbers[id] = n
		}
		g.answers[i] = n
	}
}

// value returns the value of a column in a record: nil if it was missing, a text, or a scalar as in
// the body.
func (g *group) value(c *column, i int) any {
	text := g.words.texts[c.values[i]]
	switch {
	case c.from == 'p':
		return unescaped(text)
	case text == "":
		return nil
	case c.from == 'j' && text[1] == '"':
		return string(json.Parse([]byte(text[1:])).AppendText(nil))
	case c.from == 'j':
		return draft.Number(text[1:])
	}
	return text[1:]
}

// unescaped returns a segment of a path without its percent-encoding.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// literal returns a value of a key as a literal of conditions.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		return draft.Quote(v)
	case draft.Number:
		return string(v)
	}
	return "null"
}
