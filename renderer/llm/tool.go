package llm

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
	view "mockserver/internal/json"
	"mockserver/matcher"
	"mockserver/renderer"
)

// rule is a declared rule for the call of a tool.
type rule struct {
	holds           *renderer.Condition
	name            string
	arguments, text *renderer.Template // nil if not declared
}

// call is the call of a tool. Its name and its arguments are JSON.
type call struct{ name, arguments []byte }

// offered goes through the tools that a request offers, each with its name.
func (m *Model) offered(r *matcher.Request) func(yield func(name, tool view.Value) bool) {
	return func(yield func(name, tool view.Value) bool) {
		for group := range elements(field(r, m.Tools)) {
			if m.ToolsIn != "" {
				group = at(group, m.ToolsIn)
			}
			for tool := range elements(group) {
				if name := at(tool, m.ToolName); name.Kind == view.String && !yield(name, tool) {
					return
				}
			}
		}
	}
}

// appendOffered appends the names of the tools that a request offers, with a comma after each.
func (m *Model) appendOffered(b []byte, r *matcher.Request) []byte {
	for name := range m.offered(r) {
		b = append(append(b, name.Raw...), ',')
	}
	return b
}

// calls returns the tools that are called instead of the answer, and the text in addition to them; nil for none.
func (m *Model) calls(r *matcher.Request) (all []call, text []byte) {
	choice := field(r, m.ToolChoice)
	if field(r, m.Tools).Kind == view.Missing || m.rules == nil && choice.Kind == view.Missing || m.afterTool(r) {
		return nil, nil
	}
	return m.chosen(r, choice)
}

// chosen returns what calls returns, for a request with a choice of tools. Not part of calls, it costs others nothing.
func (m *Model) chosen(r *matcher.Request, choice view.Value) (all []call, text []byte) {
	chosen := at(choice, m.ToolChosen)
	mode := textOf(choice) + textOf(choice.Member("type")) + textOf(choice.Member("mode"))
	must := slices.Contains([]string{"required", "any", "tool", "function"}, strings.ToLower(mode))
	allowed := func(name view.Value) bool {
		for one := range elements(chosen) {
			if is(one, textOf(name)) {
				return true
			}
		}
		return chosen.Kind == view.Missing
	}
	one := len(m.OneTool) == 2 && string(field(r, m.OneTool[0]).Raw) == m.OneTool[1]
	for i := range m.rules {
		rule := &m.rules[i]
		for name, tool := range m.offered(r) {
			if strings.EqualFold(mode, "none") || one && all != nil || !is(name, rule.name) || !allowed(name) || !rule.holds.Holds(r) {
				continue
			}
			arguments := rule.arguments
			if rule.text != nil {
				text = bytes.Clone(rule.text.Append(r.Line[:0], r))
			}
			if arguments == nil {
				all = append(all, call{name.Raw, m.schemed(r, tool)})
			} else {
				all = append(all, call{name.Raw, bytes.Clone(arguments.Append(r.Line[:0], r))})
			}
			break
		}
	}
	for name, tool := range m.offered(r) {
		if must && all == nil && allowed(name) {
			all = []call{{name.Raw, m.schemed(r, tool)}}
		}
	}
	return all, text
}

// appendCalls appends the calls of tools, each with its deltas, and whether there is a text next to them. The number
// of a block is that among all parts of the answer: the thinking, the text, and each call.
func (d *deltas) appendCalls(b []byte, calls []call, thinks, text bool) []byte {
	block := 0
	if thinks {
		block++
	}
	b = appendNumber(b, "text-block", block)
	text = text || len(calls) == 0 || d.left == 0
	b = appendRaw(b, "content", strconv.FormatBool(text))
	if text {
		block++
	}
	b = append(b, `"calls":[`...)
	for i, c := range calls {
		if d.left == 0 {
			d.cut = true
			break
		}
		b = appendNumber(append(b, '{'), "index", i)
		b = appendNumber(b, "block", block+i)
		b = appendRaw(b, "id", `"`+strconv.FormatUint(d.r.Random.Uint64(), 36)+`"`)
		b = appendRaw(b, "name", c.name)
		b = d.append(append(b, `"pieces":`...), c.arguments)
		if d.cut {
			c.arguments = []byte("{}")
		}
		b = appendRaw(b, "input", c.arguments)
		b = append(b[:len(b)-1], "},"...)
	}
	return append(bytes.TrimSuffix(b, []byte(",")), "],"...)
}

// afterTool reports whether the last message of a request is the result of a tool.
func (m *Model) afterTool(r *matcher.Request) bool {
	var last view.Value
	for last = range elements(field(r, m.Messages)) {
	}
	return isResult(last)
}

func isResult(v view.Value) bool {
	role, of := v.Member("role"), v.Member("type")
	if is(role, "tool") || is(of, "tool_result") || is(of, "function_call_output") || v.Member("functionResponse").Kind == view.Object {
		return true
	}
	for _, name := range [...]string{"content", "parts"} {
		for part := range elements(v.Member(name)) {
			if isResult(part) {
				return true
			}
		}
	}
	return false
}

// is reports whether a value is a string.
func is(v view.Value, text string) bool { return v.Kind == view.String && v.Equals(text) }

// textOf returns the text of a string; "" for any other value.
func textOf(v view.Value) string {
	if v.Kind != view.String {
		return ""
	}
	return string(v.AppendText(nil))
}

// content returns the text of an answer: as JSON, if the request asks for that, unless the text is.
func (m *Model) content(r *matcher.Request) []byte {
	text := m.make(r)
	var schema view.Value
	for _, path := range m.Schema {
		if schema = field(r, path); schema.Kind != view.Missing {
			break
		}
	}
	if schema.Kind == view.Missing && (len(m.JSON) != 2 || !is(field(r, m.JSON[0]), m.JSON[1])) || view.Parse(text).Kind == view.Object {
		return text
	}
	return m.inventors.invent(cmp.Or(string(schema.Raw), anyObject), r)
}

// anyObject is the schema of an answer that is to be JSON.
const anyObject = `{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"}}}`

// schemed returns arguments for a tool, as its schema has them.
func (m *Model) schemed(r *matcher.Request, tool view.Value) []byte {
	for _, path := range m.ToolSchema {
		if schema := at(tool, path); schema.Kind == view.Object {
			return m.inventors.invent(string(schema.Raw), r)
		}
	}
	return []byte("{}")
}

// inventors make JSON for the schemas of requests. It is safe for concurrent use.
type inventors struct {
	sync.Mutex
	known map[string]func(seed uint64) []byte
}

// mostSchemas is how many schemas are known at most.
const mostSchemas = 100

// invent returns a JSON text that a schema accepts; {} if there is none.
func (n *inventors) invent(schema string, r *matcher.Request) []byte {
	n.Lock()
	fresh, ok := n.known[schema]
	n.Unlock()
	if !ok {
		fresh = func(uint64) []byte { return []byte("{}") }
		if docs, problems := syntax.Read("schema.json", []byte(schema)); problems.Err() == nil && len(docs) == 1 {
			if invent, problems := openapi.Inventor(docs[0]); problems.Err() == nil {
				fresh = invent
			}
		}
		n.Lock()
		if n.known == nil || len(n.known) >= mostSchemas {
			n.known = map[string]func(uint64) []byte{}
		}
		n.known[schema] = fresh
		n.Unlock()
	}
	return view.AppendCompact(nil, fresh(r.Random.Uint64()))
}
