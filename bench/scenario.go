package bench

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	Configuration yaml.Node // as in a file; an item with repeat is repeated, with ${n} from 1
	Files         []file    // next to the configuration
	Requests      []request // sent in turn
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

// scenarios returns the declarations, in the order of their files' names.
func scenarios() ([]scenario, error) {
	entries, err := declarations.ReadDir("scenarios")
	if err != nil {
		return nil, err
	}
	var all []scenario
	for _, e := range entries {
		text, err := declarations.ReadFile("scenarios/" + e.Name())
		if err != nil {
			return nil, err
		}
		s, err := readScenario(text)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", e.Name(), err)
		}
		all = append(all, s)
	}
	return all, nil
}

// readScenario reads and checks one declaration.
func readScenario(text []byte) (scenario, error) {
	var s scenario
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	switch err := d.Decode(&s); {
	case errors.Is(err, io.EOF):
		return s, errors.New("it is empty")
	case err != nil:
		return s, err
	case s.Name == "" || s.Shows == "":
		return s, errors.New("name and shows are required")
	case s.Configuration.Kind != yaml.SequenceNode:
		return s, errors.New("configuration: a list is required")
	case len(s.Requests) == 0:
		return s, errors.New("requests: at least one is required")
	}
	for i := range s.Requests {
		if err := s.Requests[i].check(); err != nil {
			return s, fmt.Errorf("requests[%d]: %w", i, err)
		}
	}
	return s, nil
}

// endpoints returns the items of the configuration, with repeated ones written out.
func (s *scenario) endpoints() ([]any, error) {
	var items []map[string]any
	if err := s.Configuration.Decode(&items); err != nil {
		return nil, err
	}
	var all []any
	for _, item := range items {
		repeat := 1
		if n, ok := item["repeat"].(int); ok {
			repeat = n
			delete(item, "repeat")
		}
		text, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		for n := 1; n <= repeat; n++ {
			all = append(all, json.RawMessage(strings.ReplaceAll(string(text), "${n}", strconv.Itoa(n))))
		}
	}
	return all, nil
}

// write writes the configuration and its files into dir, and returns the path of the former.
func (s *scenario) write(dir string) (string, error) {
	for i := range s.Files {
		if err := s.Files[i].write(dir); err != nil {
			return "", err
		}
	}
	endpoints, err := s.endpoints()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(endpoints)
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
