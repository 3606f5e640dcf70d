// Package sockio reads and writes non-blocking sockets, inside the calls of a syscall.RawConn, at a
// lower cost than package net, on Linux only, and makes the errors of sockets portable.
package sockio
