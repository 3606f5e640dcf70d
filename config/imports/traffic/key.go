package traffic

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/list"
)

// column is a part of the requests that the answers may depend on, with its values.
type column struct {
	from   byte   // 'p' path parameter, 'q' query, 'f' form, 'j' JSON, 'w' a whole part of the request
	name   string // in nested JSON, the names joined by 0x01
	values []uint32
}

const (
	// maxKey is the maximum number of members of query and body in a key.
	maxKey = 3
	// few is the number of exchanges up to which every difference between answers is assumed to
	// depend on the request.
	few = 100
	// fewMembers is the number of different members of query and body that are examined in any
	// group, manyMembers the maximum in a small one, and manyValues limits the values examined.
	fewMembers, manyMembers, manyValues = 24, 1000, 4 << 20
	// maxBody is the largest body of a request that is compared as a whole, in bytes.
	maxBody = 16 << 10
)

// operand returns the variable of the column in the configuration language.
func (c *column) operand() string {
	if c.from == 'w' {
		return c.name
	}
	root := map[byte]string{'p': "path-params", 'q': "query-params", 'f': "form-params", 'j': "json-params"}[c.from]
	for name := range strings.SplitSeq(c.name, "\x01") {
		root = language.Member(root, name)
	}
	return root
}

// columns returns the parts of requests that the answers of the group may depend on: path
// parameters, then members of query and body.
func (g *group) columns() (params, others []*column) {
	for i, s := range g.pattern.segments {
		if s.param {
			params = append(params, g.column('p', s.name, func(r *record) string { return "=" + language.Decoded(g.pattern.value(g.path(r), i)) }))
		}
	}
	byName := map[string]*column{}
	most := max(fewMembers, min(manyMembers, manyValues/len(g.records)))
	put := func(from byte, name, value string, k int) {
		c := byName[string(from)+name]
		if c == nil {
			if len(byName) >= most {
				return
			}
			c = &column{from: from, name: name, values: make([]uint32, len(g.records))}
			byName[string(from)+name] = c
			others = append(others, c)
		}
		c.values[k] = g.words.add(value)
	}
	for k, r := range g.records {
		for _, f := range parameters(g.words.texts[r.query]) {
			put('q', f.Name, f.Value, k)
		}
		if body := g.store.get(r.request, &g.buf[0]); len(body) > 0 {
			kind := fieldOf(split(g.store.get(r.sent, &g.buf[1])), "Content-Type")
			members(body, kind, func(from byte, name, value string) {
				if len(value) > maxMember {
					value = unknown
				}
				put(from, name, value, k)
			})
		}
	}
	return params, others
}

// column returns a column with the values that a function returns.
func (g *group) column(from byte, name string, of func(*record) string) *column {
	c := &column{from: from, name: name, values: make([]uint32, len(g.records))}
	for k, r := range g.records {
		c.values[k] = g.words.add(of(r))
	}
	return c
}

// whole is a whole part of requests.
type whole struct {
	name   string
	number func(*record) uint32
	text   func(*group, *record) string // as a value of a column
}

var wholes = []whole{
	{"path", func(r *record) uint32 { return r.place }, func(g *group, r *record) string { return "=" + g.path(r) }},
	{"query-string", func(r *record) uint32 { return r.query }, func(g *group, r *record) string { return "=" + g.words.texts[r.query] }},
	{"body", func(r *record) uint32 { return r.request }, func(g *group, r *record) string {
		body := g.store.get(r.request, &g.buf[0])
		form := bytes.Contains(g.store.get(r.sent, &g.buf[1]), []byte("multipart/")) // its boundary is another each time
		if len(body) > maxBody || form || !utf8.Valid(body) {
			return unknown
		}
		return "=" + string(body)
	}},
}

