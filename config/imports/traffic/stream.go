package traffic

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/samples"
	"mockserver/config/syntax"
	"mockserver/internal/events"
	"mockserver/internal/recording"
	"mockserver/internal/wording"
)

// A streamed answer of events or lines becomes a stream. Its items are the events, each with the frames around it:
// comments, pings, and the mark of the end, such as [DONE]. Frames take no step of the pace.

// joinedPieces returns the pieces of a streamed answer as one text; nil for any other answer. They do not end, nor
// arrive, before those before them.
func (x *exchange) joinedPieces() (text []byte) {
	if events.FramingOf([]byte(fieldOf(x.received, "Content-Type"))) == events.None {
		return nil
	}
	var before recording.Piece
	for _, p := range x.pieces {
		p = recording.Piece{max(p[0], before[0]), max(min(p[1], samples.MaxLength.Microseconds()), before[1])}
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(p[0]-before[0])), uint64(p[1]-before[1]))
		before = p
	}
	return text
}

// piecesOf returns the pieces of a record, and the body that they belong to.
func (g *group) piecesOf(r *record) (body []byte, pieces []recording.Piece) {
	body = g.store.get(r.body, &g.buf[0])
	var p recording.Piece
	for text := g.store.get(r.pieces, &g.buf[1]); len(text) > 0; pieces = append(pieces, p) {
		for i := range p {
			n, size := binary.Uvarint(text)
			p[i] += int64(n)
			text = text[size:]
		}
		p[0] = min(p[0], int64(len(body))) // there may be no body
	}
	return body, pieces
}

// items returns the pieces of a record with the frames joined to the events. The last one ends with the body.
func (g *group) items(r *record) (body []byte, items []recording.Piece) {
	framing := events.FramingOf([]byte(fieldOf(split(g.store.get(r.headers, &g.buf[1])), "Content-Type")))
	body, pieces := g.piecesOf(r)
	from := int64(0)
	for _, p := range pieces {
		frame := !r.lost && isFrame(framing, body[from:p[0]])
		if from = p[0]; !frame {
			items = append(items, p)
		} else if len(items) > 0 {
			items[len(items)-1][0] = p[0]
		}
	}
	if len(items) == 0 && len(pieces) > 0 {
		items = pieces[:1]
	}
	if len(items) > 0 && !r.lost {
		items[len(items)-1][0] = int64(len(body))
	}
	return body, items
}

// isFrame reports whether a piece is none that a client waits for.
func isFrame(framing events.Framing, piece []byte) bool {
	data, name := "", ""
	if framing == events.Lines {
		data = string(piece)
	} else {
		for _, f := range events.Parse(piece) {
			switch f.Name {
			case events.Data:
				data = f.Value
			case "event":
				name = f.Value
			}
		}
	}
	return data == "" || data == "\n" || data == "\r\n" || data == "[DONE]" || name == "ping"
}

// textsOf returns the pieces of a body.
func textsOf(body []byte, pieces []recording.Piece) (texts []string) {
	from := int64(0)
	for _, p := range pieces {
		texts = append(texts, string(body[from:p[0]]))
		from = p[0]
	}
	return texts
}

// stream sets the stream of a response to the items of a row that was found.
func (g *group) stream(m *syntax.Node, o *outcome) *syntax.Node {
	item := draft.Flow(draft.NewMap("for", "event in answer.events", "body", "{{event}}"))
	return g.setPace(m.Set("stream", draft.Of([]*syntax.Node{item})), o.records)
}

// setStream sets the stream of a response to the items of a record. With Options.Exact each is sent when it was
// recorded, frames too.
func (g *group) setStream(m *syntax.Node, r *record, records []*record) {
	list, piecesOf := syntax.NewList(), g.items
	if g.opts.Exact {
		piecesOf = g.piecesOf
	}
	body, pieces := piecesOf(r)
	for i, text := range textsOf(body, pieces) {
		item := draft.NewMap("body", text)
		if !utf8.ValidString(text) {
			item = draft.NewMap("base64", base64.StdEncoding.EncodeToString([]byte(text)))
		}
		if i > 0 && g.opts.Exact {
			item.Set("after", exactly(pieces[i][1]-pieces[i-1][1]))
		}
		list.Append(draft.Flow(item))
	}
	if m.Set("stream", list).Set("template", draft.Of(false)); !g.opts.Exact {
		g.setPace(m, records)
	} else if len(pieces) > 0 {
		m.Set("pace", draft.Flow(draft.NewMap("first", exactly(max(0, pieces[0][1]-g.opts.Subtract.Microseconds())))))
	}
}

// exactly returns a latency of always the same length, in microseconds.
func exactly(us int64) *syntax.Node {
	return draft.Flow(Latency(samples.Of([]time.Duration{time.Duration(us) * time.Microsecond})))
}

// setPace sets the pace of a stream to the distributions measured in the records.
func (g *group) setPace(m *syntax.Node, records []*record) *syntax.Node {
	var first, gaps []time.Duration
	for _, r := range records {
		_, items := g.items(r)
		for i, p := range items {
			if at := time.Duration(p[1]) * time.Microsecond; i == 0 {
				first = append(first, max(0, at-g.opts.Subtract))
			} else {
				gaps = append(gaps, at-time.Duration(items[i-1][1])*time.Microsecond)
			}
		}
	}
	if len(first) == 0 {
		return m
	}
	if len(first) < knownBelow {
		g.few++
	}
	pace := draft.NewMap("first", draft.Flow(Latency(samples.Of(first))))
	if len(gaps) > 0 {
		gap := draft.Flow(Latency(samples.Of(gaps)))
		pace.Set("gap", draft.Comment(gap, wording.Count(len(gaps), "sample")))
	}
	return m.Set("pace", draft.Comment(pace, wording.Count(len(first), "stream")))
}

// content adds the content of a record to a row.
func (s *rowSet) content(m *syntax.Node, r *record) *syntax.Node {
	if r.stream {
		return m.Set("events", draft.Flow(textsOf(s.g.items(r))))
	}
	return m.Set("body", draft.Of(string(s.g.store.get(r.body, &s.g.buf[0]))))
}

// isExact reports whether only one of several streams is written.
func (g *group) isExact(records []*record) bool {
	return g.opts.Exact && slices.ContainsFunc(records, func(r *record) bool { return r.stream && r.pieces != records[0].pieces })
}
