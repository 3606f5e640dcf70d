package model

import (
	"embed"
	"encoding/json"

	"mockserver/config/syntax"
)

// Providers are the names of the providers. The slice must not be modified.
var Providers = []string{"anthropic", "openai", "gemini", AllProviders}

// AllProviders stands for all of them together.
const AllProviders = "all"

//go:embed providers
var providers embed.FS

// Provider is what the API of a provider looks like: a file in providers/. The keys of the file that are not fields are
// in the language of configurations: let and headers, which all endpoints have in addition to their own; error, the
// item that the fault error sends; failure, the body of errors; and endpoints, each with its form. With whole, the
// items of a stream are sent as one body when the last one is due. Items for each element of llm.thinking have the gap
// of the thinking.
type Provider struct {
	Name     string `json:"-"`
	File     *syntax.Node
	Bases    []string // the paths before the paths of the endpoints
	Among    string   // of several providers, requests with this header are for this one; "" for none
	Statuses Statuses
	Retry    string // the type of what says when to try again in the details of errors; "" for a header
	// Limit is the name of the headers of a limit, with {kind} such as tokens and {what}; "" for no headers. With
	// Duration, a limit is reset after a time, otherwise at a time.
	Limit    string
	Duration bool
	Refusals []Status // errors that depend on the request: of a form, or of all forms
	Forms    map[string]*Form
}

// Statuses are the errors that a provider has.
type Statuses []Status

// Status is an error of a provider.
type Status struct {
	Status                     int
	Type, Code, Param, Message string   // a refusal has the type of its status
	If                         string   // of a refusal
	Forms                      []string // of a refusal; nil for all
}

// Form says where in a request stands what it asks for: names of members, with a dot before those of members of
// members.
type Form struct {
	If          string // what is to hold for its requests in addition; "" for nothing
	InPath      bool   `json:"in-path"` // the model is the last parameter of the path, before a colon if there is a body
	Streams     bool   // all its requests ask for a stream
	Messages    string // a list of messages, each with role and content; "" for a request without
	Inputs      string // a list of texts, each of which is answered, or one; "" for a request without
	Dimensions  int    // of the vectors that answer to inputs, unless the request or an input gives Size
	Size        string
	AnyModel    bool     `json:"any-model"` // whatever models are declared
	System      string   // a text for the system
	SystemRoles []string `json:"system-roles"` // of messages for the system
	MaxTokens   []string `json:"max-tokens"`   // the most tokens of the answer; the first that is given counts
	Stop        string   // a text that ends the answer, or a list
	Tools       string   // a list of tools
	ToolsIn     string   `json:"tools-in"`    // a list of tools in each of them; "" if it is a tool itself
	ToolName    string   `json:"tool-name"`   // in a tool
	ToolSchema  []string `json:"tool-schema"` // of the arguments, in a tool; the first that is given counts
	ToolChoice  string   `json:"tool-choice"` // which tools are to be called
	ToolChosen  string   `json:"tool-chosen"` // in that, a name or a list of names
	OneTool     []string `json:"one-tool"`    // what says that one tool at most is to be called, and its value
	Schema      []string // of the answer, which is JSON; the first that is given counts
	JSON        []string // what says that the answer is JSON, and its value
}

// Open returns a provider; nil for an unknown one.
func Open(name string) *Provider {
	file := "providers/" + name + ".yml"
	content, err := providers.ReadFile(file)
	if err != nil {
		return nil
	}
	docs, _ := syntax.Read(file, content) // there are no errors: a test reads all files
	p := &Provider{Name: name, File: docs[0]}
	_ = json.Unmarshal([]byte(p.File.JSON(true, nil).Value), p) // the same
	return p
}

// Of returns the error with a status, and whether the provider has it. Any other is like a more general one.
func (all Statuses) Of(status int) (s Status, known bool) {
	for _, s := range all {
		if s.Status == status {
			return s, true
		}
	}
	s, _ = all.Of(400 + 100*(status/500))
	s.Status = status
	return s, false
}
