package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mockserver/config/syntax"
)

// at returns a configuration with one endpoint at a path.
func at(path string) string { return "- endpoint: {path: " + path + ", response: {}}\n" }

// paths returns the paths of the endpoints of a spec, in order.
func paths(spec *Spec) []string {
	var all []string
	for _, e := range spec.Endpoints {
		all = append(all, e.Path.Value)
	}
	return all
}

func TestADirectoryStandsForTheFilesInItInByteOrder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yml": at("/b"), "a.yaml": at("/a"), "B.YML": at("/B"), "10.yml": at("/10"), "9.yml": at("/9"),
		"ä.yml": at("/ae"), "c.json": `[{"endpoint": {"path": "/c", "response": {}}}]`,
		// Each of these files would cause an error if it were read.
		"README.md": "x", "data": "x", "a.yml~": "x", "a.yml.bak": "x", "#a.yml#": "x", "book.xlsx": "x", "yml": "x",
		".hidden.yml": "x", ".a.yml.swp": "x", "..yml": "x", ".yml": "x",
	} {
		write(t, dir, name, text)
	}
	for _, sub := range []string{"sub", "dir.yml", "..data"} {
		must(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
		write(t, filepath.Join(dir, sub), "x.yml", "x")
	}
	must(t, os.Symlink("sub", filepath.Join(dir, "link.yml")))
	far := write(t, t.TempDir(), "elsewhere", at("/linked"))
	must(t, os.Symlink(far, filepath.Join(dir, "a2.yml")))

	spec := Load(dir + "/")
	want := []string{"/10", "/9", "/B", "/a", "/linked", "/b", "/c", "/ae"}
	if got := paths(spec); !slices.Equal(got, want) || len(spec.Problems) > 0 {
		t.Errorf("got %q and %v, want %q", got, spec.Problems, want)
	}
	if e := spec.Endpoints[4]; e.Dir != dir || e.Pos.File != filepath.Join(dir, "a2.yml") {
		t.Errorf("an endpoint of a linked file has directory %q and is in %q", e.Dir, e.Pos.File)
	}
}

func TestDirectoriesAndFilesAreJoinedInTheOrderGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("conf", 0o700))
	write(t, "conf", "b.yml", at("/b"))
	write(t, "conf", "a.yml", at("/a")+at("a"))
	write(t, ".", "z.yml", at("/z"))
	must(t, os.Symlink("conf", "link"))
	if got, want := paths(Load("z.yml", "conf")), []string{"/z", "/a", "/b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	spec := Load("./link/", "z.yml")
	if got, want := paths(spec), []string{"/a", "/b", "/z"}; !slices.Equal(got, want) {
		t.Errorf("by a link: got %q, want %q", got, want)
	}
	if got, want := spec.Problems.Error(), filepath.Join("link", "a.yml")+`:2:20: [1].endpoint.path: "a" does not begin with /`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !filepath.IsAbs(spec.Endpoints[0].Dir) || filepath.Base(spec.Endpoints[0].Dir) != "link" {
		t.Errorf("relative names are looked up in %q", spec.Endpoints[0].Dir)
	}
}

func TestWhatIsGivenTwiceIsReadOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("d", 0o700))
	write(t, "d", "a.yml", at("/a")+at("wrong"))
	write(t, "d", "b.yml", at("/b"))
	const twice = " is given twice; it is read once, at its first position"
	whole, err := filepath.Abs("d")
	must(t, err)
	for _, c := range []struct {
		given []string
		want  []string // the paths of endpoints
		warns []string // the files
	}{
		{[]string{"d", "d"}, []string{"/a", "/b"}, []string{"d"}},
		{[]string{"d", "d/b.yml"}, []string{"/a", "/b"}, []string{"d/b.yml"}},
		{[]string{"d/b.yml", "./d/", "d/../d/a.yml"}, []string{"/b", "/a"}, []string{"d/b.yml", "d/../d/a.yml"}},
		{[]string{"d/b.yml", whole, "d"}, []string{"/b", "/a"}, []string{filepath.Join(whole, "b.yml"), "d"}},
		{[]string{"none.yml", "none.yml", "d"}, []string{"/a", "/b"}, []string{"none.yml"}},
	} {
		spec := Load(c.given...)
		var warns []string
		for _, w := range spec.Problems.Warnings() {
			warns = append(warns, strings.Replace(w.String(), ":"+twice, "", 1))
		}
		errs := len(spec.Problems.Errors())
		if c.given[0] == "none.yml" {
			errs--
		}
		if !slices.Equal(paths(spec), c.want) || !slices.Equal(warns, c.warns) || errs != 1 {
			t.Errorf("%q: endpoints %q, want %q; warnings of %q, want %q; %d errors, want 1", c.given, paths(spec), c.want, warns, c.warns, errs)
		}
	}
}

