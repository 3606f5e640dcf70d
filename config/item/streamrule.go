package item

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/policy"
	"mockserver/config/table"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
)

// streamRules checks the stream of a response.
type streamRules struct {
	*table.Checker
	stream *Stream
	form   string // the content that the items have so far: data, line or body
}

// checkStream checks the stream of a response at the given keys, which has a latency.
func checkStream(c *table.Checker, r *Response, latency *policy.Latency, at []string) {
	s := streamRules{Checker: c, stream: &r.Stream}
	if r.Items == nil {
		for _, f := range streamFields {
			if key := table.Below(at, f.Key); c.Node(key...) != nil && !(f.Passed && r.Proxy != nil) && !c.Faulty(table.Below(at, "stream")...) {
				c.Wrong("is for a stream; stream is missing", key...)
			}
		}
		return
	}
	place := table.Below(at, "stream")
	switch {
	case r.declaresBody():
		c.Wrong(table.BothGiven("body", "stream"), place...)
	case r.External != nil:
		c.Wrong(table.BothGiven("external-body", "stream"), place...)
	case semantics.HasNoContent(r.Status):
		c.Wrong(fmt.Sprintf("an answer with status %d has no body; expected another status", r.Status), place...)
	}
	if p := r.Pace; p != nil {
		policy.CheckLength(c, p.First, table.Below(at, "pace", "first")...)
		policy.CheckLength(c, p.Gap, table.Below(at, "pace", "gap")...)
		if p.First != nil && p.Head == "" && latency.Lengths() != nil {
			c.Wrong("first and the latency both say when the answer begins; expected one of them, or head: at-once", table.Below(at, "pace", "first")...)
		}
	}
	s.list(r.Items, place)
	if r.Heartbeat > 0 && s.form != AsData {
		c.Wrong("is a comment between events; no item of the stream is an event", table.Below(at, "heartbeat")...)
	}
}

// ofUpstream is the form of a stream of an upstream, which is not known.
const ofUpstream = "upstream"

// formOf returns AsData if the first stream of some responses, or of a single one, has events, AsBody for any other
// stream, ofUpstream for one that may be passed on, and "" if none is a stream.
func formOf(outcomes []Outcome, single *Response) string {
	all := []*Response{single}
	for i := range outcomes {
		all = append(all, &outcomes[i].Response)
	}
	for _, r := range all {
		if r.HasStream() && r.MediaType() == TypeEvents {
			return AsData
		} else if r.HasStream() {
			return AsBody
		} else if r.Proxy != nil {
			return ofUpstream
		}
	}
	return ""
}

// checkFault checks a fault at the given keys as far as it depends on the streams of its responses, whose form
// formOf returns.
func checkFault(c *table.Checker, f *policy.Fault, form string, at []string) {
	switch {
	case f == nil || c.Faulty(at...):
	case f.OnlyStreams() && form == "":
		key := "type"
		if f.After != "" {
			key = "after"
		}
		c.Wrong("is for a stream; expected a response with stream or proxy", table.Below(at, key)...)
	case f.Item != nil:
		s := streamRules{Checker: c, stream: &Stream{}, form: strings.TrimPrefix(form, ofUpstream)}
		s.item(f.Item.(*StreamItem), table.Below(at, "item"))
	}
}

// list checks the items of a list at the given keys.
func (s *streamRules) list(items []StreamItem, place []string) {
	around, key := place[:len(place)-1], place[len(place)-1]
	for i := range items {
		at := table.Below(around, fmt.Sprintf("%s[%d]", key, i))
		if s.Faulty(at...) {
			continue
		}
		if i > 0 && items[i-1].isEndless() {
			s.Warn("is never sent: the item before it has no end", at...)
		}
		s.item(&items[i], at)
		if items[i].Items != nil {
			s.list(items[i].Items, table.Below(at, "items"))
		}
	}
}

// contents are the keys of what an item sends, and what its form is.
var contents = []struct{ key, form string }{{"items", ""}, {"file", ""}, {"data", AsData}, {"line", AsLine}, {"body", AsBody}, {"base64", AsBody}}

