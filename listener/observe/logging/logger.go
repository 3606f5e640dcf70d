// Package logging formats the log, a readable line or a JSON object for each event, and writes it
// without anybody waiting for its readers.
package logging

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// New returns the logger of the program. Format "json" writes one JSON object for each event; any
// other format writes one readable line. Errors go to stderr, everything else to stdout. Text from
// requests is quoted and escaped.
func New(format string, stdout, stderr io.Writer) *slog.Logger {
	return slog.New(byLevel{out: handler(format, stdout), err: handler(format, stderr)})
}

func handler(format string, w io.Writer) slog.Handler {
	if format == "json" {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: durationInMilliseconds})
	}
	return &lines{w: w, mu: new(sync.Mutex)}
}

// durationInMilliseconds writes a duration as a number whose key names the unit: "took" becomes
// "took_ms". Log tools can compare and add numbers.
func durationInMilliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"_ms", float64(a.Value.Duration())/float64(time.Millisecond))
	}
	return a
}

// byLevel sends errors to one handler and everything else to another.
type byLevel struct{ out, err slog.Handler }

// Enabled reports whether the level is logged.
func (b byLevel) Enabled(ctx context.Context, level slog.Level) bool {
	return b.out.Enabled(ctx, level)
}

// Handle passes the record to the handler for its level.
func (b byLevel) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		return b.err.Handle(ctx, r)
	}
	return b.out.Handle(ctx, r)
}

// WithAttrs returns a handler that adds the attributes to each record.
func (b byLevel) WithAttrs(attrs []slog.Attr) slog.Handler {
	return byLevel{b.out.WithAttrs(attrs), b.err.WithAttrs(attrs)}
}

// WithGroup returns a handler that puts later attributes into the group.
func (b byLevel) WithGroup(name string) slog.Handler {
	return byLevel{b.out.WithGroup(name), b.err.WithGroup(name)}
}

// lines writes "2026-01-15T10:30:00.000Z INFO message key=value …".
type lines struct {
	w      io.Writer
	mu     *sync.Mutex // held while a line is written to w
	attrs  []slog.Attr
	prefix string // the open groups, as a prefix of keys
}

// Enabled reports whether the level is logged: info and above.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle writes one line.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	line := r.Time.UTC().AppendFormat(make([]byte, 0, 256), "2006-01-02T15:04:05.000Z")
	line = append(line, ' ')
	line = append(line, r.Level.String()...)
	line = append(line, ' ')
	line = append(line, r.Message...)
	for _, a := range l.attrs {
		line = appendAttr(line, "", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		line = appendAttr(line, l.prefix, a)
		return true
	})
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(line)
	return err
}

// WithAttrs returns a handler that adds the attributes to each line.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.attrs = append([]slog.Attr{}, l.attrs...)
	for _, a := range attrs {
		a.Key = l.prefix + a.Key
		with.attrs = append(with.attrs, a)
	}
	return &with
}

// WithGroup returns a handler that prefixes later keys with the group.
func (l *lines) WithGroup(name string) slog.Handler {
	with := *l
	with.prefix += name + "."
	return &with
}

// appendAttr appends " key=value". The value is quoted unless it is a single word.
func appendAttr(line []byte, prefix string, a slog.Attr) []byte {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range value.Group() {
			line = appendAttr(line, prefix, inner)
		}
		return line
	}
	text := value.String()
	line = append(line, ' ')
	line = append(line, prefix+a.Key...)
	line = append(line, '=')
	if text == "" || strings.ContainsFunc(text, needsQuotes) {
		return strconv.AppendQuote(line, text)
	}
	return append(line, text...)
}

func needsQuotes(r rune) bool {
	return r <= ' ' || r == '"' || r == '\\' || r == '=' || r == utf8.RuneError || !strconv.IsPrint(r)
}
