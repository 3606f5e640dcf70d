package settings

import (
	"mockserver/internal/address"
	"mockserver/internal/flags"
	"mockserver/internal/secret"
)

// Given is a setting of the running process, for display.
type Given struct {
	Flag     string `json:"flag" doc:"the flag, such as --port"`
	Variable string `json:"variable,omitempty" doc:"the environment variable, such as PORT"`
	Value    string `json:"value" doc:"the value as it was written, or the default; empty if there is none"`
	Default  bool   `json:"default" doc:"true if the value is the default"`
}

// Given returns the settings in the order of the usage. For secrets it only says whether they were
// given.
func (s Settings) Given() []Given {
	var list []Given
	for _, f := range table {
		if f.Env == "" { // the flag is a command
			continue
		}
		value, given := s.texts[f.Name]
		switch {
		case !given && f.Value == "":
			value = "false"
		case !given:
			value = f.Initial
		case f.Secret && value != "":
			value = secret.Shown
		default:
			value = address.WithoutUser(value)
		}
		list = append(list, Given{Flag: "--" + f.Name, Variable: f.Env, Value: value, Default: !given})
	}
	return list
}

// note records a setting that was given.
func (s *Settings) note(f flags.Flag[Settings], value string) {
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	if before, again := s.texts[f.Name]; again { // --config may be given several times
		value = before + ", " + value
	}
	s.texts[f.Name] = value
}
