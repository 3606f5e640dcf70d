package listener

import "mockserver/renderer"

// isNoSecret tells of values that conditions take for false, which are none in any header:
// a value that is not shown is taken for true.
func isNoSecret(value []byte) bool { return !renderer.IsTrue(value) }
