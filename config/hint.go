package config

import (
	"path/filepath"
	"strings"
)

// hints are the parts of messages that show the syntax of the file. The decoder itself knows only
// nodes.
type hints struct {
	list   string // what a document looks like
	empty  string // what a file without endpoints contains
	single string // how to turn a map that is an item into a list
	beside string // where a key belongs that is next to endpoint or websocket, %s
	bare   string // where the keys of an endpoint belong
	socket string // what a WebSocket looks like
	line   string // how to write a text that ends without a line break
}

const emptyList = "expected a list of endpoints, [] for none"

// hintsOf returns the hints for a file; none for "", which stands for declarations made in Go.
// Nodes name the file they are in.
func hintsOf(file string) hints {
	switch strings.ToLower(filepath.Ext(file)) {
	case "":
		return hints{}
	case ".json":
		return hints{
			empty:  emptyList,
			list:   `expected a list of endpoints, [{"endpoint": {…}}]`,
			single: `expected a list of endpoints: put it into one, [{"endpoint": {…}}]`,
			beside: "move it into the map of %s",
			bare:   `put it inside of one, {"endpoint": {…}}`,
			socket: `{"websocket": {…}}`,
		}
	case ".edn": // where a map outside a vector is an item
		return hints{
			list:   "expected a vector of endpoints, [{:endpoint {…}}]",
			empty:  "expected a vector of endpoints, [] for none",
			beside: "move it into the map of :%s",
			bare:   "put it inside of one, {:endpoint {…}}",
			socket: "{:websocket {…}}",
		}
	}
	return hints{
		list:   "expected a list of endpoints, - endpoint: …",
		empty:  emptyList,
		single: `expected a list of endpoints: begin the line with "- ", - endpoint: …`,
		beside: "indent it further, so that it is inside of %s",
		bare:   `begin the item with "- endpoint:" and indent its keys under it`,
		socket: "- websocket: …",
		line:   "; a block of one line is written with |- or in quotes",
	}
}
