// Package sockio reads and writes non-blocking sockets, inside the calls of a syscall.RawConn, at a
// lower cost than package net. It has functions only on Linux.
package sockio
