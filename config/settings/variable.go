package settings

import (
	"regexp"
	"slices"
	"strings"

	"mockserver/internal/wording"
)

// variablePrefix is the prefix of most variables.
const variablePrefix = "MOCKSERVER_"

// Stray is an environment variable that looks like a setting but is not.
type Stray struct {
	Name string
	Near string // the variable that it seems to mean; "" for none
}

// StrayVariables returns the variables in an environment ("NAME=value") that begin with MOCKSERVER_
// and are not settings, except those in known, which are used elsewhere. It omits variables that
// Kubernetes sets for a service called mockserver, because they were not set by the user.
func StrayVariables(environ []string, known ...string) []Stray {
	names, words := map[string]string{}, []string{} // names by word; a word lacks the prefix
	for _, f := range table {
		if f.Env != "" {
			word := strings.TrimPrefix(f.Env, variablePrefix)
			names[word], words = f.Env, append(words, word)
		}
	}
	var strays []Stray
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		word, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || value == "" || names[word] == name || slices.Contains(known, name) || ofService(name, value) {
			continue
		}
		strays = append(strays, Stray{name, names[wording.Nearest(word, words)]})
	}
	slices.SortFunc(strays, func(a, b Stray) int { return strings.Compare(a.Name, b.Name) })
	return strays
}

// serviceVariable matches the names of most variables that Kubernetes sets for a service.
var serviceVariable = regexp.MustCompile(`_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

// ofService reports whether Kubernetes set a variable for a service.
func ofService(name, value string) bool {
	protocol, _, url := strings.Cut(value, "://")
	return serviceVariable.MatchString(name) || url && slices.Contains([]string{"tcp", "udp", "sctp"}, protocol)
}
