package deploy_test

import (
	"regexp"
	"runtime"
	"testing"

	"mockserver/internal/harness"
)

func TestProgram_TheVersionNamesCommitGoAndPlatform(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`^mockserver \S+ \(commit (unknown|[0-9a-f]{12}(-dirty)?), go\S+ ` + runtime.GOOS + "/" + runtime.GOARCH + `\)\n$`)
	if _, stdout, _ := harness.Refused(t, nil, "-v"); !line.MatchString(stdout) {
		t.Errorf("-v prints %q", stdout)
	}
}
