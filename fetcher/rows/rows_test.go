package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"mockserver/internal/harness/volume"
	"mockserver/internal/json"
)

// collect reads a file and returns its rows as lines of "line:column key row".
func collect(r io.Reader, o Options) (string, error) {
	var got strings.Builder
	err := Read(r, o, func(row []byte, at Place) error {
		key, _ := find(json.Parse(row), strings.Split(o.Key, "."))
		fmt.Fprintf(&got, "%d:%d %s %s\n", at.Line, at.Column, key.AppendText(nil), row)
		return nil
	})
	return got.String(), err
}

func options(name string) Options { return Options{Name: name, Key: "id"} }

func typed(name, column string, kind Type) Options {
	o := options(name)
	o.Types = map[string]Type{column: kind}
	return o
}

func nested(name string) Options { return Options{Name: name, Key: "a.b"} }

func inferred(name string) Options { return Options{Name: name, Key: "id", Infer: true} }

func separated(by byte) Options { return Options{Name: "f.csv", Key: "id", Separator: by} }

func TestRead_Bad(t *testing.T) {
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	long := strings.Repeat("k", 513)
	for _, tt := range []struct {
		name, content string
		o             Options
		place, what   string // what: a part of the message
	}{
		{"unknown extension", "x", options("f.txt"), "", `unknown extension ".txt"; expected .csv`},
		{"no extension", "x", options("csv"), "", `unknown extension ""`},
		{"unknown packing", "x", options("f.csv.bz2"), "", `".bz2"`},
		{"packed twice", "x", options("f.csv.gz.gz"), "", `unknown extension`},
		{"no key declared", "x", Options{Name: "f.csv"}, "", "key is empty"},

		{"empty CSV", "", options("f.csv"), "1:1", "file is empty; expected the names"},
		{"CSV of empty lines", "\n\r\n\n", options("f.csv"), "1:1", "file is empty"},
		{"CSV of a mark", "\ufeff", options("f.csv"), "1:1", "file is empty"},
		{"no key column", "a,b\n1,2\n", options("f.csv"), "1:1", `no column "id"`},
		{"no key column, a near one", "Id,b\n1,2\n", options("f.csv"), "1:1", `did you mean "Id"`},
		{"head after an empty line", "\na,b\n", options("f.csv"), "2:1", `no column "id"`},
		{"a type without a column", "id\n1\n", typed("f.csv", "vip", Boolean), "1:1", `no column "vip", whose type is declared`},
		{"a column twice", "id,a,id\n1,2,3\n", options("f.csv"), "1:6", `column "id" occurs twice`},
		{"a column without a name", "id,,a\n", options("f.csv"), "1:4", "column 2 has no name"},
		{"too many cells", "id,a\n1,2\n3,4,5\n", options("f.csv"), "3:5", "row has 3 cells; expected 2"},
		{"too few cells", "id,a\n1,2\n3\n", options("f.csv"), "3:2", "row has 1 cell; expected 2"},
		{"too few after a line break in a cell", "id,a,b\n\"1\n2\",4\n", options("f.csv"), "3:5", "row has 2 cells; expected 3"},
		{"open quote", "id,a\n1,\"x\n2,y\n", options("f.csv"), "2:3", "quote is not closed"},
		{"open quote at the end", "id,a\n1,\"", options("f.csv"), "2:3", "quote is not closed"},
		{"quote closed by two", "id,a\n1,\"x\"\"", options("f.csv"), "2:3", "quote is not closed"},
		{"open quote in the head", "\"id", options("f.csv"), "1:1", "quote is not closed"},
		{"quote within", "id,a\n1,x\"y\n", options("f.csv"), "2:4", "quote in a cell without quotes"},
		{"text after a quote", "id,a\n1,\"x\"y\n", options("f.csv"), "2:6", "text after the closing quote"},
		{"carriage return after a quote", "id,a\n1,\"x\"\ry\n", options("f.csv"), "2:6", "text after the closing quote"},
		{"carriage return", "id,a\r1,2\r", options("f.csv"), "1:5", "carriage return without a line feed"},
		{"carriage return at the end", "id,a\n1,2\r", options("f.csv"), "2:4", "carriage return without a line feed"},
		{"not UTF-8", "id,a\n1,\"\nx\xff\"\n", options("f.csv"), "3:2", "invalid UTF-8"},
		{"UTF-16", "\xff\xfei\x00d\x00\n", options("f.csv"), "1:1", "invalid UTF-8"},
		{"separator", "id", separated('"'), "", "invalid separator"},
		{"separator that is no character", "id", separated(0xfc), "", "invalid separator"},

		{"no integer", "id,n\n1,x\n", typed("f.csv", "n", Integer), "2:3", `cell "x" of column "n" is not an integer`},
		{"integer with a fraction", "id,n\n1,1.0\n", typed("f.csv", "n", Integer), "2:3", "is not an integer"},
		{"integer with an exponent", "id,n\n1,1e3\n", typed("f.csv", "n", Integer), "2:3", "is not an integer"},
		{"integer with a zero", "id,n\n1,01\n", typed("f.csv", "n", Integer), "2:3", "is not an integer"},
		{"integer with a plus", "id,n\n1,+1\n", typed("f.csv", "n", Integer), "2:3", "is not an integer"},
		{"integer with blanks", "id,n\n1,1 \n", typed("f.csv", "n", Integer), "2:3", `cell "1 " of column`},
		{"no number", "id,n\n1,\"1,5\"\n", typed("f.csv", "n", Number), "2:3", `cell "1,5" of column "n" is not a number`},
		{"number without a zero", "id,n\n1,.5\n", typed("f.csv", "n", Number), "2:3", "is not a number"},
		{"not a number", "id,n\n1,NaN\n", typed("f.csv", "n", Number), "2:3", "is not a number"},
		{"no boolean", "id,n\n1,yes\n", typed("f.csv", "n", Boolean), "2:3", "is not true or false"},
		{"a great boolean", "id,n\n1,TRUE\n", typed("f.csv", "n", Boolean), "2:3", `(did you mean "true"?)`},
		{"no JSON", "id,n\n1,{a}\n", typed("f.csv", "n", JSON), "2:3", `cell "{a}" of column "n" is not a JSON value`},
		{"a long cell", "id,n\n1," + long + "\n", typed("f.csv", "n", Integer), "2:3", "kkk…"},

		{"empty JSON", "", options("f.json"), "1:1", "file is empty"},
		{"blank JSON", " \n ", options("f.json"), "1:1", "file is empty"},
		{"a number for a file", "\n 12", options("f.json"), "2:2", "file begins with '1'; expected a list of objects"},
		{"a text for a file", `"x"`, options("f.json"), "1:1", "file begins with '\"'"},
		{"a word for a file", `nul`, options("f.json"), "1:1", "file begins with 'n'"},
		{"CSV as JSON", "id,a\n", options("f.json"), "1:1", "file begins with 'i'"},
		{"a list without end", `[`, options("f.json"), "1:2", `unexpected end of the file; expected an object or "]"`},
		{"a list that ends after a row", `[{"id":1}`, options("f.json"), "1:10", `unexpected end of the file; expected "," or "]"`},
		{"a list that ends after a comma", `[{"id":1},`, options("f.json"), "1:11", `unexpected end of the file; expected an object`},
		{"a comma too many", `[{"id":1},]`, options("f.json"), "1:11", "invalid character ']'"},
		{"a comma first", `[,{"id":1}]`, options("f.json"), "1:2", "invalid character ','"},
		{"no comma", `[{"id":1} {"id":2}]`, options("f.json"), "1:11", `unexpected '{' after a row; expected "," or "]"`},
		{"the wrong bracket", `[{"id":1}}`, options("f.json"), "1:10", `unexpected '}' after a row`},
		{"more after the list", "[]\n[]", options("f.json"), "2:1", "unexpected '[' after the end"},
		{"more after the object", `{}]`, options("f.json"), "1:3", "unexpected ']' after the end"},
		{"a row cut short", "[\n{\"id\": 1,\n", options("f.json"), "3:1", "unexpected end of the JSON text"},
		{"a row cut short in a text", `[{"id": "x`, options("f.json"), "1:11", "unexpected end of the JSON text"},
		{"a row cut short in an escape", `[{"id": "x\`, options("f.json"), "1:12", "unexpected end of the JSON text"},
		{"a row that is a number", `[{"id":1}, 12]`, options("f.json"), "1:12", "row is a number; expected an object"},
		{"a row that is a list", `[[]]`, options("f.json"), "1:2", "row is a list; expected an object"},
		{"a row that is null", `[null]`, options("f.json"), "1:2", "row is null; expected an object"},
		{"a row that is a text", `["}"]`, options("f.json"), "1:2", "row is a text; expected an object"},
		{"a row that is nothing", `[nil]`, options("f.json"), "1:3", "invalid character 'i'"},
		{"bad escape", `[{"id":"\x"}]`, options("f.json"), "1:10", "invalid character 'x' in string escape"},
		{"bad hexadecimal", `[{"id":"\u12g4"}]`, options("f.json"), "1:13", "invalid character 'g'"},
		{"line break in a text", "[{\"id\":\"a\nb\"}]", options("f.json"), "1:10", `invalid character '\n' in string`},
		{"quote missing", "[{\"id\":\"a},\n{\"id\":\"b\"}]", options("f.json"), "1:12", `invalid character '\n' in string`},
		{"not UTF-8 in JSON", "[{\"id\":\"a\xffb\"}]", options("f.json"), "1:10", "invalid UTF-8"},
		{"an error before what is not UTF-8", "[{\"id\":x,\"\xff\"}]", options("f.json"), "1:8", "invalid character 'x'"},
		{"a leading zero", `[{"id":01}]`, options("f.json"), "1:9", "invalid character '1'"},
		{"brackets crossed", "[{\"id\":[1}]\n, {}]", options("f.json"), "1:10", "invalid character '}' after array element"},
		{"no colon", `[{"id" 1}]`, options("f.json"), "1:8", "invalid character '1' after object key"},
		{"a mark within", "[\ufeff{}]", options("f.json"), "1:2", "invalid character"},
		{"too deep", `[{"id":` + deep + `}]`, options("f.json"), "1:10007", "exceeded max depth"},

		{"an object without end", `{`, options("f.json"), "1:2", `unexpected end of the file; expected a key or "}"`},
		{"an object that ends after a name", `{"a"`, options("f.json"), "1:5", `unexpected end of the file; expected ":"`},
		{"an object that ends in a name", `{"a`, options("f.json"), "1:4", `unexpected end of the JSON text`},
		{"an object that ends after a colon", `{"a":`, options("f.json"), "1:6", `expected an object`},
		{"an object that ends after a row", `{"a":{}`, options("f.json"), "1:8", `expected "," or "}"`},
		{"an object that ends after a comma", `{"a":{},`, options("f.json"), "1:9", `expected a key`},
		{"an object with the wrong bracket", `{"a":{}]`, options("f.json"), "1:8", `unexpected ']' after a row`},
		{"an object with a number for a name", `{1:{}}`, options("f.json"), "1:2", `unexpected '1'; expected a key in quotes`},
		{"an object without names", `{{}}`, options("f.json"), "1:2", `unexpected '{'; expected a key in quotes`},
		{"an object without a colon", `{"a" {}}`, options("f.json"), "1:6", `unexpected '{' after a key; expected ":"`},
		{"an object of a number", `{"a": 1}`, options("f.json"), "1:7", "row is a number; expected an object"},
		{"one row for a file", `{"id": 7, "name": "x"}`, options("f.json"), "1:8", "row is a number; expected an object"},
		{"another key than the name", `{"a": {"id": "b"}}`, options("f.json"), "1:14", `key "id" is "\"b\""; expected "a"`},
		{"no room for a nested key", `{"k": {"a": 1}}`, nested("f.json"), "1:13", `row cannot have the key "a.b": expected an object instead of a number`},

		{"empty NDJSON", "", options("f.ndjson"), "1:1", "file is empty"},
		{"NDJSON of empty lines", "\n \n\r\n", options("f.jsonl"), "1:1", "file is empty"},
		{"a list as NDJSON", "[\n{}]", options("f.ndjson"), "1:2", "unexpected end of the JSON text"},
		{"two on a line", "{\"id\":1}\n{\"id\":2} {}\n", options("f.ndjson"), "2:10", `unexpected '{' after the end of the JSON text`},
		{"a comma after a line", "{\"id\":1},\n", options("f.ndjson"), "1:9", "unexpected ',' after the end of the JSON text"},
		{"a row on two lines", "{\"id\":\n1}\n", options("f.ndjson"), "1:7", "unexpected end of the JSON text"},
		{"a line that is a text", "{\"id\":1}\n\n  \"x\"\n", options("f.ndjson"), "3:3", "row is a text; expected an object"},
		{"a line that is not UTF-8", "{\"id\":\"\xc3\"}\n", options("f.ndjson"), "1:8", "invalid UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.content), iotest.OneByteReader(strings.NewReader(tt.content))} {
				_, err := collect(r, tt.o)
				var p *Problem
				if !errors.As(err, &p) {
					t.Fatalf("error = %v, want a Problem", err)
				}
				place := fmt.Sprintf("%d:%d", p.Line, p.Column)
				if place == "0:0" {
					place = ""
				}
				if place != tt.place || !strings.Contains(p.What, tt.what) {
					t.Errorf("error = %v, want %s: …%s…", err, tt.place, tt.what)
				}
			}
		})
	}
}

func TestRead_Good(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		o             Options
		want          string
	}{
		{"head alone", "id,a", options("f.csv"), ""},
		{"cells", "id,a\n1,x\n2,y\n", options("f.csv"), `2:1 1 {"id":"1","a":"x"}` + "\n" + `3:1 2 {"id":"2","a":"y"}` + "\n"},
		{"no line break at the end", "id,a\n1,x", options("f.csv"), `2:1 1 {"id":"1","a":"x"}` + "\n"},
		{"an empty cell at the end", "id,a\n1,", options("f.csv"), `2:1 1 {"id":"1","a":""}` + "\n"},
		{"CRLF", "id,a\r\n1,x\r\n", options("f.csv"), `2:1 1 {"id":"1","a":"x"}` + "\n"},
		{"a mark", "\ufeffid,a\n1,x\n", options("f.csv"), `2:1 1 {"id":"1","a":"x"}` + "\n"},
		{"a mark before quotes", "\ufeff\"id\"\n1\n", options("f.csv"), `2:1 1 {"id":"1"}` + "\n"},
		{"empty lines", "\nid\n\n1\n\r\n2\n\n", options("f.csv"), `4:1 1 {"id":"1"}` + "\n" + `6:1 2 {"id":"2"}` + "\n"},
		{"quotes", "id,a\n\"1\",\"x \"\"y\"\", \nz\"\n2,\"\"\"\"\n3,\"\"\n", options("f.csv"),
			`2:1 1 {"id":"1","a":"x \"y\", \nz"}` + "\n" + `4:1 2 {"id":"2","a":"\""}` + "\n" + `5:1 3 {"id":"3","a":""}` + "\n"},
		{"CRLF in quotes", "id\n\"a\r\nb\"\r\n", options("f.csv"), "2:1 a\r\nb " + `{"id":"a\r\nb"}` + "\n"},
		{"what JSON escapes", "id\n\\\x01\té\u2028\n", options("f.csv"), "2:1 \\\x01\té\u2028 " + `{"id":"\\\u0001\té` + "\u2028\"}\n"},
		{"blanks are kept", "id, a \n 1 , x\n", Options{Name: "f.csv", Key: " a "}, `2:1  x {"id":" 1 "," a ":" x"}` + "\n"},
		{"names with quotes", "id,\"a\"\"\\\"\n1,2\n", options("f.csv"), `2:1 1 {"id":"1","a\"\\":"2"}` + "\n"},
		{"TSV", "id\ta,b\n1\tx,y\n", options("f.tsv"), `2:1 1 {"id":"1","a,b":"x,y"}` + "\n"},
		{"a separator", "id;a\n1;\"x;y\"\n", separated(';'), `2:1 1 {"id":"1","a":"x;y"}` + "\n"},
		{"great letters", "id\n1\n", options("dir.x/F.CSV"), `2:1 1 {"id":"1"}` + "\n"},
		{"digits", "id\n-0\n12345678901234567890123\n", typed("f.csv", "id", Integer),
			`2:1 -0 {"id":-0}` + "\n" + `3:1 12345678901234567890123 {"id":12345678901234567890123}` + "\n"},
		{"numbers", "id,n\na,1.50\nb,-1E+9\nc,\n", typed("f.csv", "n", Number),
			`2:1 a {"id":"a","n":1.50}` + "\n" + `3:1 b {"id":"b","n":-1E+9}` + "\n" + `4:1 c {"id":"c","n":null}` + "\n"},
		{"booleans", "id,n\ntrue,true\nb,false\n", typed("f.csv", "n", Boolean), `2:1 true {"id":"true","n":true}` + "\n" + `3:1 b {"id":"b","n":false}` + "\n"},
		{"JSON in cells", "id,n\n1,\" { \"\"a b\"\" : [1.0 , null] } \"\n", typed("f.csv", "n", JSON), `2:1 1 {"id":"1","n":{"a b":[1.0,null]}}` + "\n"},
		{"nested in a cell", "a\n\"{\"\"b\"\": 1}\"\n", Options{Name: "f.csv", Key: "a.b", Types: map[string]Type{"a": JSON}}, `2:1 1 {"a":{"b":1}}` + "\n"},
		{"inferred", "id,a\n1,true\n01,+1\n1e5,\n\"2\",\"\"\nx,null\n", inferred("f.csv"),
			`2:1 1 {"id":1,"a":true}` + "\n" + `3:1 01 {"id":"01","a":"+1"}` + "\n" + `4:1 1e5 {"id":1e5,"a":null}` + "\n" +
				`5:1 2 {"id":2,"a":null}` + "\n" + `6:1 x {"id":"x","a":"null"}` + "\n"},
		{"inferred but one", "id,a\n1,\n", Options{Name: "f.csv", Key: "id", Infer: true, Types: map[string]Type{"id": Text, "a": Text}}, `2:1 1 {"id":"1","a":""}` + "\n"},

		{"no rows", " [ ] \n", options("f.json"), ""},
		{"no rows in an object", " { } \n", options("f.json"), ""},
		{"a list", "[{\"id\": 1.0, \"a\" : [ 1, \"x  \\\" y\" ]},\n {\"b\":{},\"id\":\"\\u00e9\\/\"}]", options("f.json"),
			`1:2 1.0 {"id":1.0,"a":[1,"x  \" y"]}` + "\n" + `2:2 é/ {"b":{},"id":"\u00e9\/"}` + "\n"},
		{"a mark before JSON", "\ufeff[{\"id\":true}]", options("f.json"), `1:2 true {"id":true}` + "\n"},
		{"brackets in texts", `[{"id":"]}[{"},{"id":"\\"}]`, options("f.json"), `1:2 ]}[{ {"id":"]}[{"}` + "\n" + `1:16 \ {"id":"\\"}` + "\n"},
		{"a key with escapes", `[{"\u0069d":1}]`, options("f.json"), `1:2 1 {"\u0069d":1}` + "\n"},
		{"the last of two keys", `[{"id":1,"id":2}]`, options("f.json"), `1:2 2 {"id":1,"id":2}` + "\n"},
		{"a nested key", `[{"a":{"b":"x"},"b":1}]`, nested("f.json"), `1:2 x {"a":{"b":"x"},"b":1}` + "\n"},
		{"an object of objects", "{\"x\": {},\n \"y\" : { \"a\": 1 } , \"z\":{\"a\":2, \"id\":\"z\"},\"1\":{\"id\":1}}", options("f.json"),
			`1:2 x {"id":"x"}` + "\n" + `2:2 y {"id":"y","a":1}` + "\n" + `2:21 z {"a":2,"id":"z"}` + "\n" + `2:43 1 {"id":1}` + "\n"},
		{"names with escapes", `{"\"\u00e9": {}}`, options("f.json"), `1:2 "é {"id":"\"\u00e9"}` + "\n"},
		{"names as nested keys", `{"x": {"c":1}, "y": {"c":1, "a":{"d":2}}, "z": {"a":{ }}}`, nested("f.json"),
			`1:2 x {"a":{"b":"x"},"c":1}` + "\n" + `1:16 y {"c":1,"a":{"b":"y","d":2}}` + "\n" + `1:43 z {"a":{"b":"z"}}` + "\n"},
		{"a row twice", `[{"id":1},{"id":1}]`, options("f.json"), `1:2 1 {"id":1}` + "\n" + `1:11 1 {"id":1}` + "\n"},

		{"lines", "{\"id\":1}\n{ \"id\" : 2 }\r\n\n  {\"id\":3}", options("f.ndjson"),
			`1:1 1 {"id":1}` + "\n" + `2:1 2 {"id":2}` + "\n" + `4:3 3 {"id":3}` + "\n"},
		{"lines after a mark", "\ufeff{\"id\":1}\n", options("f.jsonl"), `1:1 1 {"id":1}` + "\n"},
		{"the longest key", `{"id":"` + strings.Repeat("k", 512) + `"}`, options("f.jsonl"),
			"1:1 " + strings.Repeat("k", 512) + ` {"id":"` + strings.Repeat("k", 512) + `"}` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.content), iotest.OneByteReader(strings.NewReader(tt.content)),
				iotest.DataErrReader(strings.NewReader(tt.content))} {
				if got, err := collect(r, tt.o); err != nil || got != tt.want {
					t.Errorf("rows =\n%s, error %v, want\n%s", got, err, tt.want)
				}
			}
		})
	}
}

