package bench

import (
	"embed"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
	"gopkg.in/yaml.v3"
)

// scenario is one declaration of scenarios/: a configuration, requests, and their expected
// answers.
type scenario struct {
	Name          string
	Shows         string
	Configuration []map[string]any // as in a file; an item with repeat is repeated, with ${n} from 1
	Files         []file           // next to the configuration
	Requests      []request        // sent in turn
}

// file is a file that a configuration names: a text, or a workbook of one sheet.
type file struct {
	Name  string
	Text  string
	Sheet string
	Rows  [][]any
}

//go:embed scenarios/*.yml
var declarations embed.FS

// scenarios returns the declarations, in the order of their files' names. A test checks them.
func scenarios() (all []scenario) {
	entries, _ := declarations.ReadDir("scenarios")
	for _, e := range entries {
		text, _ := declarations.ReadFile("scenarios/" + e.Name())
		var s scenario
		_ = yaml.Unmarshal(text, &s)
		all = append(all, s)
	}
	return all
}

// endpoints returns the configuration, with repeated items written out.
func (s *scenario) endpoints() (all []json.RawMessage) {
	for _, item := range s.Configuration {
		repeat, _ := item["repeat"].(int)
		delete(item, "repeat")
		text, _ := json.Marshal(item) // cannot fail: it was YAML
		for n := 1; n <= max(repeat, 1); n++ {
			all = append(all, json.RawMessage(strings.ReplaceAll(string(text), "${n}", strconv.Itoa(n))))
		}
	}
	return all
}

// write writes the configuration and its files into dir, and returns the path of the former.
func (s *scenario) write(dir string) (string, error) {
	for i := range s.Files {
		if err := s.Files[i].write(dir); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(s.endpoints())
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "mocks.json")
	return path, os.WriteFile(path, text, 0o600)
}

// write writes the file into dir.
func (f *file) write(dir string) error {
	path := filepath.Join(dir, f.Name)
	if f.Sheet == "" {
		return os.WriteFile(path, []byte(f.Text), 0o600)
	}
	book := excelize.NewFile()
	if err := book.SetSheetName("Sheet1", f.Sheet); err != nil {
		return err
	}
	for i := range f.Rows {
		if err := book.SetSheetRow(f.Sheet, "A"+strconv.Itoa(i+1), &f.Rows[i]); err != nil {
			return err
		}
	}
	return errors.Join(book.SaveAs(path), book.Close())
}
