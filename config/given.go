package config

import "slices"

// Given is a setting as the process has it, to be shown.
type Given struct {
	Flag     string `json:"flag" doc:"--port"`
	Variable string `json:"variable,omitempty" doc:"of the environment: PORT"`
	Value    string `json:"value" doc:"as it was written, or the default; empty for none"`
	Default  bool   `json:"default" doc:"nothing was given"`
}

// secretFlags are those whose value nobody is to read.
var secretFlags = []string{"admin-token", "sentry-dsn"}

// Given lists the settings in the order of the usage. Secrets are not in it, but whether
// they were given.
func (s Settings) Given() []Given {
	var list []Given
	for _, row := range settings {
		if row.env == "" { // it stands for a command
			continue
		}
		value, given := s.texts[row.flag]
		switch {
		case !given:
			value = row.initial
			if row.value == "" {
				value = "false"
			}
		case slices.Contains(secretFlags, row.flag) && value != "":
			value = SecretShown
		}
		list = append(list, Given{Flag: "--" + row.flag, Variable: row.env, Value: value, Default: !given})
	}
	return list
}

// note keeps how a setting was given.
func (s *Settings) note(row setting, value string) {
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	if before, again := s.texts[row.flag]; again { // --config may be given more than once
		value = before + ", " + value
	}
	s.texts[row.flag] = value
}
