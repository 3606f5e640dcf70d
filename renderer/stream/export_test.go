package stream

// Skip counts more items as sent.
func (c *Cursor) Skip(items int) { c.index += items }