func TestWhatIsWrongWithADirectory(t *testing.T) {
	dir := t.TempDir()
	sub := func(name string) string {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		return filepath.Join(dir, name)
	}
	empty, hidden, linked := sub("empty"), sub("hidden"), sub("linked")
	write(t, hidden, ".a.yml", at("/a"))
	write(t, hidden, "a.txt", at("/a"))
	must(t, os.Symlink("../hidden", filepath.Join(linked, "a.yml")))
	none := "the directory contains no file to read; expected a name that ends in one of .yml, .yaml, .json"
	for path, want := range map[string]string{empty: none, hidden: none, linked: none} {
		if got := Load(path).Problems; len(got) != 1 || got[0].Pos != (syntax.Pos{File: path}) || !strings.HasPrefix(got[0].What, none) {
			t.Errorf("got %v, want %s: %s", got, path, want)
		}
	}

	files := sub("files")
	must(t, os.Symlink("nowhere", filepath.Join(files, "a.yml")))
	makePipe(t, filepath.Join(files, "b.yml"))
	write(t, files, "c.yml", "")
	write(t, files, "d.yml", at("/d"))
	spec := Load(files)
	want := []string{"a.yml: there is no such file", "b.yml: is not a regular file", "c.yml: the file is empty"}
	for i, p := range spec.Problems {
		if i >= len(want) || !strings.HasPrefix(p.String(), filepath.Join(files, want[i])) {
			t.Errorf("got %v, want %q", p, want)
		}
	}
	if got := paths(spec); len(spec.Problems) != len(want) || !slices.Equal(got, []string{"/d"}) {
		t.Errorf("got %q and %d problems, want /d and %d", got, len(spec.Problems), len(want))
	}
}

