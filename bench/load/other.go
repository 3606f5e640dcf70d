//go:build !linux

package load

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// Run returns an error, as do the other functions: the package needs Linux.
func (l *Plan) Run(context.Context) (*Outcome, error) { return nil, errors.ErrUnsupported }

// Place reserves no CPUs.
func Place() (p Placement) { return p }

// StartOn returns an error.
func StartOn(*exec.Cmd, []int) error { return errors.ErrUnsupported }

// Kill does nothing.
func Kill(*os.Process) {}

// CPUOf returns an error.
func CPUOf(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// FamilyOf returns nothing.
func FamilyOf(int) []int { return nil }

// UsageOf returns an error.
func UsageOf(int) (u Usage, err error) { return u, errors.ErrUnsupported }
