package listener

import (
	"strings"
	"testing"
)

// Heads of frames may come in any pieces, and lengths in any of their forms.
func TestFrames_CloseOfOneByte(t *testing.T) {
	before := text("a") + frame(false, opBinary, strings.Repeat("\x88\x81", 100)) + frame(true, opPing, "") + frame(true, opContinue, strings.Repeat("\x88\x81", 40_000))
	for _, c := range []struct {
		sent string
		bad  bool
	}{
		{before + frame(true, opClose, "x"), true},
		{before + frame(true, opClose, ""), false},
		{before + frame(true, opClose, closing(1000, "")), false},
		{before + frame(true, opClose, "") + frame(true, opClose, "x"), false}, // nothing counts behind a close
		{before + frame(true, opPing, "x"), false},
	} {
		for _, piece := range []int{1, 7, 512, len(c.sent)} {
			var f frames
			for rest := []byte(c.sent); len(rest) > 0; {
				n := min(piece, len(rest))
				f.pass(rest[:n])
				rest = rest[n:]
			}
			if f.badClose != c.bad {
				t.Errorf("in pieces of %d: got %t, want %t behind %d bytes", piece, f.badClose, c.bad, len(before))
			}
		}
	}
}
