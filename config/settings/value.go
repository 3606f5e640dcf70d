package settings

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/address"
	"mockserver/internal/flags"
)

func readSeed(s *Settings, text string) bool {
	seed, err := strconv.ParseUint(text, 10, 64)
	s.Seed, s.Loader.Seed = &seed, seed
	return err == nil
}

// readCommand handles a flag that is a command; help takes precedence over all others.
func readCommand(s *Settings, command, text string) bool {
	var on bool
	ok := flags.Switch(&on, text)
	if on && s.Command != "help" {
		s.Command = command
	}
	return ok
}

// readAddress accepts a host and a port. An address without a host means all addresses of the
// machine.
func readAddress(into *string, text string) bool {
	*into = text
	host, port, err := net.SplitHostPort(text)
	var number int
	var name string
	return err == nil && flags.Int(&number, port, 0, 65535) && (host == "" || readHost(&name, host))
}

// readToken accepts text that can be used in a header unchanged. It refuses an empty text, which
// may come from an unset variable in a script and would leave the address unprotected.
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

// readAuto accepts the only value of --tls and --admin-tls.
func readAuto(into *bool, text string) bool {
	*into = text == "auto"
	return *into
}

// readList adds names of files, separated by commas.
func readList(into *[]string, text string) bool {
	names := strings.Split(text, ",")
	*into = append(*into, names...)
	return !slices.Contains(names, "")
}
