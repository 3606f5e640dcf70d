package settings

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestBuildOf(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	info := func(version string, settings []debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	for _, c := range []struct {
		name            string
		version, commit string // set by the linker
		info            *debug.BuildInfo
		want            Build
	}{
		{"nothing is known", "", "", nil, Build{"development", "unknown"}},
		{"go build outside a repository", "", "", info("(devel)", nil), Build{"development", "unknown"}},
		{"go run", "", "", info("", nil), Build{"development", "unknown"}},
		{"go install of a version", "", "", info("v0.5.0", nil), Build{"v0.5.0", "unknown"}},
		{"go build of a commit", "", "", info("v0.4.1-0.20261121204500-0123456789ab", vcs("false")), Build{"v0.4.1-0.20261121204500-0123456789ab", "0123456789ab"}},
		{"go build of a changed tree", "", "", info("v0.5.0+dirty", vcs("true")), Build{"v0.5.0+dirty", "0123456789ab-dirty"}},
		{"a changed tree without a revision", "", "", info("(devel)", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}), Build{"development", "unknown"}},
		{"a short revision", "", "", info("(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: "12ab"}}), Build{"development", "12ab"}},
		{"a release", "v1.0.0", "ba9876543210", info("(devel)", nil), Build{"v1.0.0", "ba9876543210"}},
		{"the linker wins", "v1.0.0", "ba9876543210", info("v0.5.0", vcs("true")), Build{"v1.0.0", "ba9876543210"}},
		{"only the version is linked", "v1.0.0", "", info("(devel)", vcs("false")), Build{"v1.0.0", "0123456789ab"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := buildOf(c.version, c.commit, c.info); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestBuildAsText(t *testing.T) {
	got := Build{"v1.0.0", "ba9876543210"}.String()
	if want := "mockserver v1.0.0 (commit ba9876543210, " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