func TestDataNextToConfigurationsIsRecognized(t *testing.T) {
	const hint = "; all .yml, .yaml, .json"
	long := "[" + strings.Repeat(`{"id": 1, "path": "/x"}, `, 100) + "{}]"
	for _, c := range []struct{ name, file, text, want string }{
		{"a map", "a.json", ` {"id": 1}`, "a.json:1:2: the document is a map; expected a list of endpoints"},
		{"a map in YAML", "a.yml", "services: {}\n", "a.yml:1:1: the document is a map; expected a list of endpoints"},
		{"a text", "a.json", `"x"`, "a.json:1:2: the document is a text (\"x\"); expected a list of endpoints"},
		{"a list of rows, told once", "a.json", long, "a.json:1:1: no item of this list has the key endpoint"},
		{"a list of numbers", "a.yaml", "[1, 2]", "a.yaml:1:1: no item of this list has the key endpoint"},
		{"a map of EDN, symbols in it", "a.edn", " {:deps {org.clojure/clojure {:mvn/version \"1.12\"} a/b c}}", "a.edn:1:2: nothing in it has the key endpoint"},
		{"maps of EDN, told once", "a.edn", "{:id 1}\n{:id x}\n nil", "a.edn:1:1: nothing in it has the key endpoint"},
		{"more symbols than are read", "a.edn", "{:deps {" + strings.Repeat("a b ", 3000) + "}}", "a.edn:1:1: nothing in it has the key endpoint"},
		{"a vector of more symbols than are read", "a.edn", "[" + strings.Repeat("a ", 3000) + "]", "a.edn:1:1: no item of this list has the key endpoint"},
		{"a vector of EDN", "a.EDN", "[{:id x} y #{}]", "a.EDN:1:1: no item of this list has the key endpoint"},
		{"a syntax error of EDN", "a.edn", "{:deps [1 2}", "a.edn:1:12: a } where the [ of line 1, column 8 is still open"},
		{"a list of YAML with keys given twice", "a.yml", "- {id: 1, id: 2}\n", "a.yml:1:1: no item of this list has the key endpoint"},
		{"a template of JSON", "a.json", `{"id": {{path-params.id}}}`, "a.json:1:9: this is not JSON; expected a key in double quotes here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := write(t, dir, c.file, c.text)
			write(t, dir, "b.yml", at("/b"))
			spec := Load(dir)
			got := spec.Problems.Error()
			if len(spec.Problems) != 1 || !strings.HasPrefix(got, filepath.Join(dir, c.want)) ||
				!strings.Contains(got, hint) || !strings.HasSuffix(got, "keep data in a subdirectory, which is read only with DIR/..., or in a hidden one") {
				t.Errorf("got %s\nwant %s with %q", got, c.want, hint)
			}
			if !slices.Equal(paths(spec), []string{"/b"}) {
				t.Errorf("endpoints %q, want /b", paths(spec))
			}
			if named := Load(file).Problems.Error(); strings.Contains(named, hint) || named == "" {
				t.Errorf("for a file that was named: %s", named)
			}
		})
	}
	dir := t.TempDir()
	file := write(t, dir, "a.edn", "{:deps {a b}} [{:endpoint {:path x :response {}}}] {:deps {c d}}")
	got := Load(dir).Problems.Errors()
	if want := file + ":1:1: nothing in it "; len(got) != 3 || !strings.HasPrefix(got[0].String(), want) || got[1].Pos.Column != 34 || got[2].Pos.Column != 52 {
		t.Errorf("data around an endpoint: got %v", got)
	}
	dir = t.TempDir()
	file = write(t, dir, "a.yml", "- {id: 1, id: 2}\n---\n- endpoint: {path: /a\n")
	got = Load(dir).Problems.Errors()
	if len(got) != 2 || !strings.HasPrefix(got[0].String(), file+":1:1: no item of this list") || got[1].Pos.Line != 3 {
		t.Errorf("data in front of a syntax error: got %v", got)
	}
	for name, text := range map[string]string{
		"a misspelt key":         "- endpoitn: {path: /a, response: {}}\n",
		"one item of two":        "- {id: 1}\n- endpoint: {path: /a, response: {}}\n",
		"a list without its -":   "endpoint: {path: /a, response: {}}\n",
		"a syntax error of YAML": "- endpoint: {path: /a\n",
	} {
		dir := t.TempDir()
		file := write(t, dir, "a.yml", text)
		got, want := Load(dir).Problems.Error(), Load(file).Problems.Error()
		if got != want || got == "" {
			t.Errorf("%s: got %q, want the message for a file that is named: %q", name, got, want)
		}
	}
}

func TestProblemsArePutIntoTheOrderOfTheFiles(t *testing.T) {
	dir := t.TempDir()
	b, a, c := write(t, dir, "b.yml", at("/b")), write(t, dir, "a.yml", at("/a")), write(t, dir, "c.yml", at("/c"))
	in := func(file string, line int) syntax.Problem {
		return syntax.Problem{Pos: syntax.Pos{File: file, Line: line}}
	}
	missing := filepath.Join(dir, "none.yml")
	spec := Load(c, missing, dir)
	got := spec.InOrder(syntax.Problems{in("other.json", 1), in(b, 2), in(b, 1), in(a, 1), in(missing, 1), in(c, 1), in(dir, 0)})
	want := syntax.Problems{in(c, 1), in(missing, 1), in(dir, 0), in(a, 1), in(b, 2), in(b, 1), in("other.json", 1)}
	// c.yml is given twice, by its name and by its directory; its first position counts.
	if !slices.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}
