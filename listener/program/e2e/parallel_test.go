package e2e_test

import (
	"flag"
	"runtime"
	"strconv"
)

// moreAtOnce makes several tests for each processor run at the same time, unless -parallel sets the
// number: tests of the program spend most of their time waiting for it. TestMain calls it.
func moreAtOnce(each int) {
	flag.Parse()
	parallel, processors := flag.Lookup("test.parallel"), runtime.GOMAXPROCS(0)
	if parallel.Value.String() == strconv.Itoa(processors) {
		_ = parallel.Value.Set(strconv.Itoa(each * processors)) // it is a number
	}
}
