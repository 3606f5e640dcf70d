package address

import "strings"

// PathParams returns the names of the parameters in the path of an endpoint, including its
// catch-all: id and rest of "/users/:id|int/*rest". Package matcher defines their meaning.
func PathParams(path string) []string {
	path, _, _ = strings.Cut(path, "?")
	var names []string
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, segment := range segments {
		name, ok := strings.CutPrefix(segment, ":")
		switch {
		case ok:
			name, _, _ = strings.Cut(name, "|")
		case i == len(segments)-1:
			name, ok = strings.CutPrefix(segment, "*")
		}
		if ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}
