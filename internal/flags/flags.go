// Package flags reads a command line by a table of flags. It reports all errors, not only
// the first, and takes flags anywhere between the other arguments, which package flag of the
// standard library does not.
package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/wording"
)

// Flag is one flag of a command that is read into a T: how it is given, and what it may be.
type Flag[T any] struct {
	Name    string // long name, without dashes
	Short   string // one letter; "" for none
	Env     string // the variable of the environment that stands for it; "" for none
	Initial string // the default, as it would be written; "" for none
	Value   string // what stands for the value in the usage; "" for a switch
	Doc     string
	Accepts string // what is expected, for messages
	Several bool   // it may be given more than once
	Secret  bool   // its value is never shown
	// Set reads a value, and reports whether it is valid.
	Set func(into *T, text string) bool
}

// Shown is a value of the flag in a message.
func (f Flag[T]) Shown(value string) string {
	if f.Secret {
		return "the value"
	}
	return strconv.Quote(wording.Clip(value))
}

// Table is the flags of a command, in the order of its usage.
type Table[T any] []Flag[T]

// Named returns the flag that an argument names, as -x, --long or -long.
func (t Table[T]) Named(arg string) (f Flag[T], ok bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	i := slices.IndexFunc(t, func(f Flag[T]) bool { return name == f.Name || arg == "-"+f.Short && f.Short != "" })
	if i < 0 || !strings.HasPrefix(arg, "-") {
		return f, false
	}
	return t[i], true
}

// Write lists the flags in columns, as a usage does. More returns what follows the
// description of a flag.
func (t Table[T]) Write(b *strings.Builder, width int, more func(f Flag[T]) string) {
	for _, f := range t {
		name := "    --" + f.Name
		if f.Short != "" {
			name = "-" + f.Short + ", --" + f.Name
		}
		if f.Value != "" {
			name += " " + f.Value
		}
		fmt.Fprintf(b, "  %-*s %s%s\n", width, name, f.Doc, more(f))
	}
}

// Reader reads a command line into a T.
type Reader[T any] struct {
	Flags Table[T]
	Into  *T
	Help  string            // the command that lists the flags, for messages
	Word  func(word string) // takes what is no flag, nor a value of one
	// Rest takes the arguments after --. Without it each of them is a word.
	Rest func(args []string)
	Note func(f Flag[T], value string) // is told each value; may be nil
	// Words are those that may follow an unknown flag and are not its value.
	Words []string

	given map[string]string // how each flag was spelt, by its name
	Errs  []error
}

// Wrong adds an error.
func (r *Reader[T]) Wrong(format string, args ...any) {
	r.Errs = append(r.Errs, fmt.Errorf(format, args...))
}

// Give sets a flag to a word that stands for it.
func (r *Reader[T]) Give(name, word string) {
	f, _ := r.Flags.Named("--" + name)
	r.spelt(f, word)
	r.set(f, word, word)
}

// spelt notes how a flag was given.
func (r *Reader[T]) spelt(f Flag[T], spelling string) {
	if r.given == nil {
		r.given = map[string]string{}
	}
	r.given[f.Name] = spelling
}

// Read reads the arguments.
func (r *Reader[T]) Read(args []string) {
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

// flag takes a flag, and its value from the arguments after it.
func (r *Reader[T]) flag(arg string, after []string) []string {
	name, value, attached := strings.Cut(arg, "=")
	f, ok := r.Flags.Named(name)
	if !ok {
		r.Wrong("%s: no such flag%s; %s -h lists them", name, r.near(name), r.Help)
		if !attached && len(after) > 0 && !strings.HasPrefix(after[0], "-") && !slices.Contains(r.Words, after[0]) {
			return after[1:] // its value, most likely, and no second error
		}
		return after
	}
	if first, again := r.given[f.Name]; again && !f.Several {
		r.Wrong("%s: given twice, first as %s", name, first)
	}
	r.spelt(f, name)
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
	if !f.Set(r.Into, value) {
		r.Wrong("%s: %s is not valid; expected %s", name, f.Shown(value), f.Accepts)
	}
}

// Environment takes the values of flags that were not given from variables. An empty
// variable is one that is not set.
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

// near is the part of a message that offers the flag which another name seems to mean.
func (r *Reader[T]) near(name string) string {
	word := strings.TrimLeft(name, "-")
	if len(word) < 2 {
		return ""
	}
	names := make([]string, len(r.Flags))
	for i, f := range r.Flags {
		names[i] = "--" + f.Name
	}
	if near := wording.Nearest("--"+word, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}
