package logging

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNew_OneReadableLineAnEvent(t *testing.T) {
	var stdout, stderr bytes.Buffer
	log := New("println", &stdout, &stderr)
	log.Info("request", "path", "/a\nb\x1b[31m", "n", 3, "empty", "", "said", `"x"`, "took", 14542*time.Nanosecond)
	log.With("a", 1).WithGroup("g").Warn("second", "b", 2, slog.Group("h", "c", 3), slog.Group("", "d", 4))
	log.Error("broken", "why", "x")
	log.Debug("not logged")
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want 2: %q", len(lines), lines)
	}
	for i, want := range []string{
		` INFO request path="/a\nb\x1b[31m" n=3 empty="" said="\"x\"" took=14.542µs`,
		" WARN second a=1 g.b=2 g.h.c=3 g.d=4",
	} {
		stamp, rest := lines[i][:24], lines[i][24:]
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", stamp); err != nil || rest != want {
			t.Errorf("got %q\nwant a time and %q", lines[i], want)
		}
	}
	if got := stderr.String(); !strings.HasSuffix(got, " ERROR broken why=x\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("standard error: %q", got)
	}
}

func TestNew_JSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	log := New("json", &stdout, &stderr)
	log.Info("request", "path", "/a\n\x00", "took", 14542*time.Nanosecond, slog.Group("lag", "max", 1500*time.Millisecond))
	log.With("a", 1).Error("broken")
	for _, c := range []struct {
		out  string
		want map[string]any
	}{
		{stdout.String(), map[string]any{"level": "INFO", "msg": "request", "path": "/a\n\x00", "took": nil, "took_ms": 0.014542, "lag": map[string]any{"max_ms": 1500.0}}},
		{stderr.String(), map[string]any{"level": "ERROR", "msg": "broken", "a": 1.0}},
	} {
		var got map[string]any
		if err := json.Unmarshal([]byte(c.out), &got); err != nil || strings.Count(c.out, "\n") != 1 {
			t.Fatalf("not one JSON object per line: %q, %v", c.out, err)
		}
		if _, ok := got["time"]; !ok {
			t.Errorf("no time: %s", c.out)
		}
		for key, want := range c.want {
			if !reflect.DeepEqual(got[key], want) {
				t.Errorf("%s: got %v, want %v", key, got[key], want)
			}
		}
	}
}
