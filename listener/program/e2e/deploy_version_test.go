package e2e_test

import (
	"regexp"
	"runtime"
	"testing"
)

func TestProgram_TheVersionNamesCommitGoAndPlatform(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`^mockserver \S+ \(commit (unknown|[0-9a-f]{12}(-dirty)?), go\S+ ` + runtime.GOOS + "/" + runtime.GOARCH + `\)\n$`)
	NeedsProcess(t)
	if _, stdout, _ := Refused(t, nil, "-v"); !line.MatchString(stdout) {
		t.Errorf("-v prints %q", stdout)
	}
}
