package matcher

import "bytes"

// target is the request target, split into parts that are slices of it.
type target struct {
	known     bool
	escaped   bool // the path contains a "%"
	path      []byte
	query     []byte
	authority []byte // authority of an absolute-form target; otherwise nil
	// trimmed is the path as it is matched, without one trailing slash; nil for a target that is
	// not a path ("*").
	trimmed []byte
	// slashes contains the offset in trimmed of the slash before each segment. It is empty for "/",
	// which has no segments.
	slashes []uint32
}

func (t *target) cut(uri []byte) {
	t.known = true
	if len(uri) > 0 && uri[0] != '/' {
		uri = t.cutAuthority(uri)
	}
	t.scan(uri)
	if len(t.path) == 0 {
		t.path = rootPath
	}
	if t.path[0] != '/' {
		t.slashes = t.slashes[:0]
		return
	}
	t.trimmed = t.path
	if n := len(t.path) - 1; n > 0 && t.path[n] == '/' {
		t.trimmed = t.path[:n]
		t.slashes = t.slashes[:len(t.slashes)-1]
	}
	if len(t.trimmed) == 1 {
		t.slashes = t.slashes[:0]
	}
}

// scan finds the end of the path and its slashes in one pass: paths are short, so separate searches
// would cost more to start than to run.
func (t *target) scan(uri []byte) {
	t.path = uri
	slashes := t.slashes[:0]
	for i, c := range uri {
		if c > '?' {
			continue
		}
		switch c {
		case '/':
			slashes = append(slashes, uint32(i))
		case '%':
			t.escaped = true
		case '?':
			t.path, t.query = uri[:i], uri[i+1:]
			t.slashes = slashes
			return
		}
	}
	t.slashes = slashes
}

// raw returns segment number i of the matched path, as sent.
func (t *target) raw(i int) []byte {
	start, end := t.slashes[i]+1, len(t.trimmed)
	if i+1 < len(t.slashes) {
		end = int(t.slashes[i+1])
	}
	return t.trimmed[start:end:end]
}

var (
	rootPath     = []byte("/")
	schemeEnd    = []byte("://")
	authorityEnd = "/?#"
)

// cutAuthority removes the scheme and authority from an absolute-form target and returns the rest.
// It returns a target of another form ("*") unchanged.
func (t *target) cutAuthority(uri []byte) []byte {
	i := bytes.Index(uri, schemeEnd)
	if i <= 0 || bytes.ContainsAny(uri[:i], authorityEnd) {
		return uri
	}
	rest := uri[i+len(schemeEnd):]
	end := bytes.IndexAny(rest, authorityEnd)
	if end < 0 {
		end = len(rest)
	}
	t.authority = rest[:end:end]
	if at := bytes.LastIndexByte(t.authority, '@'); at >= 0 {
		t.authority = t.authority[at+1:]
	}
	return rest[end:]
}
