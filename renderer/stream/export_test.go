package stream

// Index returns the number of the present item, from 0.
func (c *Cursor) Index() int { return c.index }

// Skip counts more items as sent.
func (c *Cursor) Skip(items int) { c.index += items }
