package item

import (
	"path/filepath"
	"strings"
)

// Hints are the parts of messages that show the syntax of the file. The decoder itself knows only
// nodes.
type Hints struct {
	List   string // the form of a document
	Empty  string // the content of a file without endpoints
	Single string // how to turn a map that is an item into a list
	Beside string // where to put a key that is next to endpoint or websocket, for which %s stands
	Bare   string // where to put the keys of an endpoint
	Socket string // the form of a WebSocket
	Line   string // how to write a text that ends without a line break
}

const emptyList = "expected a list of endpoints, [] for none"

// HintsOf returns the hints for a file, whose name is in the position of every node. It returns no
// hints for "", which stands for declarations made in Go.
func HintsOf(file string) Hints {
	switch strings.ToLower(filepath.Ext(file)) {
	case "":
		return Hints{}
	case ".json":
		return Hints{
			Empty:  emptyList,
			List:   `expected a list of endpoints, [{"endpoint": {…}}]`,
			Single: `expected a list of endpoints: put it into one, [{"endpoint": {…}}]`,
			Beside: "move it into the map of %s",
			Bare:   `put it inside one, {"endpoint": {…}}`,
			Socket: `{"websocket": {…}}`,
		}
	case ".edn": // where a map outside a vector is an item
		return Hints{
			List:   "expected a vector of endpoints, [{:endpoint {…}}]",
			Empty:  "expected a vector of endpoints, [] for none",
			Beside: "move it into the map of :%s",
			Bare:   "put it inside one, {:endpoint {…}}",
			Socket: "{:websocket {…}}",
		}
	}
	return Hints{
		List:   "expected a list of endpoints, - endpoint: …",
		Empty:  emptyList,
		Single: `expected a list of endpoints: begin the line with "- ", - endpoint: …`,
		Beside: "indent it further, so that it is inside %s",
		Bare:   `begin the item with "- endpoint:" and indent its keys under it`,
		Socket: "- websocket: …",
		Line:   "; write a single line with |- or in quotes",
	}
}
