package bench

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// rivalScript runs a command, and stops it and the processes that it has started when the script's
// input is closed. The script ignores the signal, so that it exits with the command and not before.
const rivalScript = `exec 3<&0 </dev/null; { read -r _ <&3; kill 0; } >/dev/null 2>&1 & trap : TERM; eval "$1"`

// startRival starts a rival, waits until it listens, and checks the status of its answers.
func (r *run) startRival(ctx context.Context, rival Rival, sub *subject) (side, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return side{}, err
	}
	address := free.Addr().String()
	_ = free.Close() // so that the rival can listen on the port
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command("sh", "-c", rivalScript, "sh", strings.ReplaceAll(rival.Command, portOf, port)) //nolint:gosec // the user's
	cmd.Env = serverEnvironment(r.opts.Environ)
	s, err := r.launch(rival.Name, cmd)
	if err != nil {
		return side{}, err
	}
	s.address = address
	rivalSide := s.side(rival.Name)
	if err = s.connectable(ctx); err == nil {
		rivalSide.wants, _, err = checkResponses(ctx, address, sub.asked, true)
	}
	if err != nil {
		s.kill()
		return side{}, fmt.Errorf("%s: %w", rival.Name, err)
	}
	return rivalSide, nil
}

// connectable waits until the server accepts connections.
func (s *server) connectable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-s.exited:
			return s.died()
		case <-ctx.Done():
			return fmt.Errorf("does not listen on %s: %w", s.address, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
