package data_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/listener"
)

// TestErrors: each error in a configuration is found at load, and reported with its position.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"twice.csv": "id,n\na,1\nb,2\na,3\n", "nokey.csv": "n\n1\n", "cell.csv": "id,n\na,1\nb,x\n", "list.json": `[{"id": "a"}, 7]`,
		"empty.csv": "n,id\n1,\n", "null.csv": "id,n\n,1\n", "key.json": "[{\"id\": 1},\n {\"id\": [1]}]", "named.json": `{"a": {}, "": {}}`,
		"wrong.schema.json": "{\"properties\":\n {\"n\":                {\"type\": \"int\"}}}", "text.schema.json": "{",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ configuration, want string }{
		{"- data: {}", `mock.yml:1:9: [0].data: name is missing`},
		{"- data: {name: a b}", `mock.yml:1:16: [0].data.name: is a text ("a b"); expected a name of letters, digits, - and _`},
		{"- data: {name: a}\n- data: {name: a}", `mock.yml:2:9: [1].data.name: "a" is the name of another set, at`},
		{"- data: {name: a, from: {path: none.csv}}", `mock.yml:1:32: [0].data.from.path: file "none.csv" does not exist`},
		{"- data: {name: a, from: {path: rows.txt}}", `[0].data.from.path: `},
		{"- data: {name: a, from: {path: twice.csv}}", `twice.csv:4:1: [0].data.from.path: the row on line 2 has the key "a" too; expected a unique key`},
		{"- data: {name: a, from: {path: nokey.csv}}", `nokey.csv:1:1: [0].data.from.path: no column "id"`},
		{"- data: {name: a, from: {path: empty.csv}}", `empty.csv:2:1: [0].data.from.path: the key "id" is empty; expected a text or a number`},
		{"- data: {name: a, from: {path: null.csv}, types: infer}", `null.csv:2:1: [0].data.from.path: the row has no key; expected a member "id"`},
		{"- data: {name: a, from: {path: key.json}}", `key.json:2:2: [0].data.from.path: the key "id" is [1]; expected a text or a number`},
		{"- data: {name: a, from: {path: named.json}}", `named.json:1:11: [0].data.from.path: the key "id" is empty`},
		{"- data: {name: a, from: {path: cell.csv}, types: {n: integer}}", `cell.csv:3:3: [0].data.from.path: `},
		{"- data: {name: a, from: {path: list.json}}", `list.json:1:15: [0].data.from.path: `},
		{"- data: {name: a, from: {path: list.json}, rows: []}", `from and rows are both given`},
		{"- data: {name: a, rows: [{id: 1}, {id: 1.5}, {id: \"1\"}]}", `mock.yml:1:46: [0].data.rows[2]: the row on line 1 has the key "1" too`},
		{"- data: {name: a, rows: [{id: 1e1}, {id: \"10.0\"}]}", `mock.yml:1:37: [0].data.rows[1]: the row on line 1 has the key "10" too`},
		{"- data: {name: a, rows: [{n: 1}]}", `mock.yml:1:26: [0].data.rows[0]: the row has no key; expected a member "id"`},
		{"- data: {name: a, rows: [{id: {}}]}", `mock.yml:1:26: [0].data.rows[0]: the key "id" is {}`},
		{"- data: {name: a, rows: [7]}", `[0].data.rows[0]: is a number (7); expected a map`},
		{"- data: {name: a, types: guess}", `[0].data.types: is a text ("guess"); expected infer, or a map of columns to types`},
		{"- data: {name: a, types: {n: int}}", `[0].data.types.n: is a text ("int"); expected one of text, integer`},
		{"- resource: {path: /a, schema: s.json}", `mock.yml:1:32: [0].resource.schema: is a text ("s.json"); expected the schema as a map, or {file: s.json}`},
		{"- resource: {path: /a, schema: {file: [s.json]}}", `mock.yml:1:39: [0].resource.schema.file: is a list; expected a text`},
		{"- data: {name: a, limit: {memory: lots}}", `[0].data.limit.memory: is a text ("lots"); expected a number of bytes`},
		{"- data: {name: a, full: newest}", `[0].data.full: is a text ("newest"); expected refuse or oldest`},
		{"- data: {name: a, new-key: \"{{nothing}}\"}", `unknown variable "nothing"`},
		{"- endpoint: {path: /, find: {u: {in: users}}, response: {}}", `mock.yml:1:38: [0].endpoint.find.u.in: there is no set "users"; expected the name of a data item, but there are none`},
		{"- endpoint: {path: /, find: {u: {in: users, pick: next}}, response: {}}", `[0].endpoint.find.u.in: there is no set "users"`},
		{"- data: {name: user, kye: id}\n- resource: {path: /a, data: user, new-key: int}", `mock.yml:1:22: [0].data.kye: unknown key`},
		{"- scenario: {name: a, first: b, move: [{from: b, after: 0s}]}", `[0].scenario.move[0]: to is missing`},
		{"- scenario: {name: a, move: [{from: b, after: 1s, to: c}]}\n- endpoint: {path: /, state: {a: new}, response: {}}", `[0].scenario: first is missing`},
		{"- data: {name: user}\n- endpoint: {path: /, find: {u: {in: users}}, response: {}}", `there is no set "users" (did you mean "user"?); sets are user`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {now: {in: a}}, response: {}}", `[1].endpoint.find.now: "now" is a word of the template language; expected another name`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {1u: {in: a}}, response: {}}", `[1].endpoint.find.1u: is not a name: a letter, followed by`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {u: {in: a, where: {n: 1}}}, response: {}}", `[1].endpoint.find.u.where.n: the set "a" has no index of "n"; expected one of the members under index or sort, but it has none`},
		{"- data: {name: a, index: [nn]}\n- endpoint: {path: /, find: {u: {in: a, where: {n: 1}}}, response: {}}", `which has nn`},
		{"- data: {name: a, index: [id]}\n- endpoint: {path: /, find: {u: {in: a, key: 1, where: {id: 1}}}, response: {}}", `key and where are both given`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {u: {in: a, key: path-params.x y}}, response: {}}", `unexpected "y"; expected one operand`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {u: {in: a, pick: last}}, response: {}}", `[1].endpoint.find.u.pick: is a text ("last"); expected one of first, newest`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {u: {in: a, key: v.id}, v: {in: a}}, response: {}}", `[1].endpoint.find.u.key: "v" is a name of this endpoint that is not available here`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {u: {in: a, key: 1}}, response: {body: \"{{w.id}}\"}}", `unknown variable "w.id"`},
		{"- data: {name: a}\n- endpoint: {path: /, find: {u: {in: a, key: 1}}, if: u.state = paid, do: [{delete: {in: a, key: 1, as: paid}}], response: {}}", `[1].endpoint.if: "paid" is a name of this endpoint that is not available here`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{insert: {in: a, row: hello}}], response: {}}", `mock.yml:2:50: [1].endpoint.do[0].insert.row: is a text ("hello"); expected a map, a JSON object, or one placeholder`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{put: {in: a, key: 1, with: '{{body}}{{path}}'}}], response: {}}", `[1].endpoint.do[0].put.with: is a text ("{{body}}{{path}}"); expected a map, a JSON object, or one placeholder`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{insert: {}}], response: {}}", `[1].endpoint.do[0].insert: in is missing`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{insert: {in: b}}], response: {}}", `[1].endpoint.do[0].insert.in: there is no set "b"`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{update: {in: a}}], response: {}}", `[1].endpoint.do[0].update: unknown key (did you mean "merge"?); expected one of insert, put`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{put: {in: a, key: 1}, insert: {in: a}}], response: {}}", `[1].endpoint.do[0]: has 2 keys; expected a map with one key, `},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{put: {in: a}}], response: {}}", `[1].endpoint.do[0].put: key is missing`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{add: {in: a, key: 1, by: 1}}], response: {}}", `[1].endpoint.do[0].add: field is missing`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{delete: {in: a, key: 1, as: uuid}}], response: {}}", `"uuid" is a word of the template language; expected another name`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{delete: {in: a, key: 1, else: {status: 99}}}], response: {}}", `[1].endpoint.do[0].delete.else.status: is a number (99); expected`},
		{"- data: {name: a}\n- endpoint: {path: /, do: [{put: {in: a, key: 1, set: {n: \"{{x}}\"}}}], response: {}}", `[1].endpoint.do[0].put.set.n: unknown variable "x"`},
		{"- scenario: {name: a}", `[0].scenario: first is missing`},
		{"- scenario: {name: 1a, first: x}", `[0].scenario.name: is a text ("1a"); expected a name`},
		{"- scenario: {name: a, first: x}\n- data: {name: a}", `mock.yml:1:13: [0].scenario.name: "a" is the name of another scenario, or of a set`},
		{"- scenario: {name: a, first: x}\n- endpoint: {path: /, state: {b: x}, response: {}}", `[1].endpoint.state.b: there is no scenario "b"; scenarios are a`},
		{"- endpoint: {path: /, next: {b: x}, response: {}}", `[0].endpoint.next.b: there is no scenario "b"; no scenario is declared`},
		{"- scenario: {name: a, first: x}\n- endpoint: {path: /, state: {a: 1}, response: {}}", `[1].endpoint.state.a: is a number (1); expected a state, a list of them, or a map with is and key`},
		{"- scenario: {name: a, first: x}\n- endpoint: {path: /, next: {a: \"\"}, response: {}}", `[1].endpoint.next.a: is empty; expected a text`},
		{"- resource: {path: /a, data: b}", `[0].resource.data: there is no set "b"`},
		{"- resource: {path: /a, data: {name: b c}}", `mock.yml:1:37: [0].resource.data.name: is a text ("b c"); expected a name of letters`},
		{"- data: {name: b}\n- resource: {path: /a, data: {name: b}}", `mock.yml:2:30: [1].resource.data.name: "b" is the name of another set, at`},
		{"- resource: {path: /a, parent: {x: y}}", `[0].resource.parent.x: the path has no parameter "x"`},
		{"- resource: {path: \"/a/*\"}", `[0].resource.path: "/a/*" ends with a catch-all`},
		{"- resource: {path: /a, page: {size: 9, max: 3}}", `[0].resource.page.size: is 9; expected at most max, which is 3`},
		{"- resource: {path: /a, page: {style: link, names: {offset: o}}}", `[0].resource.page.names.offset: is not a parameter of this style; expected page or limit`},
		{"- resource: {path: /a, allow: [lst]}", `[0].resource.allow[0]: is a text ("lst") (did you mean "list"?); expected`},
		{"- resource: {path: /a, schema: {file: none.json}}", `mock.yml:1:39: [0].resource.schema.file: file "none.json": there is no such file`},
		{"- resource: {path: /a, schema: {type: 7}}", `mock.yml:1:32: [0].resource.schema: is not a valid JSON Schema: #/type: is a number; expected the name of a type`},
		{"- resource: {path: /a, schema: {properties: {n: {multipleOf: 0}}}}", `[0].resource.schema: is not a valid JSON Schema: #/properties/n/multipleOf: is 0; expected a number above 0`},
		{"- resource: {path: /a, schema: {multipleOf: -1.5}}", `#/multipleOf: is -1.5; expected a number above 0`},
		{"- resource: {path: /a, schema: {type: []}}", `#/type: is empty; expected at least one item`},
		{"- resource: {path: /a, schema: {not: {allOf: []}}}", `#/not/allOf: is empty; expected at least one item`},
		{"- resource: {path: /a, schema: {type: [string, string]}}", `#/type/1: "string" occurs twice`},
		{"- resource: {path: /a, schema: {required: [1]}}", `#/required/0: is a number; expected a name`},
		{"- resource: {path: /a, schema: {items: {format: 5}}}", `#/items/format: is a number; expected the name of a format`},
		{"- resource: {path: /a, schema: {$ref: 'http://a/b'}}", `[0].resource.schema: is not a valid JSON Schema: #/$ref: the reference leads to another host, a; expected a local file`},
		{"- resource: {path: /a, schema: {$ref: '#/$defs/b', $defs: {a: {}}}}", `[0].resource.schema: is not a valid JSON Schema: #/$ref: the reference "#/$defs/b" does not resolve: there is no "b" there`},
		{"- resource: {path: /a, schema: {pattern: '(a)\\1'}}", `[0].resource.schema: is not a valid JSON Schema: #: requests are not checked against the pattern "(a)\\1": `},
		{"- resource: {path: /a, schema: {file: wrong.schema.json}}", `wrong.schema.json:2:33: #/properties/n/type: the type "int" does not exist; expected string`},
		{"- resource: {path: /a, schema: {file: text.schema.json}}", `text.schema.json:1:`},
		{"- resource: {path: /a, on: {create: {responses: [{do: [{insert: {in: a}}]}]}}}", `[0].resource.on.create.responses[0].do: a resource changes its rows itself`},
		{"- resource: {path: /a, on: {create: {responses: []}}}", `[0].resource.on.create.responses: is an empty list`},
		{"- resource: {path: /a, on: {create: {responses: [{weight: 0}]}}}", `[0].resource.on.create.responses: all weights are 0`},
		{"- resource: {path: /a, on: {make: {}}}", `[0].resource.on.make: unknown key`},
		{"- resource: {path: /a, dialect: json-server, page: {style: offset}}", `[0].resource.dialect: has the page style link`},
		{"- resource: {path: /a, dialect: jsonserver}", `(did you mean "json-server"?)`},
		{"- resource: {path: /a, children: {b: aId}}", `[0].resource.children.b: there is no set "b"`},
		{"- resource: {path: /a, allow: [list], children: {b: aId}}", `[0].resource.children.b: there is no set "b"`},
		{"- resource: {path: /a, children: {b: aId}}\n- data: {name: b}", `[0].resource.children.b: `},
		{"- resource: {path: /a, item: \"{{rows}}\", allow: [read]}", `[0].resource.item: unknown variable "rows"`},
	} {
		path := filepath.Join(dir, "mock.yml")
		problems := listener.Check(config.Parse(path, []byte(c.configuration)), listener.Options{})
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n\tsays %v\n\twant %s", c.configuration, err, c.want)
		} else if n := strings.Count(err.Error(), "\n"); n > 0 {
			t.Errorf("%s\n\thas more than one error: %v", c.configuration, err)
		} else if w := fmt.Sprint(problems.Warnings()); strings.Contains(w, "nothing leads to") {
			t.Errorf("%s\n\talso warns: %s", c.configuration, w)
		}
	}
}

