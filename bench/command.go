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
	exitFailed = 1 // there is no result, or an incomplete one
	exitUsage  = 2 // a bad flag
)

// Command is mockserver bench, which has flags of its own: args are those behind
// bench. It returns the exit code; 128 and the number of a signal that stopped it.
// What it starts is this program: the server, and what that is compared with.
// The version stands in what it prints.
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
	stopped, err := runUntil(signals, opts, stdout, stderr)
	code := failed(stderr, err)
	if s, ok := stopped.(syscall.Signal); ok && errors.Is(err, ErrStopped) {
		return 128 + int(s)
	}
	return code
}

// runUntil is Run until a signal comes, which it returns.
func runUntil(signals <-chan os.Signal, opts Options, stdout, stderr io.Writer) (stopped os.Signal, err error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case stopped = <-signals:
			stop()
		case <-ctx.Done():
		}
	}()
	err = Run(ctx, opts, stdout, stderr)
	stop()
	<-ended
	return stopped, err
}

// failed says what went wrong, and returns the exit code.
func failed(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, err)
	return exitFailed
}
