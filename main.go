// Command mockserver serves the endpoints that a configuration file declares.
package main

import (
	"io"
	"log"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/panjf2000/ants/v2"

	"mockserver/bench"
	"mockserver/config/settings"
	"mockserver/internal/startup"
	"mockserver/listener/program"
)

// The linker sets version and commit when a release or an image is built
// (-X main.version=… -X main.commit=…).
var (
	version = ""
	commit  = ""
)

func main() {
	startup.Done()
	ants.Release()            // its default pool, which nothing here uses, wakes the process three times a second
	log.SetOutput(io.Discard) // only net/http uses it, for bytes that a remote server sends without a request
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	if os.Getenv(bench.ChildVariable) != "" {
		bench.Attach(os.Stdin, signals)
	}
	os.Exit(program.Run(program.Process{
		Args: os.Args[1:], Env: os.LookupEnv, Environ: os.Environ(), Signals: signals,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Build: settings.ThisBuild(version, commit),
		Prepare: func(log *slog.Logger) {
			// A reader of the log that exits does not end the server. The command of a run does not inherit this,
			// as it would if the signal was ignored.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			limitMemory(log)
		},
		// Reading a configuration may take several times the memory that serving it takes.
		FreeMemory: func() { go debug.FreeOSMemory() },
	}))
}

// limitMemory makes the garbage collector keep to 90 % of a container's memory limit, unless
// GOMEMLIMIT is set.
func limitMemory(log *slog.Logger) {
	if limit, err := memlimit.Set(); err == nil && limit < math.MaxInt64 {
		log.Info("memory is limited", "soft_limit_bytes", limit)
	}
}
