package sentry

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// sentryEvent returns the event, a JSON object, of an envelope with a single event: a line with its
// header, a line with the item's header, and the payload of the length given there.
func sentryEvent(envelope []byte) ([]byte, error) {
	var header, event struct {
		ID string `json:"event_id"`
	}
	var item struct {
		Type   string
		Length int
	}
	first, rest, _ := bytes.Cut(envelope, []byte("\n"))
	second, rest, _ := bytes.Cut(rest, []byte("\n"))
	if err := json.Unmarshal(first, &header); err != nil || len(header.ID) != 32 {
		return nil, fmt.Errorf("header with event_id %q, %v", header.ID, err)
	}
	if err := json.Unmarshal(second, &item); err != nil || item.Type != "event" || item.Length > len(rest) {
		return nil, fmt.Errorf("item of type %q and length %d of %d, %v", item.Type, item.Length, len(rest), err)
	}
	if more := bytes.TrimSpace(rest[item.Length:]); len(more) > 0 {
		return nil, fmt.Errorf("further items %s", more)
	}
	if err := json.Unmarshal(rest[:item.Length], &event); err != nil || event.ID != header.ID {
		return nil, fmt.Errorf("event_id %q differs from the envelope's, %v", event.ID, err)
	}
	return rest[:item.Length], nil
}