func (s *streamRules) item(i *StreamItem, at []string) {
	r := itemRules{s, i, at}
	content, form, ok := r.content()
	if !ok {
		return
	}
	event := ""
	for _, key := range []string{"comment", "retry", "id", "event"} {
		if r.has(key) {
			event = key
		}
	}
	switch {
	case event != "" && content != "" && form != AsData:
		r.wrong(event, "%s is a part of an event, and %s is none; expected it with data", event, content)
	case event == "" && content == "":
		s.Wrong("sends nothing; expected "+s.offered(), at...)
	case content == "":
		form = AsData
		if i.Event != nil {
			s.Warn("clients do not see an event without data; expected data", table.Below(at, "event")...)
		}
	}
	r.keys(form)
	r.times()
	switch {
	case s.form == "" || form == "":
		s.form += form
	case s.form != form && (s.form == AsData || form == AsData):
		r.wrong(cmp.Or(content, event), "the stream has events and other content; expected only one of them")
	case s.form != form:
		s.form = AsBody
	}
	policy.CheckLength(s.Checker, i.After, table.Below(at, "after")...)
	if i.Retry != nil && !tags.In(i.Retry.Value) && RetryMillis(i.Retry.Value) == "" {
		r.wrong("retry", "is %q; expected a number of milliseconds, or a duration such as 3s", i.Retry.Value)
	}
}

// offered names the keys of what an item may send. A fault sends a single item, which is in no stream.
func (s *streamRules) offered() string {
	if s.stream.Items == nil {
		return "data, line, body, base64 or comment"
	}
	return "data, line, body, base64, file, comment or items"
}

// itemRules checks one item, at the given keys.
type itemRules struct {
	*streamRules
	item *StreamItem
	at   []string
}

func (r itemRules) has(key string) bool { return r.Node(table.Below(r.at, key)...) != nil }

func (r itemRules) wrong(key, format string, args ...any) {
	r.Wrong(fmt.Sprintf(format, args...), table.Below(r.at, key)...)
}

// content returns the key of what the item sends, and its form; both are "" for an event without data.
func (r itemRules) content() (content, form string, ok bool) {
	for _, c := range contents {
		switch {
		case !r.has(c.key):
		case content != "":
			r.wrong(c.key, "%s", table.BothGiven(content, c.key))
			return content, form, false
		default:
			content, form = c.key, c.form
		}
	}
	if content == "file" {
		form = cmp.Or(r.item.As, AsBody)
	}
	return content, form, true
}

// keys finds keys that do not apply to what an item sends.
func (r itemRules) keys(form string) {
	for _, key := range []string{"split", "as"} {
		if r.has(key) && !r.has("file") {
			r.wrong(key, "is for a file; file is missing")
		}
	}
	if r.has("separator") && form != AsLine {
		r.wrong("separator", "is for lines; expected it with line")
	}
	for _, key := range []string{"after", "with"} {
		if r.has(key) && r.has("items") {
			r.wrong(key, "is for one item; expected it with an item of the group")
		}
	}
	if r.has("after") && r.has("with") {
		r.wrong("after", "%s", table.BothGiven("with", "after"))
	}
}

// times checks how often an item is sent.
func (r itemRules) times() {
	gap := r.stream.Pace != nil && (isPositive(r.stream.Pace.Gap) || r.stream.Pace.Shared > 0)
	switch {
	case r.has("for") && r.has("times"):
		r.wrong("times", "%s; for both, put the item into a group: items", table.BothGiven("for", "times"))
	case r.item.Times.Value == Forever && !r.item.waits(gap):
		r.wrong("times", "forever sends without a pause; expected a gap above 0 in pace, or after")
	}
}

// isEndless reports whether nothing after the item is ever sent. A group that may be left out has an end.
func (i *StreamItem) isEndless() bool {
	return i.Times.Value == Forever ||
		i.For.Value+i.Times.Value+i.If.Value == "" && slices.ContainsFunc(i.Items, func(i StreamItem) bool { return i.isEndless() })
}

// hasForever reports whether an item, or one in a group, is sent without an end.
func hasForever(items []StreamItem) bool {
	return slices.ContainsFunc(items, func(i StreamItem) bool { return i.Times.Value == Forever || hasForever(i.Items) })
}

// waits reports whether time passes when the item is sent, if there is a gap or not.
func (i *StreamItem) waits(gap bool) bool {
	if i.Items == nil {
		return i.With == "" && (i.After == nil && gap || isPositive(i.After))
	}
	for k := range i.Items {
		if i.Items[k].waits(gap) {
			return true
		}
	}
	return false
}

// isPositive reports whether a length is not always 0.
func isPositive(l *policy.Latency) bool {
	lengths := l.Lengths()
	return lengths != nil && lengths(1-1e-9) > 0
}

// RetryMillis returns the milliseconds of a retry without placeholders, as digits; "" for any other text.
func RetryMillis(text string) string {
	if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		return text
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return fmt.Sprint(d.Milliseconds())
	}
	return ""
}

// HasStream reports whether the response is a stream.
func (r *Response) HasStream() bool { return len(r.Items) > 0 }
