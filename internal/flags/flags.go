// Package flags parses a command line according to a table of flags. Unlike package flag of the
// standard library, it reports all errors, not only the first one, and accepts flags anywhere
// between the other arguments.
package flags

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/address"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// Flag is one flag of a command whose flags are parsed into a T. It specifies how the flag is given
// and which values are valid.
type Flag[T any] struct {
	Name    string // long name, without dashes
	Short   string // one letter; "" if there is none
	Env     string // the corresponding environment variable; "" if there is none
	Initial string // the default, as a user would write it; "" if there is none
	Value   string // the name of the value in the usage; "" for a switch
	Doc     string
	Group   string // the heading of this flag and those after it in a usage; "" for none
	Accepts string // describes valid values, for messages; "" for a switch
	Several bool   // the flag may be given more than once
	Secret  bool   // the value is never shown
	// One of these three is set. Switch returns the address of a switch, and Text that of a text
	// that must not be empty. Set parses any other value, and reports whether it is valid.
	Switch func(into *T) *bool
	Text   func(into *T) *string
	Set    func(into *T, text string) bool
}

// Apply sets the flag to a value, and reports whether the value is valid.
func (f Flag[T]) Apply(into *T, value string) bool {
	switch {
	case f.Switch != nil:
		return Switch(f.Switch(into), value)
	case f.Text != nil:
		*f.Text(into) = value
		return value != ""
	}
	return f.Set(into, value)
}

// Shown returns a value of the flag as messages show it.
func (f Flag[T]) Shown(value string) string {
	if f.Secret {
		return "the value"
	}
	return strconv.Quote(address.Shown(value))
}

// Table contains the flags of a command, in the order of its usage.
type Table[T any] []Flag[T]

// Named returns the flag that an argument refers to, as -x, --long or -long.
func (t Table[T]) Named(arg string) (f Flag[T], ok bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	i := slices.IndexFunc(t, func(f Flag[T]) bool { return name == f.Name || arg == "-"+f.Short && f.Short != "" })
	if i < 0 || !strings.HasPrefix(arg, "-") {
		return f, false
	}
	return t[i], true
}

// Write lists the flags in columns for a usage text, each with its variable and its default.
func (t Table[T]) Write(b *strings.Builder, width int) {
	for _, f := range t {
		if f.Group != "" {
			fmt.Fprintf(b, "\n%s:\n", f.Group)
		}
		name := "    --" + f.Name
		if f.Short != "" {
			name = "-" + f.Short + ", --" + f.Name
		}
		if f.Value != "" {
			name += " " + f.Value
		}
		var more []string
		if f.Env != "" {
			more = append(more, f.Env)
		}
		switch {
		case f.Initial != "":
			more = append(more, "default "+f.Initial)
		case f.Env != "" && f.Value == "":
			more = append(more, "default false")
		case f.Env != "" && !f.Several:
			more = append(more, "default none")
		}
		doc := f.Doc
		if len(more) > 0 {
			doc += " (" + strings.Join(more, ", ") + ")"
		}
		fmt.Fprintf(b, "  %-*s %s\n", width, name, doc)
	}
}

// Reader parses a command line into a T.
type Reader[T any] struct {
	Flags Table[T]
	Into  *T
	Help  string            // the command that lists the flags, for messages
	Word  func(word string) // receives each argument that is neither a flag nor the value of one
	// Rest receives the arguments after --. If it is nil, each of them is a word.
	Rest func(args []string)
	Note func(f Flag[T], value string) // called with each value; may be nil
	// Words contains the words that may follow an unknown flag without being its value.
	Words []string
	// Gone contains the names of former flags, each with a hint.
	Gone map[string]string

	given map[string]string // how each flag was spelled, keyed by its name
	Errs  []error
}

// Wrong adds an error.
func (r *Reader[T]) Wrong(format string, args ...any) {
	r.Errs = append(r.Errs, fmt.Errorf(format, args...))
}

// Give sets a flag to a word that was given as an argument by itself, without the name of the flag.
func (r *Reader[T]) Give(name, word string) {
	f, _ := r.Flags.Named("--" + name)
	r.given[name] = word
	r.set(f, word, word)
}

// Read parses the arguments. It must be called first, and once.
func (r *Reader[T]) Read(args []string) {
	r.given = map[string]string{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--" && r.Rest != nil:
			r.Rest(args)
			return
		case arg == "--":
			for _, rest := range args {
				r.Word(rest)
			}
			return
		case len(arg) > 1 && arg[0] == '-':
			args = r.flag(arg, args)
		default:
			r.Word(arg)
		}
	}
}

// flag parses a flag, and its value from the arguments after it. It returns the remaining
// arguments.
func (r *Reader[T]) flag(arg string, after []string) []string {
	name, value, attached := strings.Cut(arg, "=")
	f, ok := r.Flags.Named(name)
	if !ok {
		r.Wrong("%s: no such flag%s; %s -h lists them", name, r.near(name), r.Help)
		if !attached && len(after) > 0 && !strings.HasPrefix(after[0], "-") && !slices.Contains(r.Words, after[0]) {
			return after[1:] // most likely the flag's value, which should not cause a second error
		}
		return after
	}
	if first, again := r.given[f.Name]; again && !f.Several {
		r.Wrong("%s: given twice, first as %s", name, first)
	}
	r.given[f.Name] = name
	switch {
	case attached:
	case f.Value == "":
		value = "true"
	case len(after) == 0 || after[0] == "--" || r.isFlag(after[0]):
		r.Wrong("%s: missing value; expected %s", name, f.Accepts)
		return after
	default:
		value, after = after[0], after[1:]
	}
	r.set(f, name, value)
	return after
}

func (r *Reader[T]) set(f Flag[T], name, value string) {
	if r.Note != nil {
		r.Note(f, value)
	}
	if !f.Apply(r.Into, value) {
		r.Wrong("%s: %s is not valid; expected %s", name, f.Shown(value), cmp.Or(f.Accepts, "true or false"))
	}
}

// Environment sets the flags that were not given from environment variables. An empty variable
// counts as not set.
func (r *Reader[T]) Environment(getenv func(string) string) {
	for _, f := range r.Flags {
		if f.Env == "" || r.given[f.Name] != "" {
			continue
		}
		if value := getenv(f.Env); value != "" {
			r.set(f, "environment variable "+f.Env, value)
		}
	}
}

func (r *Reader[T]) isFlag(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	_, ok := r.Flags.Named(name)
	return ok
}

// near returns the part of a message that suggests the flag that was probably meant by a name.
func (r *Reader[T]) near(name string) string {
	word := strings.TrimLeft(name, "-")
	if hint := r.Gone[word]; hint != "" || len(word) < 2 {
		return hint
	}
	names := list.Map(r.Flags, func(f Flag[T]) string { return "--" + f.Name })
	if near := wording.Nearest("--"+word, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}
