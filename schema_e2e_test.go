package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "docs/mockserver.schema.json"

func TestSchema_TheCommittedCopyIsWhatTheCommandPrints(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	// It needs no configuration, and nothing of the environment.
	for _, args := range [][]string{{"schema"}, {"schema", "-f", "json"}, {"-c", "nowhere.yml", "schema"}} {
		code, stdout, stderr := refused(t, []string{"PORT=??", "CONFIG=nowhere.yml"}, args...)
		if code != 0 || stderr != "" {
			t.Fatalf("%v: got exit code %d and on standard error %q, want 0 and nothing", args, code, stderr)
		}
		if stdout != string(want) {
			t.Errorf("%v does not print what is in %s; once its change is meant, run: go run . schema > %s", args, schemaFile, schemaFile)
		}
	}
}

func TestSchema_WhatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	cmd := exec.Command(binary, "schema")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !containsAll(stderr.String(), []string{"cannot print the schema", "no space left"}) {
		t.Errorf("got exit code %d and %q, want 1 and why", code, stderr.String())
	}
}

// The line that editors read names the schema from where the example lies.
func TestSchema_TheLineOfTheExamplesLeadsToIt(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("examples/*.y*ml")
	if err != nil || len(files) < 2 {
		t.Fatalf("found only %q, %v", files, err)
	}
	line := regexp.MustCompile(`^# yaml-language-server: \$schema=(\S+)\n`)
	for _, file := range files {
		if _, apart := petstores(t)[filepath.Base(file)]; apart { // what is no list of endpoints has another schema
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := line.FindSubmatch(text)
		if found == nil {
			t.Errorf("the first line of %s is not that for editors", file)
			continue
		}
		if path := filepath.Join(filepath.Dir(file), string(found[1])); path != schemaFile {
			t.Errorf("the line of %s leads to %s, want %s", file, path, schemaFile)
		}
	}
	if _, err := jsonschema.NewCompiler().Compile(schemaFile); err != nil {
		t.Errorf("it is no schema: %v", err)
	}
}
