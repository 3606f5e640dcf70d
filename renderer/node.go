package renderer

// nodeKind is the kind of a node.
type nodeKind uint8

const (
	literalNode nodeKind = iota
	outputNode
	branchNode
	loopNode
)

// node is one step of a template.
type node struct {
	kind  nodeKind
	write writer // outputNode: how its value is written
	text  string // literalNode
	expr  *expr  // outputNode: the value; loopNode: the array
	arms  []arm  // branchNode
	body  []node // loopNode
	loop  int    // loopNode: its index in frame.turns
}

// arm is one branch of an if; a nil condition means else.
type arm struct {
	cond *cond
	body []node
}
