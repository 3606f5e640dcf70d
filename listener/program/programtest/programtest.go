// Package programtest lets the tests of a package run the program in their own process.
package programtest

import (
	"os"

	"mockserver/config/settings"
	"mockserver/internal/harness"
	"mockserver/listener/program"
)

// Use makes harness.Launch and what is built on it run the program in the process of the tests.
// TestMain calls it.
func Use() {
	harness.Inside = func(i harness.Invocation) int {
		return program.Run(program.Process{
			Args: i.Args, Env: i.Env, Environ: i.Environ, Signals: i.Signals,
			Stdin: os.Stdin, Stdout: i.Stdout, Stderr: i.Stderr, Build: settings.ThisBuild("", ""),
		})
	}
}
