package draft

import (
	"bytes"
	"encoding/json"
)

// Shape describes the beginning of a JSON text, by which its format is recognized.
type Shape struct {
	Kind  json.Delim            // '{' or '['; 0 if it is neither an object nor a list
	Keys  map[string]json.Delim // of the object, or of the first item of a list; what their values begin with, or 0
	Whole bool                  // it is an object, which ends within the text
}

// Has reports whether all keys are present.
func (s *Shape) Has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := s.Keys[k]; !ok {
			return false
		}
	}
	return true
}

// Shape returns the shape of a file, as far as the first MiB shows it.
func (s *Source) Shape() *Shape {
	if s.shape == nil {
		s.shape = &Shape{Keys: map[string]json.Delim{}}
		s.shape.read(json.NewDecoder(bytes.NewReader(s.Head)))
	}
	return s.shape
}

// read reads the keys, up to an error or the end of the text.
func (s *Shape) read(d *json.Decoder) {
	d.UseNumber()
	t, err := d.Token()
	s.Kind, _ = t.(json.Delim)
	if s.Kind == '[' {
		t, err = d.Token()
	}
	if t != json.Delim('{') {
		return
	}
	for err == nil && d.More() {
		var key, value json.Token
		if key, err = d.Token(); err == nil {
			value, err = d.Token()
		}
		if name, ok := key.(string); ok && err == nil {
			s.Keys[name], _ = value.(json.Delim)
			err = skip(d, value)
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	s.Whole = s.Kind == '{' && err == nil
}

// skip reads the rest of a value that begins with a token.
func skip(d *json.Decoder, t json.Token) (err error) {
	for depth := 0; ; {
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		if t, err = d.Token(); err != nil {
			return err
		}
	}
}