// distinguishes reports whether the values of a column are known, and conditions tell all of them apart:
// these compare texts that are numbers as numbers, and a missing value equals an empty one.
func (g *group) distinguishes(c *column) bool {
	numbers, texts := map[uint32]bool{}, map[any]bool{}
	for k, v := range c.values {
		if numbers[v] {
			continue
		}
		numbers[v] = true
		var value any = g.value(c, k).Text.Value
		if n, err := strconv.ParseFloat(g.value(c, k).Text.Value, 64); err == nil {
			value = n
		}
		if texts[value] || g.words.texts[v] == unknown {
			return false
		}
		texts[value] = true
	}
	return true
}

// findKey sets the columns that the answers depend on.
func (g *group) findKey() {
	g.numberResponses()
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
			if n := g.conflicts(keys); n < least && g.plausible(left, distinct) && g.distinguishes(c) {
				best, least = c, n
			}
		}
		if best == nil || left == 0 {
			break
		}
		g.extend(best, &left)
	}
	for _, w := range wholes { // no few members explain the answers
		keys, distinct := refine(g.keys, list.Map(g.records, w.number))
		if g.plausible(left, distinct) && g.conflicts(keys) < left {
			g.extend(g.column('w', w.name, func(r *record) string { return w.text(g, r) }), &left)
		}
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
	g.judge(left)
}

// judge reports answers that depend on more of the request than the key: left is the number of
// answers that the key does not explain.
func (g *group) judge(left int) {
	if left == 0 {
		return
	}
	keys := make([]uint32, len(g.records))
	for _, w := range wholes {
		keys, _ = refine(keys, list.Map(g.records, w.number))
	}
	if n := g.conflicts(keys); n < left {
		left = n
		g.fault("some answers belong to requests that cannot be told apart, or whose values hardly ever repeat; they come in turn or by their shares")
	}
	if keys, _ = refine(keys, list.Map(g.records, func(r *record) uint32 { return r.origin })); g.conflicts(keys) < left {
		g.fault("requests for several schemes or ports get their answers in turn, because all are answered at one address")
	}
}

// extend adds a column to the key if this makes fewer answers conflict and the key stays plausible.
func (g *group) extend(c *column, left *int) {
	keys, distinct := refine(g.keys, c.values)
	if n := g.conflicts(keys); n < *left && g.plausible(*left, distinct) && g.distinguishes(c) {
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

// conflicts returns the number of answers that differ from the most frequent answer to their key. In
// a small group, the answers to all keys that have different ones count as well. Answers whose
// bodies were not recorded do not count.
func (g *group) conflicts(keys []uint32) int {
	counts := make(map[uint64]int32, 16)
	all, most := map[uint32]int32{}, map[uint32]int32{}
	for i, key := range keys {
		if g.records[i].lost {
			continue
		}
		both := uint64(key)<<32 | uint64(g.responses[i])
		counts[both]++
		all[key]++
		most[key] = max(most[key], counts[both])
	}
	n := 0
	for key, m := range most {
		n += int(all[key] - m)
		if m < all[key] && len(g.records) <= few {
			n += int(all[key])
		}
	}
	return n
}

// numberResponses numbers the different answers. Answers differ by status, body, truncation or
// Location.
func (g *group) numberResponses() {
	numbers := newWords()
	g.responses = make([]uint32, len(g.records))
	for i, r := range g.records {
		g.responses[i] = numbers.add(fmt.Sprint(r.status, r.body, r.cut, g.leadsTo(r)))
	}
}

// value returns the value of a column in a record: null if it was missing, a text, or a scalar as in
// the body.
func (g *group) value(c *column, i int) *syntax.Node {
	text := g.words.texts[c.values[i]]
	switch {
	case text == "" || text == unknown:
		return &syntax.Node{}
	case c.from == 'j' && text[1] == '"':
		return syntax.NewText(text[2:])
	case c.from == 'j':
		return syntax.NewNumber(text[1:])
	}
	return syntax.NewText(text[1:])
}

// literal returns a value of a key as a literal of conditions.
func literal(value *syntax.Node) string {
	switch value.Kind {
	case syntax.TextNode:
		return language.Quote(value.Text.Value)
	case syntax.NumberNode:
		return value.Number
	}
	return "null"
}