// TestWarnings: what is allowed and is rarely meant is reported with its position, and the
// configuration is served.
func TestWarnings(t *testing.T) {
	find := "- data: {name: o, rows: [{id: main}], isolate: header-params.X}\n- endpoint: {method: POST, path: \"/o/:id\", "
	scenario := "- scenario: {name: o, first: new, per: path-params.id, move: [{from: paid, after: 1s, to: sent}]}\n- endpoint: {method: POST, path: \"/o/:id\", next: {o: paid}, response: {}}\n"
	text := `is the same text for every request; expected a variable such as path-params.id, or the text in quotes`
	steps := func(key, moves string) string {
		return "resource: {path: /p, " + key + "steps: {field: s, first: new, move: [" + moves + "]}}"
	}
	for _, c := range []struct{ configuration, want string }{
		{find + "find: {r: {in: o, key: id}}, response: {}}", `mock.yml:2:67: [1].endpoint.find.r.key: "id" ` + text},
		{find + "find: {r: {in: o, key: 'id'}}, response: {}}", `[1].endpoint.find.r.key: "id" ` + text}, // the quotes are those of YAML
		{find + "find: {r: {in: o, key: main}}, response: {}}", ""},                                      // a row has this key
		{find + `find: {r: {in: o, key: "'id'"}}, response: {}}`, ""},
		{find + `find: {r: {in: o, key: 7}}, response: {}}`, ""},
		{find + `find: {r: {in: o, key: "o-{{path-params.id}}"}}, response: {}}`, ""},
		{find + "find: {r: {in: o, pick: {hash: id}}}, response: {}}", `[1].endpoint.find.r.pick.hash: "id" ` + text},
		{find + "find: {r: {in: o, key: path-params.id}, s: {in: o, key: r}}, response: {}}", ""}, // r is a row
		{find + "do: [{delete: {in: o, key: id}}], response: {}}", `[1].endpoint.do[0].delete.key: "id" ` + text},
		{find + "responses: [{do: [{put: {in: o, key: id}}]}]}", `[1].endpoint.responses[0].do[0].put.key: "id" ` + text},
		{"- resource: {path: /a, schema: {enum: []}}", `mock.yml:1:32: [0].resource.schema: #/enum: the enum is empty`},
		{"- data: {name: o, isolate: X-VU}", `mock.yml:1:28: [0].data.isolate: "X-VU" ` + text},
		{"- scenario: {name: o, first: new, per: id}", `mock.yml:1:40: [0].scenario.per: "id" ` + text},
		{scenario, ""},
		{scenario + "- endpoint: {path: \"/o/:id\", state: {o: [new, payed, sent]}, response: {}}", `mock.yml:3:38: [2].endpoint.state.o: nothing leads to "payed" (did you mean "paid"?); expected one of new, paid, sent`},
		{scenario + "- endpoint: {path: \"/o/:id\", state: {o: {is: gone, key: path-params.id}}, response: {}}", `[2].endpoint.state.o: nothing leads to "gone"; expected`},
		{scenario + "- endpoint: {path: \"/o/:id\", state: {o: {is: new, key: id}}, response: {}}", `[2].endpoint.state.o.key: "id" ` + text},
		{scenario + "- endpoint: {path: /o, state: {o: new}, response: {}}", `mock.yml:3:32: [2].endpoint.state.o: per of the scenario "o" is path-params.id, but the path declares no parameter "id"; it renders as missing`},
		{"- scenario: {name: o, first: new, move: [{from: nwe, after: 1s, to: old}]}", `mock.yml:1:42: [0].scenario.move[0].from: nothing leads to "nwe" (did you mean "new"?); expected new or old`},
		{"- " + steps("", "{from: nwe, after: 1s, to: old}"), `mock.yml:1:61: [0].resource.steps.move[0].from: nothing leads to "nwe"`},
		{"- " + steps("", "{from: sent, after: 1s, to: old}"), ""}, // a request may write it
		{"- " + steps("allow: [list], ", "{from: sent, after: 1s, to: old}"), `[0].resource.steps.move[0].from: nothing leads to "sent"; expected new or old`},
		{"- " + steps("", "{from: new, after: 1s, to: old}, {from: old, after: 1s, to: new}"), ""},
		{"- " + steps("", "{from: new, after: 0s, to: old}"), `mock.yml:1:61: [0].resource.steps.move[0].after: is 0; the row moves after 1ms. To enter "old" at once, name it in first`},
		{"- scenario: {name: o, first: new, move: [{from: new, after: {min: 0s, max: 0s}, to: old}]}", `[0].scenario.move[0].after: is 0`},
	} {
		problems := listener.Check(config.Parse("mock.yml", []byte(c.configuration)), listener.Options{})
		if err := problems.Err(); err != nil {
			t.Errorf("%s\n\tis refused: %v", c.configuration, err)
		}
		said := ""
		for _, warning := range problems.Warnings() {
			said += warning.String() + "\n"
		}
		if !strings.Contains(said, c.want) || strings.Count(said, "\n") != min(1, len(c.want)) {
			t.Errorf("%s\n\tsays %s\n\twant %s", c.configuration, said, c.want)
		}
	}
}
