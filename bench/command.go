package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Exit codes of the command.
const (
	exitOK     = 0
	exitFailed = 1 // no result, or an incomplete one
	exitUsage  = 2 // a bad flag
)

// Command implements mockserver bench. args are the arguments after "bench"; version is the version
// of the program, which the result contains. It returns the exit code, which is 128 plus the signal
// number if a signal stopped the run. The server and the baseline that it starts are also this
// program.
func Command(args []string, env func(string) (string, bool), signals <-chan os.Signal, stdout, stderr io.Writer, version string) int {
	opts, err := ReadOptions(args)
	role, _ := env(ChildVariable)
	switch {
	case role == roleBaseline:
		err = ServeBaseline(args, signals, stdout)
	case err != nil:
		fmt.Fprintln(stderr, err)
		return exitUsage
	case opts.Help:
		fmt.Fprint(stdout, Usage())
		return exitOK
	default:
		opts.Program, err = os.Executable()
	}
	if err != nil || role != "" {
		return failed(stderr, err)
	}
	opts.Version, opts.Environ = version, os.Environ()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan os.Signal, 1)
	go func() {
		select {
		case s := <-signals:
			stopped <- s
			stop()
		case <-ctx.Done():
		}
	}()
	err = Run(ctx, opts, stdout, stderr)
	code := failed(stderr, err)
	if errors.Is(err, ErrStopped) {
		if s, ok := (<-stopped).(syscall.Signal); ok { // nothing else cancels the context
			return 128 + int(s)
		}
	}
	return code
}

// failed prints an error, if there is one, and returns the exit code.
func failed(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, err)
	return exitFailed
}
