// Package sockio reads and writes sockets that do not block, inside the calls of a syscall.RawConn, with
// less than package net takes. It has functions on Linux only.
package sockio
