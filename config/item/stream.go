package item

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/files"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// Stream is a response that is sent item by item, instead of a body. One without items is no stream.
type Stream struct {
	Items       []StreamItem `key:"stream"`
	Pace        *Pace
	Heartbeat   time.Duration // a comment is sent when nothing was sent for so long; 0 for none
	MaxDuration time.Duration // 0 means an hour for a stream without an end, and no limit for others
	NoResume    bool          `key:""` // Last-Event-ID has no effect (resume: false)
	Whole       bool          `key:""` // the items are sent as one body when the last one is due; only endpoints of an llm have it
	Cut         *Cut          // nil for none
}

// Pace says when the items of a stream are sent. A nil Pace sends all at once.
type Pace struct {
	First  *policy.Latency // from the arrival of the request; nil means the latency of the endpoint
	Gap    *policy.Latency // from one item to the next; nil for none
	Shared float64         // items a second of all streams of the endpoint together; 0 for no limit
	Head   string          // HeadAtOnce, or "" to send the head with the first item
}

// Cut says how often the bytes of an item are sent in two parts, wherever they are cut.
type Cut struct {
	Rate  float64       // the share of items, above 0 to 1
	Pause time.Duration // between the parts
}

// StreamItem is one item of a stream, several that a loop or a file makes, or a group.
type StreamItem struct {
	Data, Line, Body          *Piece       // what is sent; nil if not declared
	Event, ID, Retry, Comment *syntax.Text // nil if not declared
	Separator                 string       // SeparatorRS, or ""

	File    *Piece // the content of a file; its text is raw
	Split   string // of File: SplitLines, SplitWords, SplitBytes, or "" for one piece
	SplitAt int    // bytes of a piece of SplitBytes
	As      string // of File: data, line or body; "" means body

	Items []StreamItem // a group, instead of one item

	For   syntax.Text // NAME in OPERAND
	Times syntax.Text // an operand, or Forever
	If    syntax.Text
	After *policy.Latency // instead of the gap
	With  string          // WithNext, WithPrevious or ""
}

// Piece is the content of an item.
type Piece struct {
	Text syntax.Text
	JSON bool // Text is the JSON text of a map or list
	Raw  bool // Text has no placeholders
}

// itemForm is an item that is being decoded.
type itemForm struct {
	StreamItem
	nesting
}

// nesting is where an item is decoded.
type nesting struct {
	raw    bool // the response has no placeholders
	fields []table.Field[itemForm]
	depth  int // the number of groups around the item
}

// The words of streams.
const (
	Forever      = "forever"
	HeadAtOnce   = "at-once"
	SeparatorRS  = "rs"
	WithNext     = "next"
	WithPrevious = "previous"
	SplitLines   = "lines"
	SplitWords   = "words"
	SplitBytes   = "bytes"
	AsData       = "data"
	AsLine       = "line"
	AsBody       = "body"
)

const (
	// MaxStreamItems is the largest number of items that a stream sends.
	MaxStreamItems = 10_000_000
	// maxGroups is how deep groups may be nested.
	maxGroups = 8
	splitForm = "lines, words, or " + table.SizeForm
	timesForm = "a whole number from 0 to 10000000, an operand such as json-params.n, or forever"
)

