package listener

// fasthttp normalises the path of each request, which nobody here asks for, and
// moves what follows for each empty or dot segment: a long path of nothing else
// costs it milliseconds.
const (
	// plainTarget is the longest target, in bytes, that is cheap whatever it holds.
	plainTarget = 4 << 10
	// maxNormalised is how many segments of a longer one it may have to remove.
	maxNormalised = 100
	// shownTarget is how much of a refused one is kept for the log.
	shownTarget = 100
)

// costly tells whether normalising the path of a target would take long. What
// fasthttp decodes first counts decoded.
func costly(uri []byte) bool {
	removed := 0
	last := byte(0)
	for i := 0; i < len(uri); i++ {
		c := uri[i]
		switch {
		case c == '?' || c == '#':
			return false
		case c == '%' && i+2 < len(uri) && uri[i+1] == '2':
			switch uri[i+2] | 0x20 {
			case 'f':
				c = '/'
				i += 2
			case 'e':
				c = '.'
				i += 2
			}
		}
		if last == '/' && (c == '/' || c == '.') {
			if removed++; removed > maxNormalised {
				return true
			}
		}
		last = c
	}
	return false
}
