package settings

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Build identifies a build of the program.
type Build struct {
	Version string // "v0.5.0", or "development" if nothing else is known
	Commit  string // twelve digits, followed by "-dirty" if files were changed; or "unknown"
}

// shortCommit is how many digits of a commit are shown.
const shortCommit = 12

// ThisBuild returns the running build. version and commit are those that the linker set. In place
// of one that is "", ThisBuild uses what go build or go install recorded: the version of the
// module, or the commit and whether files were changed.
func ThisBuild(version, commit string) Build {
	info, _ := debug.ReadBuildInfo() // nil without modules
	return buildOf(version, commit, info)
}

func buildOf(version, commit string, info *debug.BuildInfo) Build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	module := info.Main.Version
	if module == "(devel)" {
		module = ""
	}
	return Build{cmp.Or(version, module, "development"), cmp.Or(commit, recorded(info.Settings))}
}

// recorded returns the commit that go build recorded.
func recorded(settings []debug.BuildSetting) string {
	revision, changed := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), shortCommit)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "-dirty"
		}
	}
	if revision == "" {
		return "unknown"
	}
	return revision + changed
}

// String returns the line that -v prints.
func (b Build) String() string {
	return fmt.Sprintf("mockserver %s (commit %s, %s %s/%s)", b.Version, b.Commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
