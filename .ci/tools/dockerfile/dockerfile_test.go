// Package dockerfile is a command for the tests of the image, which build it with go test -c. It
// reads a Dockerfile as Docker does and prints, as JSON, the messages of Docker's linter, what a
// build would run and copy, the configuration of the image, and the files of the build context.
//
//	dockerfile DIR [ARG=VALUE …]
//
// DIR contains Dockerfile and .dockerignore. The exit code is 1 if the Dockerfile cannot be built.
package dockerfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// platform is the platform of the image and of the build.
var platform = ocispecs.Platform{OS: "linux", Architecture: runtime.GOARCH}

// report is the printed result.
type report struct {
	Warnings []string // "line N: RULE: what is wrong"
	Images   []string // base images of the build
	Runs     []run
	Copies   []string // "SOURCE -> DESTINATION"
	Config   any      // of the image, in the form of the OCI specification
	Context  []string // files that .dockerignore does not exclude, with slashes
}

// run is one RUN instruction as it is executed.
type run struct {
	Args []string
	Env  []string
	Dir  string
}

// TestMain is the whole command: there are no tests here.
func TestMain(*testing.M) {
	if len(os.Args) < 2 {
		fail(errors.New("usage: dockerfile DIR [ARG=VALUE …]"))
	}
	args := map[string]string{}
	for _, arg := range os.Args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		args[name] = value
	}
	r, err := read(context.Background(), os.Args[1], args)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "dockerfile:", err)
	os.Exit(1)
}

func read(ctx context.Context, dir string, args map[string]string) (*report, error) {
	text, err := os.ReadFile(filepath.Join(dir, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	r := &report{}
	built, err := dockerfile2llb.Dockerfile2LLB(ctx, text, dockerfile2llb.ConvertOpt{
		Config:         dockerui.Config{BuildArgs: args, BuildPlatforms: []ocispecs.Platform{platform}},
		TargetPlatform: &platform,
		MetaResolver:   anyImage{},
		AllStages:      true,
		Warn: func(rule, _, _, detail string, at []parser.Range) {
			line := 0
			if len(at) > 0 {
				line = at[0].Start.Line
			}
			r.Warnings = append(r.Warnings, fmt.Sprintf("line %d: %s: %s", line, rule, detail))
		},
	})
	if err != nil {
		return nil, err
	}
	r.Config = built.Image.Config
	if err := r.follow(ctx, built.State); err != nil {
		return nil, err
	}
	r.Context, err = buildContext(dir)
	return r, err
}

// follow records the steps of the build of a state.
func (r *report) follow(ctx context.Context, state llb.State) error {
	definition, err := state.Marshal(ctx)
	if err != nil {
		return err
	}
	for _, bytes := range definition.Def {
		var op pb.Op
		if err := op.UnmarshalVT(bytes); err != nil {
			return err
		}
		if source := op.GetSource(); source != nil {
			r.Images = append(r.Images, source.Identifier)
		}
		if exec := op.GetExec(); exec != nil {
			r.Runs = append(r.Runs, run{exec.Meta.Args, exec.Meta.Env, exec.Meta.Cwd})
		}
		for _, action := range op.GetFile().GetActions() {
			if c := action.GetCopy(); c != nil {
				r.Copies = append(r.Copies, c.Src+" -> "+c.Dest)
			}
		}
	}
	return nil
}

// anyImage resolves every base image. The real images are not known here, so it only says that they
// are not empty, and where Go is installed.
type anyImage struct{}

// ResolveImageConfig returns the configuration that the conversion requires.
func (anyImage) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config, err := json.Marshal(ocispecs.Image{
		Platform: platform,
		Config:   ocispecs.ImageConfig{Env: []string{"PATH=/usr/local/go/bin:/usr/bin:/bin"}},
		RootFS:   ocispecs.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromString(ref)}},
	})
	return ref, digest.FromString(ref), config, err
}

// buildContext returns the files below dir that .dockerignore does not exclude.
func buildContext(dir string) ([]string, error) {
	f, err := os.Open(filepath.Join(dir, ".dockerignore"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	patterns, err := ignorefile.ReadAll(f)
	if err != nil {
		return nil, err
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, err
	}
	var files []string
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil // a file below an excluded directory may be included again
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out, err := ignored.MatchesOrParentMatches(name)
		if err == nil && !out {
			files = append(files, filepath.ToSlash(name))
		}
		return err
	})
	return files, err
}
