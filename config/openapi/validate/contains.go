package validate

import (
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

// contains is what contains and its bounds are in the schemas that are compiled. The
// validator's own keeps an error for each item that does not fit, and names each that does in
// its message.
type contains struct {
	schema      *jsonschema.Schema
	least, most int // how many items are to fit; a most below 0 is none
}

// Validate is what the validator calls for each value of the schema.
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

// contained is the error of a list in which too few items fit, or too many.
type contained struct {
	fitting int
	at      string // "least" or "most"
	want    int
}

// KeywordPath and LocalizedString make it what the validator calls an error.
func (contained) KeywordPath() []string { return nil }

// LocalizedString is what is told of it.
func (e contained) LocalizedString(*message.Printer) string {
	return "has " + counted(e.fitting, "item", "items") + " that fit what it is to contain (contains); at " + e.at + " " + accepted(e.want)
}
