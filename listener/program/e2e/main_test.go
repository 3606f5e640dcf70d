package e2e_test

import (
	"os"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	each := 6
	if pageTestsAreDue(os.Getenv) {
		each = 3 // browsers keep the processors busy
	}
	moreAtOnce(each)
	code := m.Run()
	endBrowser()
	_ = os.RemoveAll(scratch())
	os.Exit(code)
}

// scratch is a directory for all tests of this package, which TestMain removes.
var scratch = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "mockserver-test-")
	if err != nil {
		panic(err)
	}
	return dir
})
