// Package tlsinput frees the buffers for input of TLS connections. Each stays as large as the largest record
// or message so far, at least 3.5 KB together: crypto/tls itself never frees them.
package tlsinput

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"unsafe"
)

// places are where the buffers are in a tls.Conn. A version of Go without them frees nothing.
var places = func() (all []uintptr) {
	for _, name := range [...]string{"rawInput", "hand"} {
		if f, ok := reflect.TypeFor[tls.Conn]().FieldByName(name); ok && f.Type == reflect.TypeFor[bytes.Buffer]() {
			all = append(all, f.Offset)
		}
	}
	return all
}()

// Free frees the buffers that are empty. Only the goroutine that reads the connection may call it.
func Free(conn *tls.Conn) {
	for _, place := range places {
		if b := (*bytes.Buffer)(unsafe.Add(unsafe.Pointer(conn), place)); b.Len() == 0 {
			*b = bytes.Buffer{}
		}
	}
}
