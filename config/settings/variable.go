package settings

import (
	"regexp"
	"slices"
	"strings"

	"mockserver/internal/wording"
)

// variablePrefix is how most variables of the settings begin.
const variablePrefix = "MOCKSERVER_"

// Stray is a variable of the environment that looks like one of the settings, and is none.
type Stray struct {
	Name string
	Near string // the variable that it seems to mean; "" for none
}

// StrayVariables returns the variables of an environment, "NAME=value" each, that begin with
// MOCKSERVER_ and that nobody reads. Those of known are read by somebody else. Variables that
// Kubernetes sets for a service called mockserver are left out: nobody wrote them.
func StrayVariables(environ []string, known ...string) []Stray {
	names, words := map[string]string{}, []string{} // by what differs
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

// serviceVariable holds of the names of most variables that Kubernetes makes of a service.
var serviceVariable = regexp.MustCompile(`_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

// ofService reports whether Kubernetes made a variable of a service.
func ofService(name, value string) bool {
	protocol, _, url := strings.Cut(value, "://")
	return serviceVariable.MatchString(name) || url && slices.Contains([]string{"tcp", "udp", "sctp"}, protocol)
}
