package validate

import (
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

// contains implements the keyword contains and its bounds in compiled schemas. The validator's own
// implementation keeps an error for each item that does not fit, and its message lists each item
// that does.
type contains struct {
	schema      *jsonschema.Schema
	least, most int // how many items must fit; a negative most means no limit
}

// Validate implements the keyword for the validator.
func (k contains) Validate(c *jsonschema.ValidatorContext, v any) {
	list, ok := v.([]any)
	if !ok {
		return
	}
	fitting := 0
	for i := range list {
		if c.Validate(k.schema, list[i], []string{strconv.Itoa(i)}) == nil {
			c.EvaluatedItem(i)
			fitting++
		}
	}
	if fitting < k.least {
		c.AddError(contained{fitting, "least", k.least})
	}
	if k.most >= 0 && fitting > k.most {
		c.AddError(contained{fitting, "most", k.most})
	}
}

// contained is the error for a list in which too few or too many items fit.
type contained struct {
	fitting int
	at      string // "least" or "most"
	want    int
}

// KeywordPath and LocalizedString implement jsonschema.ErrorKind.
func (contained) KeywordPath() []string { return nil }

// LocalizedString returns the message.
func (e contained) LocalizedString(*message.Printer) string {
	return "has " + counted(e.fitting, "item", "items") + " that the schema of contains accepts; expected at " + e.at + " " + strconv.Itoa(e.want)
}
