//go:build !unix

package probe

import "syscall"

const canBind = false

func (p *Probe) control(*int) func(string, string, syscall.RawConn) error { return nil }
