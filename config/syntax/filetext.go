package syntax

// FileText is the content of a whole file as a Text, whose offsets have the
// line and column of that file. Name is what positions call the file.
func FileText(name, content string) Text {
	t := Text{Value: content, Pos: Pos{File: name, Line: 1, Column: 1}}
	t.lines = append(t.lines, t.Pos)
	for i := range len(content) {
		if content[i] == '\n' {
			t.lines = append(t.lines, Pos{File: name, Line: len(t.lines) + 1, Column: 1})
		}
	}
	return t
}
