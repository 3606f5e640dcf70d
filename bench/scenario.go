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
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
	"gopkg.in/yaml.v3"
)

// scenario is one declaration of scenarios/: a configuration, requests, and their expected
// answers.
type scenario struct {
	Name          string
	Shows         string
	Configuration yaml.Node // as of a file; an item with repeat stands for so many, ${n} in them counts from 1
	Files         []file    // next to the configuration
	Requests      []request // sent in turn

	Rate     float64       // requests a second; 0 is as many as are answered
	Duration time.Duration // that a round counts at least
	Sink     bool          // ${sink} is the address of a server that takes webhooks
	// RewriteEvery is how often the configuration is written anew, with another
	// endpoint in it, while a round lasts; 0 is never.
	RewriteEvery time.Duration `yaml:"rewrite-every"`
}

// file is a file that a configuration names: a text, or a workbook of one sheet.
type file struct {
	Name  string
	Text  string
	Sheet string
	Rows  [][]any
}

// request is a request as a scenario declares it.
type request struct {
	Repeat, Step int // so many of it, ${n} in them is Step, 2×Step, …; 0 is 1
	Method, Path string
	Headers      map[string]string
	Body         string
	Answer       declaredAnswer
}

// declaredAnswer is the expected answer to a request. What is not declared is not checked.
type declaredAnswer struct {
	Status  int   // 0 is 200
	Also    []int `yaml:"-"` // further statuses
	Headers map[string]string
	Body    *string
	JSON    *string // the body is JSON text of this value
}

//go:embed scenarios/*.yml
var declarations embed.FS

// scenarios are the declarations, in the order of their files' names.
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
		return s, errors.New("requests: one at least is required")
	}
	for i := range s.Requests {
		if err := s.Requests[i].check(); err != nil {
			return s, fmt.Errorf("requests[%d]: %w", i, err)
		}
	}
	return s, nil
}

func (r *request) check() error {
	switch {
	case !strings.HasPrefix(r.Path, "/") || strings.ContainsAny(r.Path, " \r\n"):
		return fmt.Errorf("path: %q: expected a path that begins with / and has no blanks", r.Path)
	case strings.ContainsAny(r.Method, " \r\n"):
		return fmt.Errorf("method: %q: expected a word", r.Method)
	case r.Repeat < 0 || r.Repeat > 100_000 || r.Step < 0:
		return errors.New("repeat, step: up to 100000, and above 0")
	}
	for name, value := range r.Headers {
		if name == "" || strings.ContainsAny(name, ": \r\n") || strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("headers: %q: %q is not a valid header", name, value)
		}
	}
	return nil
}

// scenarioNames are the names that --scenario takes.
func scenarioNames() []string {
	all, _ := scenarios() // a test checks those that are embedded
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// endpoints returns the items of the configuration, with repeated ones written out.
func (s *scenario) endpoints(sink string) ([]any, error) {
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
			all = append(all, json.RawMessage(strings.NewReplacer("${n}", strconv.Itoa(n), "${sink}", sink).Replace(string(text))))
		}
	}
	return all, nil
}

// writeConfiguration writes endpoints as a configuration file, whole or not at all.
func writeConfiguration(path string, endpoints []any) error {
	text, err := json.Marshal(endpoints)
	if err != nil {
		return err
	}
	return writeWhole(path, text)
}

// write writes the files that the configuration names into dir.
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

// asked is a request ready to be sent, and what is to answer it.
type asked struct {
	line   string // "GET /users/7", for messages
	wire   []byte // as it is sent
	answer declaredAnswer
}

// isClosedLoop reports whether nothing but its requests decides what happens when.
func (s *scenario) isClosedLoop() bool { return s.Rate == 0 && s.RewriteEvery == 0 }

// expanded is the request as often as it is repeated.
func (r *request) expanded() []asked {
	text, _ := json.Marshal(r) // texts and numbers
	var all []asked
	for n := 1; n <= max(r.Repeat, 1); n++ {
		var one request
		_ = json.Unmarshal([]byte(strings.ReplaceAll(string(text), "${n}", strconv.Itoa(n*max(r.Step, 1)))), &one)
		all = append(all, asked{line: one.line(), wire: one.wire(), answer: one.Answer})
	}
	return all
}

func (r *request) method() string {
	if r.Method == "" {
		return "GET"
	}
	return strings.ToUpper(r.Method)
}

func (r *request) line() string { return r.method() + " " + r.Path }

// wire is the request as it is sent: with a Host, and a length where there is a body.
func (r *request) wire() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method(), r.Path)
	names := make([]string, 0, len(r.Headers))
	hosted, typed := false, false
	for name := range r.Headers {
		names = append(names, name)
		hosted = hosted || strings.EqualFold(name, "Host")
		typed = typed || strings.EqualFold(name, "Content-Type")
	}
	if !hosted {
		b.WriteString("Host: localhost\r\n")
	}
	sort.Strings(names)
	for _, name := range names {
		if !strings.EqualFold(name, "Content-Length") {
			fmt.Fprintf(&b, "%s: %s\r\n", name, r.Headers[name])
		}
	}
	if r.Body != "" || slices.Contains([]string{"POST", "PUT", "PATCH"}, r.method()) {
		if !typed && r.Body != "" {
			b.WriteString("Content-Type: application/json\r\n")
		}
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.Body))
	}
	b.WriteString("\r\n")
	b.WriteString(r.Body)
	return b.Bytes()
}
