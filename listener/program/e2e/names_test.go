package e2e_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// embeddable are the packages that docs/embedding.md speaks of, by the names it gives them.
var embeddable = map[string]string{
	"config": "config", "listener": "listener", "listenertest": "listener/listenertest", "certs": "listener/protocol/certs",
	"record": "listener/observe/record", "logging": "listener/observe/logging",
}

// exportsOf returns what a package exports: Start, Server.Apply, Options.Record.
func exportsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	fset, all := token.NewFileSet(), map[string]bool{}
	paths, err := filepath.Glob(File(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(fset, files, "mockserver/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Funcs {
		all[f.Name] = true
	}
	for _, v := range append(p.Vars, p.Consts...) {
		for _, name := range v.Names {
			all[name] = true
		}
	}
	for _, one := range p.Types {
		all[one.Name] = true
		for _, f := range append(one.Funcs, one.Methods...) {
			all[f.Name] = all[f.Name] || f.Recv == ""
			all[one.Name+"."+f.Name] = true
		}
		for _, spec := range one.Decl.Specs {
			if s, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						all[one.Name+"."+name.Name] = true
					}
				}
			}
		}
	}
	return all
}

// The names of packages, functions, fields and methods in docs/embedding.md exist.
func TestEmbedding_NamesExist(t *testing.T) {
	text, err := os.ReadFile(File("docs/embedding.md"))
	if err != nil {
		t.Fatal(err)
	}
	known, types := map[string]bool{}, map[string]bool{}
	for name, dir := range embeddable {
		for one := range exportsOf(t, dir) {
			known[name+"."+one] = true
			if name == "config" || name == "listener" {
				known[one] = true
				types[strings.Split(one, ".")[0]] = true
			}
		}
	}
	checked := 0
	check := func(name string) {
		checked++
		if !known[name] {
			t.Errorf("docs/embedding.md names %s, which does not exist", name)
		}
	}
	for _, m := range regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`).FindAllStringSubmatch(string(text), -1) {
		if embeddable[m[1]] != "" {
			check(m[1] + "." + m[2])
		}
	}
	for _, m := range regexp.MustCompile(`\b([A-Z]\w*)\.([A-Z]\w*)(?:\.[A-Z]\w*)*`).FindAllStringSubmatch(string(text), -1) {
		if types[m[1]] {
			check(m[1] + "." + m[2])
		}
	}
	_, methods, _ := strings.Cut(string(text), "\n| method | meaning |\n")
	methods, _, _ = strings.Cut(methods, "\n\n")
	for _, m := range regexp.MustCompile("`([A-Z]\\w*)\\(").FindAllStringSubmatch(methods, -1) {
		check("listener.Server." + m[1])
	}
	if checked < 50 {
		t.Errorf("only %d names are checked", checked)
	}
}
