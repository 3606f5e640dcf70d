package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

const schemaFile = "docs/mockserver.schema.json"

func TestSchema_TheCommittedCopyIsWhatTheCommandPrints(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(File(schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	// The command needs no configuration and no environment variables.
	for _, args := range [][]string{{"schema"}, {"schema", "-f", "json"}, {"-c", "nowhere.yml", "schema"}} {
		code, stdout, stderr := Refused(t, []string{"PORT=??", "CONFIG=nowhere.yml"}, args...)
		if code != 0 || stderr != "" {
			t.Fatalf("%v: got exit code %d and on standard error %q, want 0 and nothing", args, code, stderr)
		}
		if stdout != string(want) {
			t.Errorf("%v does not print the content of %s", args, schemaFile)
		}
	}
}

func TestSchema_WhatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("/dev/full does not exist")
	}
	defer full.Close()
	cmd := exec.Command(Program(t), "schema")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !containsAll(stderr.String(), []string{"cannot print the schema", "no space left"}) {
		t.Errorf("got exit code %d and %q, want 1 and the reason", code, stderr.String())
	}
}
