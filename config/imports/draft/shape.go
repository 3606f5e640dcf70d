package draft

// Shape describes the beginning of a JSON text, by which its format is recognized.
type Shape struct {
	Kind  byte            // the first character: '{' or '['; 0 if it is not JSON
	Keys  map[string]byte // of the object, or of the first item of a list, with the first characters of their values
	Whole bool            // it is an object, which ends within the text
}

// Has reports whether all keys are present.
func (s Shape) Has(keys ...string) bool {
	for _, k := range keys {
		if s.Keys[k] == 0 {
			return false
		}
	}
	return true
}

// Shape returns the shape of a file, as far as the first MiB shows it.
func (s *Source) Shape() Shape {
	text := shaped{text: s.Head()}
	shape := Shape{Kind: text.peek(), Keys: map[string]byte{}}
	switch shape.Kind {
	case '[':
		text.at++
		if text.peek() == '{' {
			text.keys(shape.Keys)
		}
	case '{':
		shape.Whole = text.keys(shape.Keys)
	default:
		shape.Kind = 0
	}
	return shape
}

// shaped scans JSON without checking it.
type shaped struct {
	text []byte
	at   int
}

// peek skips whitespace and returns the byte after it; 0 at the end.
func (s *shaped) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// keys adds the keys of the object that begins here, and reports whether its end was seen.
func (s *shaped) keys(into map[string]byte) bool {
	s.at++
	for s.peek() == '"' {
		from := s.at
		if !s.skipText() {
			return false
		}
		key := string(s.text[from+1 : s.at-1])
		if s.peek() != ':' {
			return false
		}
		s.at++
		into[key] = s.peek()
		if !s.skip() || s.peek() != ',' {
			break
		}
		s.at++
	}
	return s.peek() == '}'
}

// skipText skips the text in quotes that begins here, and reports whether it ends.
func (s *shaped) skipText() bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return true
		}
	}
	s.at = len(s.text)
	return false
}

// skip skips the value that begins here, and reports whether it ends.
func (s *shaped) skip() bool {
	depth := 0
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			if !s.skipText() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case ',':
			if depth == 0 {
				return true
			}
		case '}', ']':
			if depth == 0 {
				return true // the end of the enclosing object or list
			}
			depth--
			if depth == 0 {
				s.at++
				return true
			}
		}
		s.at++
	}
	return false
}
