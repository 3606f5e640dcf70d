package settings

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"mockserver/config/syntax"
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
	case r.command == "help" && (named || word == "all"), r.command == "" && r.flags.Into.Command == "help" && word == "all":
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
		r.flags.Wrong("%q: unexpected; the command is already %s", word, r.command)
	case IsPath(word):
		r.files = append(r.files, word)
		r.flags.Give("config", word)
	case r.command != "":
		r.flags.Wrong("%q: no such file or directory; a flag's value comes after its flag", word)
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

// Read reads the settings from the arguments after the program's name and from the environment. The
// error names all invalid flags and variables, one per line. A request for help is answered even if
// there are errors.
func Read(args []string, getenv func(string) string) (Settings, error) {
	var s Settings
	for _, f := range table {
		if f.Initial != "" {
			f.Apply(&s, f.Initial)
		}
	}
	r := argReader{flags: flags.Reader[Settings]{Flags: table, Into: &s, Help: "mockserver", Words: commandNames(), Note: s.note, Gone: map[string]string{"shared-state": wording.ByReplica}}}
	r.flags.Word = r.word
	r.flags.Read(args)
	s.Command = cmp.Or(s.Command, "serve")
	if s.Command == "help" {
		s.HelpOf = r.about
		return s, nil
	}
	if c := commandNamed(s.Command); len(r.files) > 0 && c != nil && !c.files {
		r.flags.Wrong("%q: unexpected; %s takes no files", r.files[0], s.Command)
	}
	if s.Command != "version" && s.Command != "schema" {
		r.flags.Environment(getenv)
		if getenv("MOCKSERVER_SHARED_STATE") != "" {
			r.flags.Wrong("environment variable MOCKSERVER_SHARED_STATE: unknown%s", wording.ByReplica)
		}
	}
	r.checkTLS()
	s.defaults = defaultFiles(getenv)
	return s, errors.Join(r.flags.Errs...)
}

// defaultFiles returns where the default configuration is searched for.
func defaultFiles(getenv func(string) string) []string {
	const name = "mockserver.yml"
	var files []string
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		files = append(files, filepath.Join(dir, name))
	}
	if home := cmp.Or(getenv("HOME"), getenv("USERPROFILE")); home != "" { // Windows uses the latter
		files = append(files, filepath.Join(home, ".config", name))
	}
	return files
}

// checkTLS checks TLS settings that depend on each other.
func (r *argReader) checkTLS() {
	s := r.flags.Into
	for _, port := range []struct {
		flags string
		tls   *TLS
	}{{"--tls", &s.TLS}, {"--admin-tls", &s.AdminTLS}} {
		if t := port.tls; len(t.Certs) != len(t.Keys) {
			r.flags.Wrong("%s-cert and %s-key: %d of the former and %d of the latter; expected a key for each certificate", port.flags, port.flags, len(t.Certs), len(t.Keys))
		}
	}
	needs := []struct {
		given       bool
		flag, needs string
	}{
		{s.CORSCredentials && s.NoCORS, "--cors-credentials", "--no-cors=false"},
		{s.TLS.Client != "" && s.TLS.ClientCA == "", "--tls-client", "--tls-client-ca"},
		{s.TLS.Only && !s.TLS.IsOn(), "--tls-only", "--tls auto or --tls-cert"},
		{s.TLS.ClientCA != "" && !s.TLS.IsOn(), "--tls-client-ca", "--tls auto or --tls-cert"},
		{s.TLS.TicketKeys != "" && !s.TLS.IsOn(), "--tls-ticket-keys", "--tls auto or --tls-cert"},
		{s.FleetCA != "" && (s.Fleet == "" || !s.AdminTLS.IsOn()), "--fleet-ca", "--fleet, and --admin-tls auto or --admin-tls-cert"},
		{s.AdminTLS.ClientCA != "" && !s.AdminTLS.IsOn(), "--admin-tls-client-ca", "--admin-tls auto or --admin-tls-cert"},
	}
	for _, n := range needs {
		if n.given && s.Command == "serve" {
			r.flags.Wrong("%s: has no effect alone; expected %s too", n.flag, n.needs)
		}
	}
	if s.Command == "serve" && s.Fleet != "" && s.AdminTLS.ClientCA != "" {
		r.flags.Wrong("--fleet and --admin-tls-client-ca are both given: replicas present a token to each other, not a certificate")
	}
	if s.Command == "ca" && s.TLS.Dir == "" {
		r.flags.Wrong("ca: missing --tls-dir: without it each start makes a new CA; expected the directory where it is kept, " +
			"or ask the admin address of a running server for /__admin/ca.pem")
	}
}
