package export

import (
	"bytes"
	"encoding/json"
	"errors"

	"mockserver/config/syntax"
)

// Write returns a document as text. form is yaml or json.
func Write(n *syntax.Node, form string) ([]byte, error) {
	var out bytes.Buffer
	switch form {
	case "json":
		text := n.JSON(true, func(*syntax.Node, string) {}).Value
		err := json.Indent(&out, []byte(text+"\n"), "", "  ")
		return out.Bytes(), err
	case "yaml":
		err := syntax.WriteYAML(&out, n)
		return out.Bytes(), err
	}
	return nil, errors.New("unknown format; expected yaml or json")
}
