package draft

import (
	"io"
	"strings"

	"mockserver/config/syntax"
)

// Write writes the configuration as YAML.
func (d *Draft) Write(w io.Writer) error {
	head := syntax.YAMLComment(d.Title...)
	if head != "" {
		head += "\n"
	}
	root := syntax.NewList()
	var comments []string // before each declaration, and after the last
	above := ""
	for i := range d.Declarations {
		one := &d.Declarations[i]
		above += syntax.YAMLComment(one.Above...)
		item := NewMap(one.Key, one.Value)
		if !one.Off {
			root.Append(item)
			comments, above = append(comments, above), ""
			continue
		}
		var text strings.Builder
		if err := syntax.WriteYAML(&text, syntax.NewList(item)); err != nil {
			return err
		}
		above += syntax.YAMLComment(strings.TrimSuffix(text.String(), "\n"))
	}
	if root.Len() == 0 {
		_, err := io.WriteString(w, head+above+"[]\n")
		return err
	}
	_, err := io.WriteString(w, head)
	if err == nil {
		err = syntax.WriteYAML(w, root, comments...)
	}
	if err == nil {
		_, err = io.WriteString(w, above)
	}
	return err
}
