package settings

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/files"
	"mockserver/internal/flags"
	"mockserver/internal/wording"
)

// argReader reads the command line.
type argReader struct {
	flags   flags.Reader[Settings]
	command string
	about   string // the command to show help about
	files   []string
}

// word handles an argument that is not a flag: the command, or files of the configuration.
func (r *argReader) word(word string) {
	named := commandNamed(word) != nil
	switch {
	case named && r.command == "help":
		r.about = word
	case named && r.command == "":
		r.command = word
		if word != "help" {
			r.about = word
		}
		if s := r.flags.Into; s.Command == "" {
			s.Command = word
		}
	case named:
		r.flags.Wrong("%q: unexpected, the command is %s already", word, r.command)
	case IsPath(word):
		r.files = append(r.files, word)
		r.flags.Give("config", word)
	case r.command != "":
		r.flags.Wrong("%q: no such file or directory; a flag's value stands after its flag", word)
	default:
		names := commandNames()
		r.flags.Wrong("%q: no such command or file%s; expected %s, or the name of a file or a directory", word, wording.DidYouMean(word, names), wording.OneOf(names))
	}
}

// IsPath reports whether an argument names a file or a directory rather than a command: it exists,
// has a known extension, or contains a separator.
func IsPath(word string) bool {
	_, err := os.Stat(word)
	return err == nil || files.IsListed(word) || syntax.Reads(word) || strings.ContainsRune(filepath.ToSlash(word), '/')
}

func readSeed(into **uint64, text string) bool {
	seed, err := strconv.ParseUint(text, 10, 64)
	*into = &seed
	return err == nil
}

// readCommand handles a flag that stands for a command; help takes precedence over all others.
func readCommand(s *Settings, command, text string) bool {
	var on bool
	ok := flags.Switch(&on, text)
	if on && s.Command != "help" {
		s.Command = command
	}
	return ok
}

// readAddress parses a host and a port. Without a host it means all addresses of the machine.
func readAddress(into *string, text string) bool {
	*into = text
	host, port, err := net.SplitHostPort(text)
	var number int
	var name string
	return err == nil && flags.Int(&number, port, 0, 65535) && (host == "" || readHost(&name, host))
}

// readToken accepts text that can be used in a header unchanged. It refuses an empty one, which may
// come from an unset variable in a script and would leave the address unprotected.
func readToken(into *string, text string) bool {
	*into = text
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// readHost accepts a name or an IP address; an IPv6 address may be in brackets.
func readHost(into *string, text string) bool {
	*into = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if strings.Contains(*into, ":") {
		_, err := netip.ParseAddr(*into)
		return err == nil
	}
	return *into == text && !strings.HasPrefix(text, "*") && address.NameFault(strings.ToLower(text)) == ""
}
