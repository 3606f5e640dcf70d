package data_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/listener/memory/data"
)

// TestCommit_KeepsRowsReadMeanwhile: a file that is read again while a specification is compiled,
// in which its set is unchanged, stays as it was read last.
func TestCommit_KeepsRowsReadMeanwhile(t *testing.T) { synctest.Test(t, keepsRowsReadMeanwhile) }

func keepsRowsReadMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	write := func(content string, ago time.Duration) {
		at := time.Now().Add(-ago)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"id": "old"}]`, time.Hour)
	s := data.New(data.Options{Log: slog.New(slog.DiscardHandler)})
	defer s.Close()
	spec := &config.Spec{}
	spec.Data = []item.Data{{Name: "s", From: &item.DataFile{Path: syntax.Text{Value: path}}}}
	for i := range 2 {
		if err := s.Begin(spec).Err(); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			write(`[{"id": "new"}]`, time.Minute)
			<-time.After(10 * time.Second) // longer than it takes to notice
			synctest.Wait()
		}
		s.Commit()
	}
	if !s.Set("s").Get(nil, []byte("new")).Found() || s.Set("s").Get(nil, []byte("old")).Found() {
		t.Error("the rows are those from before")
	}
}