func TestRead_Errors(t *testing.T) {
	stop := errors.New("stop")
	for _, name := range []string{"f.csv", "f.json", "f.ndjson"} {
		content := map[string]string{"f.csv": "id\n1\n2\n", "f.json": `[{"id":1},{"id":2}]`, "f.ndjson": "{\"id\":1}\n{\"id\":2}\n"}[name]
		for _, stop := range []error{stop, io.EOF} {
			calls := 0
			err := Read(strings.NewReader(content), options(name), func([]byte, Place) error { calls++; return stop })
			if !errors.Is(err, stop) || calls != 1 {
				t.Errorf("%s: yield's error %v: %v after %d calls", name, stop, err, calls)
			}
		}
		// An error from the reader is not the end of the file, not even io.ErrUnexpectedEOF.
		for _, broken := range []error{stop, io.ErrUnexpectedEOF} {
			for n := range len(content) {
				r := io.MultiReader(strings.NewReader(content[:n]), iotest.ErrReader(broken))
				if _, err := collect(r, options(name)); !errors.Is(err, broken) {
					t.Errorf("%s: reader's error after %d bytes: %v", name, n, err)
				}
			}
		}
		if _, err := collect(idle{}, options(name)); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%s: idle reader: %v", name, err)
		}
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestProblem_Error(t *testing.T) {
	for want, p := range map[string]*Problem{
		"3:7: wrong": {Place{3, 7}, "wrong"},
		"wrong":      {What: "wrong"},
	} {
		if got := p.Error(); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

// TestRead_LargestRow reads rows of about the maximum size, 16 MiB, at different positions in a
// file.
func TestRead_LargestRow(t *testing.T) {
	volume.Only(t)
	for _, tt := range []struct{ name, before, row, after string }{
		{"f.ndjson", "", `{"id":"a","x":"%s"}`, "\n"},
		{"f.ndjson", strings.Repeat("\n", 1000), `{"id":"a","x":"%s"}`, "\n{\"id\":1}"},
		{"f.json", "[", `{"id":"a","x":"%s"}`, "]"},
		{"f.json", `[{"id":"first"},`, `{"id":"a","x":"%s"}`, `,{"id":1}]`},
		{"f.csv", "id,x\n", `"a","%s"`, "\n"},
		{"f.csv", "id,x\n", `a,%s`, "\nb,c\n"},
	} {
		for _, excess := range []int{-100, 100} {
			row := strings.Replace(tt.row, "%s", strings.Repeat("x", maxRow+excess-len(tt.row)), 1)
			got, err := collect(strings.NewReader(tt.before+row+tt.after), options(tt.name))
			if excess < 0 && (err != nil || len(got) < maxRow/2) {
				t.Errorf("%s, %d: %v", tt.name, excess, err)
			}
			if p := (*Problem)(nil); excess > 0 && (!errors.As(err, &p) || !strings.Contains(p.What, "row is larger than 16 MiB")) {
				t.Errorf("%s, %d: %v, want an error that the row is too large", tt.name, excess, err)
			}
		}
	}
	// An error may make the rest of the file a single row.
	for _, tt := range []struct{ name, content, fill, want string }{
		{"f.json", `[{"id":[1},`, `{"id":1},`, "1:2: row is larger than 16 MiB, or a bracket or a quote is not closed"},
		{"f.json", `[{"id":"`, `x`, "1:2: row is larger than 16 MiB, or a bracket or a quote is not closed"},
		{"f.csv", "id,a\n1,\"x\n", "2,y\n", "2:1: row is larger than 16 MiB, or a quote is not closed"},
	} {
		content := append([]byte(tt.content), bytes.Repeat([]byte(tt.fill), (maxRow+1000)/len(tt.fill))...)
		if _, err := collect(bytes.NewReader(content), options(tt.name)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	// The time for a head of a million columns does not grow quadratically.
	var head strings.Builder
	head.WriteString("id")
	for i := range 1_000_000 {
		fmt.Fprintf(&head, ",%x", i)
	}
	if _, err := collect(strings.NewReader(head.String()), options("f.csv")); err != nil {
		t.Error(err)
	}
	// A row that is small in the file may be large as JSON.
	head.Reset()
	head.WriteString("id")
	for i := range 1000 {
		fmt.Fprintf(&head, ",%d%s", i, strings.Repeat("n", 10_000))
	}
	content := head.String() + "\n" + strings.Repeat("\x01", 2<<20) + strings.Repeat(",", 1000) + "\n"
	if _, err := collect(strings.NewReader(content), options("f.csv")); err == nil || err.Error() != "2:1: row is larger than 16 MiB as JSON" {
		t.Errorf("a row large as JSON: %v", err)
	}
}