var streamFields = []table.Field[Stream]{
	table.By[Stream](table.Row{Key: "pace", Doc: "when the items of stream are sent; all at once by default", Kinds: table.Maps, Form: "a map with first, gap, shared or from", Table: table.Rows(paceFields)}, decodePace),
	table.Of[Stream](table.Row{Key: "heartbeat", Doc: "a comment is sent when a stream has sent nothing for so long", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Of[Stream](table.Row{Key: "max-duration", Doc: "how long a stream may last; 1h by default if it has no end", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.With(table.Row{Key: "resume", Doc: "false sends a whole stream, whatever Last-Event-ID the request has", Kinds: table.Bools},
		func(_ *table.Decoder, v table.Value, s *Stream) { s.NoResume = !v.Truth() }),
	table.Map[Stream](table.Row{Key: "cut", Passed: true, Doc: "sends the bytes of some items in two parts", Form: "a map with rate and pause"}, cutFields),
}

var cutFields = []table.Field[Cut]{
	table.Of[Cut](table.Row{Key: "rate", Doc: "the share of items", Required: true, Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[Cut](table.Row{Key: "pause", Doc: "the time between the two parts; none by default", Kinds: table.Texts, Length: table.UnitFromZero, Most: time.Minute}),
}

var paceFields = []table.Field[paceForm]{
	policy.LengthKey[paceForm](table.Row{Key: "first", Doc: "the time from the request to the first item; the latency by default"}),
	policy.LengthKey[paceForm](table.Row{Key: "gap", Doc: "the time from one item to the next"}),
	table.With(policy.RateRow("shared", "how many items all streams of the endpoint send together, such as 20000/s"),
		func(d *table.Decoder, v table.Value, p *paceForm) { p.Shared = policy.Rate(d, v) }),
	table.Of[paceForm](table.Row{Key: "head", Doc: "at-once sends status and headers before the first item is due", Kinds: table.Texts, Enum: []string{HeadAtOnce}}),
	table.Of[paceForm](table.Row{Key: "from", Doc: "a table of measured times, with columns first and gap", Kinds: table.Texts, Filled: true}),
	table.Of[paceForm](table.Row{Key: "unit", Doc: "the unit of the numbers in that table", Kinds: table.Texts, Enum: policy.UnitsOfSamples}),
}

// paceForm is a pace that is being decoded.
type paceForm struct {
	Pace
	From syntax.Text
	Unit string
}

var streamItemRow = &table.Row{Kinds: table.Maps, Table: table.Rows(streamItemFields)}

var streamItemFields = []table.Field[itemForm]{
	piece(table.Row{Key: "data", Doc: "the data of an event: a text, or a map or list that is sent as JSON"}, func(s *itemForm) **Piece { return &s.Data }),
	text("event", "the type of an event", func(s *itemForm) **syntax.Text { return &s.Event }),
	text("id", "the id of an event", func(s *itemForm) **syntax.Text { return &s.ID }),
	text("retry", "how long a client waits until it connects again: a number of milliseconds, or a duration", func(s *itemForm) **syntax.Text { return &s.Retry }),
	text("comment", "a comment, which clients ignore", func(s *itemForm) **syntax.Text { return &s.Comment }),
	piece(table.Row{Key: "line", Doc: "a line: a text, or a map or list that is sent as JSON"}, func(s *itemForm) **Piece { return &s.Line }),
	table.Of[itemForm](table.Row{Key: "separator", Doc: "rs sends a record separator before a line (RFC 7464)", Kinds: table.Texts, Enum: []string{SeparatorRS}}),
	piece(table.Row{Key: "body", Doc: "a part of the body, as it is"}, func(s *itemForm) **Piece { return &s.Body }),
	table.With(table.Row{Key: "base64", Doc: "the bytes of a part of the body, instead of body", Kinds: table.Texts, Pattern: base64Pattern, Form: "base64 text"},
		func(d *table.Decoder, v table.Value, s *itemForm) { s.Body = fixed(v, decodeBase64(d, v)) }),
	table.With(table.Row{Key: "file", Doc: "a file, whose bytes are sent", Kinds: table.Texts, Filled: true}, setStreamFile),
	table.With(table.Row{Key: "split", Doc: "what makes an item of a file: lines, words, or a number of bytes; the whole file by default", Kinds: table.Texts | table.Numbers, Form: splitForm}, setSplit),
	table.Of[itemForm](table.Row{Key: "as", Doc: "what the pieces of a file are: data, line or body (the default)", Kinds: table.Texts, Enum: []string{AsData, AsLine, AsBody}}),
	table.With(table.Row{Key: "items", Doc: "a group of items, in place of one", Kinds: table.Lists, Item: &table.Row{Kinds: table.Maps, Again: "stream"}},
		func(d *table.Decoder, v table.Value, s *itemForm) { s.decodeGroup(d, v) }),
	table.Of[itemForm](table.Row{Key: "for", Doc: "NAME in OPERAND: an item for each element of a list", Kinds: table.Texts, Filled: true}),
	table.With(table.Row{Key: "times", Doc: "how many items: a number, an operand, or forever", Kinds: table.Numbers | table.Texts, Filled: true, Form: timesForm}, setStreamTimes),
	table.Of[itemForm](table.Row{Key: "if", Doc: "the condition under which it is sent", Kinds: table.Scalars | table.Nulls}),
	policy.LengthKey[itemForm](table.Row{Key: "after", Doc: "the time since the item before, instead of gap"}),
	table.Of[itemForm](table.Row{Key: "with", Doc: "sends it together with the next or the previous item", Kinds: table.Texts, Enum: []string{WithNext, WithPrevious}}),
}

// faultItem is the key of a fault for what it sends in a stream: one item.
var faultItem = table.With(table.Row{Key: "item", Doc: "what the fault error sends in place of the next item of a stream", Kinds: table.Maps, Table: table.Rows(faultItemFields)},
	func(d *table.Decoder, v table.Value, f *policy.Fault) {
		var s itemForm
		table.Fill(d, v.Node, v.Key, faultItemFields, &s)
		f.Item = &s.StreamItem
	})

var faultItemFields = slices.DeleteFunc(slices.Clone(streamItemFields), func(f table.Field[itemForm]) bool {
	return slices.Contains([]string{"file", "split", "as", "items", "for", "times", "if", "after", "with"}, f.Key)
})

// piece returns the field of a key whose value is the content of an item.
func piece(r table.Row, at func(*itemForm) **Piece) table.Field[itemForm] {
	r.Kinds = table.Bodies
	return table.With(r, func(d *table.Decoder, v table.Value, s *itemForm) {
		p := &Piece{Raw: s.raw}
		p.Text, p.JSON = decodeBody(d, v, s.raw)
		*at(s) = p
	})
}

// text returns the field of a key whose value is a text.
func text(key, doc string, at func(*itemForm) **syntax.Text) table.Field[itemForm] {
	return table.With(table.Row{Key: key, Doc: doc, Kinds: table.Scalars}, func(_ *table.Decoder, v table.Value, s *itemForm) {
		t := v.AsText()
		*at(s) = &t
	})
}

// fixed returns a piece that is sent as it is, declared by v.
func fixed(v table.Value, content []byte) *Piece {
	return &Piece{Text: syntax.Text{Value: string(content), Pos: v.Pos(), Key: v.Key}, Raw: true}
}

func setStreamFile(d *table.Decoder, v table.Value, s *itemForm) {
	content, err := files.Read(policy.Resolve(d, v.Text.Value))
	if err != nil {
		d.About(v, "%s: %v", wording.Clip(v.Text.Value), files.Bare(err))
		return
	}
	s.File = fixed(v, content)
}

func setSplit(d *table.Decoder, v table.Value, s *itemForm) {
	if s.Split = v.Text.Value; s.Split != SplitLines && s.Split != SplitWords {
		s.Split, s.SplitAt = SplitBytes, d.Size(v)
	}
}

func setStreamTimes(d *table.Decoder, v table.Value, s *itemForm) {
	if n, err := strconv.Atoi(v.Number); v.Kind == syntax.NumberNode && (err != nil || n < 0 || n > MaxStreamItems) || v.Text.Value == "" {
		d.Refuse(v)
		return
	}
	s.Times = v.AsText()
}

func decodePace(d *table.Decoder, v table.Value) *Pace {
	if len(v.Entries) == 0 && !v.Faulty {
		d.About(v, "is an empty map; expected first, gap, shared or from")
	}
	var p paceForm
	table.Fill(d, v.Node, v.Key, paceFields, &p)
	if p.From.Value == "" {
		return &p.Pace
	}
	for _, key := range []string{"first", "gap"} {
		if v.Get(key) != nil {
			d.Wrong(v.Get(key).Pos(), v.Key+"."+key, "%s", table.BothGiven("from", key))
		}
	}
	at := table.Value{Node: v.Get("from"), Key: v.Key + ".from"}
	if p.First = policy.Measured(d, at, p.Unit, "first"); p.First != nil { // otherwise the same would be said twice
		p.Gap = policy.Measured(d, at, p.Unit, "gap")
	}
	return &p.Pace
}

func (s *itemForm) decodeGroup(d *table.Decoder, v table.Value) {
	if s.depth == maxGroups {
		d.About(v, "groups are nested more than %d deep", maxGroups)
		return
	}
	within := s.nesting
	within.depth++
	s.Items = decodeStreamItems(d, v, &table.Row{Kinds: table.Maps, Table: table.Rows(s.fields)}, within)
}

func decodeStreamItems(d *table.Decoder, v table.Value, row *table.Row, n nesting) []StreamItem {
	if len(v.Items) == 0 {
		d.About(v, "is an empty list; expected at least one item")
		return nil
	}
	v.Row.Item = row
	all := make([]StreamItem, 0, len(v.Items))
	for _, one := range v.Parts() {
		if d.Full() {
			break
		}
		s := itemForm{nesting: n}
		if d.Take(one) {
			table.Fill(d, one.Node, one.Key, n.fields, &s)
		}
		all = append(all, s.StreamItem)
	}
	return all
}

// The content types of streams.
const (
	TypeEvents = "text/event-stream"
	typeLines  = "application/x-ndjson"
)

// MediaType returns the Content-Type of the stream if none is declared.
func (s *Stream) MediaType() string {
	sends := map[string]bool{}
	var first *Piece
	visitItems(s.Items, func(i *StreamItem) {
		form, content := i.Form()
		sends[form], first = true, cmp.Or(first, content)
	})
	switch {
	case sends[AsData]:
		return TypeEvents
	case !sends[AsBody]:
		return typeLines
	case first.JSON || tags.LooksJSON(first.Text.Value, first.Raw):
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

// Form returns what an item that is not a group sends, AsData, AsLine or AsBody, and its content. An event without
// data has none.
func (i *StreamItem) Form() (form string, content *Piece) {
	switch {
	case i.File != nil:
		return cmp.Or(i.As, AsBody), i.File
	case i.Line != nil:
		return AsLine, i.Line
	case i.Body != nil:
		return AsBody, i.Body
	}
	return AsData, i.Data
}

// visitItems visits the items of a list, and of its groups.
func visitItems(items []StreamItem, visit func(*StreamItem)) {
	for i := range items {
		if items[i].Items == nil {
			visit(&items[i])
		}
		visitItems(items[i].Items, visit)
	}
}
