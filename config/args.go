package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// argReader reads the command line. It is written out rather than left to package
// flag, which stops at the first mistake and knows neither short names nor
// flags behind a command.
type argReader struct {
	settings *Settings
	given    map[string]string // long name of each flag given, and how it was spelt
	command  string
	about    string // the command that help would be about
	files    []string
	errs     []error
}

func (r *argReader) wrong(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

func (r *argReader) read(args []string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			for _, rest := range args {
				r.word(rest)
			}
			return
		case len(arg) > 1 && arg[0] == '-':
			args = r.flag(arg, args)
		default:
			r.word(arg)
		}
	}
}

// word takes the command, and files of the configuration.
func (r *argReader) word(word string) {
	switch {
	case commandNamed(word) != nil && r.command == "help":
		r.about = word
	case commandNamed(word) != nil && r.command == "":
		r.command = word
		if word != "help" {
			r.about = word
		}
		if r.settings.Command == "" {
			r.settings.Command = word
		}
	case commandNamed(word) != nil:
		r.wrong("%q: unexpected, the command is %s already", word, r.command)
	case IsPath(word):
		row, _ := flagNamed("--config")
		r.given[row.flag] = word
		r.files = append(r.files, word)
		r.settings.note(row, word)
		row.set(r.settings, word)
	case r.command != "":
		r.wrong("%q: no such file or directory; a flag's value stands after its flag", word)
	default:
		names := commandNames()
		r.wrong("%q: no such command or file%s; expected %s, or the name of a file or a directory", word, wording.DidYouMean(word, names), wording.OneOf(names))
	}
}

// unread says that a command takes no files.
func (r *argReader) unread(command string) {
	if c := commandNamed(command); len(r.files) > 0 && c != nil && !c.files {
		r.wrong("%q: unexpected, %s takes no files", r.files[0], command)
	}
}

// IsPath reports whether an argument names a file or a directory rather than a command: it
// exists, has an extension that is read, or a separator in it.
func IsPath(word string) bool {
	_, err := os.Stat(word)
	return err == nil || isListed(word) || syntax.Reads(word) || strings.ContainsRune(filepath.ToSlash(word), '/')
}

// flag takes a flag, and its value from the arguments behind it.
func (r *argReader) flag(arg string, behind []string) []string {
	name, value, attached := strings.Cut(arg, "=")
	row, ok := flagNamed(name)
	if !ok {
		r.wrong("%s: no such flag%s; mockserver -h lists them", name, flagHint(name))
		if !attached && len(behind) > 0 && !strings.HasPrefix(behind[0], "-") && !slices.Contains(commandNames(), behind[0]) {
			return behind[1:] // its value, most likely, and no second mistake
		}
		return behind
	}
	if first, again := r.given[row.flag]; again && row.flag != "config" {
		r.wrong("%s: given twice, first as %s; only --config may be", name, first)
	}
	r.given[row.flag] = name
	switch {
	case attached:
	case row.value == "":
		value = "true"
	case len(behind) == 0 || isFlag(behind[0]):
		r.wrong("%s: its value is missing; %s is accepted", name, row.accepts)
		return behind
	default:
		value, behind = behind[0], behind[1:]
	}
	r.settings.note(row, value)
	if !row.set(r.settings, value) {
		r.wrong("%s: %s is not accepted; %s is", name, row.quoted(value), row.accepts)
	}
	return behind
}

// environment takes the settings that no flag gave. An empty variable is one
// that is not set.
func (r *argReader) environment(getenv func(string) string) {
	for _, row := range settings {
		if row.env == "" || r.given[row.flag] != "" {
			continue
		}
		value := getenv(row.env)
		if value == "" {
			continue
		}
		r.settings.note(row, value)
		if !row.set(r.settings, value) {
			r.wrong("environment variable %s: %s is not accepted; %s is", row.env, row.quoted(value), row.accepts)
		}
	}
}

// quoted is a value in a message.
func (s setting) quoted(value string) string {
	if slices.Contains(secretFlags, s.flag) {
		return "what is given"
	}
	return strconv.Quote(wording.Clip(value))
}

// flagNamed finds a flag by -x or --long; -long is taken too.
func flagNamed(arg string) (setting, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	for _, row := range settings {
		if name == row.flag || arg == "-"+row.short && row.short != "" {
			return row, true
		}
	}
	return setting{}, false
}

func isFlag(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	_, ok := flagNamed(name)
	return ok && strings.HasPrefix(arg, "-")
}

func flagHint(name string) string {
	var names []string
	for _, row := range settings {
		names = append(names, "--"+row.flag)
	}
	if near := wording.Nearest("--"+strings.TrimLeft(name, "-"), names); near != "" && len(strings.TrimLeft(name, "-")) > 1 {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

func readInt(into *int, text string, least, most int) bool {
	n, err := strconv.Atoi(text)
	*into = n
	return err == nil && n >= least && n <= most
}

func readSeed(into **uint64, text string) bool {
	seed, err := strconv.ParseUint(text, 10, 64)
	*into = &seed
	return err == nil
}

func readSwitch(into *bool, text string) bool {
	*into = text == "true" || text == "1"
	return *into || text == "false" || text == "0"
}

// readCommand takes a switch that stands for a command; help beats any other.
func readCommand(s *Settings, command, text string) bool {
	var on bool
	ok := readSwitch(&on, text)
	if on && s.Command != "help" {
		s.Command = command
	}
	return ok
}

// readAddress takes a host and a port; without a host it is every address of the machine.
func readAddress(into *string, text string) bool {
	*into = text
	host, port, err := net.SplitHostPort(text)
	var number int
	var name string
	return err == nil && readInt(&number, port, 0, 65535) && (host == "" || readHost(&name, host))
}

// readToken takes what can stand in a header as it is. An empty one may be a variable of a
// script that is not set: it would leave the address open.
func readToken(into *string, text string) bool {
	*into = text
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// readHost takes a name or an IP address; an IPv6 one may stand in brackets.
func readHost(into *string, text string) bool {
	*into = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if strings.Contains(*into, ":") {
		_, err := netip.ParseAddr(*into)
		return err == nil
	}
	return *into == text && !strings.HasPrefix(text, "*") && hostFault(strings.ToLower(text)) == ""
}

// units of a size. The longest names come first: "MiB" ends with "B" as well.
var units = []struct {
	name  string
	bytes int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1}, {"", 1},
}

func readSize(into *int, text string) bool {
	text = strings.ToLower(text)
	for _, unit := range units {
		number, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt/unit.bytes {
			return false
		}
		*into = int(n * unit.bytes)
		return true
	}
	return false
}

func readDuration(into *time.Duration, text string) bool {
	d, err := time.ParseDuration(text)
	if err != nil {
		if !syntax.IsJSONNumber(text) {
			return false
		}
		d, err = unitsOf(text, time.Second)
	}
	*into = d
	return err == nil && d >= 0
}
