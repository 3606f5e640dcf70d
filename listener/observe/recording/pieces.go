package recording

import (
	"bytes"

	"mockserver/config/item"
	"mockserver/fetcher"
	"mockserver/internal/events"
	"mockserver/internal/json"
	"mockserver/internal/recording"
)

// pieces are the pieces of an answer that is decoded or redacted. They then become those of the result.
type pieces struct {
	framing events.Framing
	all     *[]recording.Piece
}

// decode removes content encodings. The pieces of the content are what arrived together, those of the result what
// the framing says.
func (p *pieces) decode(content []byte, codings []string, limit int64) (decoded []byte, err error) {
	if p == nil || len(*p.all) == 0 {
		return fetcher.Decode(content, codings, limit)
	}
	reads, split := *p.all, events.Splitter{Framing: p.framing}
	*p.all = nil
	at, left := 0, content
	next := func() (part []byte) {
		if at == len(reads) {
			part, left = left, nil
			return part
		}
		from := int64(0)
		if at++; at > 1 {
			from = reads[at-2][0]
		}
		size := reads[at-1][0] - from
		part, left = left[:size], left[size:]
		return part
	}
	err = fetcher.DecodeParts(next, codings, limit, func(part []byte) {
		for from := 0; ; {
			n := split.Next(part[from:])
			if n == 0 {
				break
			}
			from += n
			*p.all = append(*p.all, recording.Piece{int64(len(decoded) + from), reads[max(at-1, 0)][1]})
		}
		decoded = append(decoded, part...)
	})
	if err != nil { // it may have several encodings: when its pieces came is not known
		*p.all = nil
		return fetcher.Decode(content, codings, limit)
	}
	return decoded, nil
}

// redactPieces replaces the secrets in the JSON of events or lines. It returns false if one may contain secrets that
// it cannot find.
func (r *Recorder) redactPieces(content []byte, rules *item.Redact, p *pieces) (out []byte, ok bool) {
	split, paths := events.Splitter{Framing: p.framing}, pathsOf(rules)
	next := 0
	for from := 0; from < len(content); {
		n := split.Next(content[from:])
		if n == 0 {
			n = len(content) - from
		}
		piece := content[from : from+n]
		if from += n; p.framing == events.Events {
			out, ok = r.redactEvent(out, piece, paths)
		} else {
			text := bytes.TrimRight(piece, "\r\n")
			out, ok = r.redactText(out, text, paths)
			out = append(out, piece[len(text):]...)
		}
		if !ok {
			return nil, false
		}
		for ; next < len(*p.all) && (*p.all)[next][0] <= int64(from); next++ {
			(*p.all)[next][0] = int64(len(out))
		}
	}
	return out, true
}

// redactEvent appends an event, whose data may be JSON.
func (r *Recorder) redactEvent(b, event []byte, paths [][]string) ([]byte, bool) {
	fields := events.Parse(event)
	for i := range fields {
		if f := &fields[i]; f.Name == events.Data {
			text, ok := r.redactText(nil, []byte(f.Value), paths)
			if !ok {
				return nil, false
			}
			if string(text) != f.Value {
				f.Value = string(bytes.ReplaceAll(text, []byte("\n"), nil)) // in JSON, a line break is white space
				return events.Append(b, fields), true
			}
		}
	}
	return append(b, event...), true
}

// redactText appends a text, which may be JSON. One without quotes has no members, like [DONE].
func (r *Recorder) redactText(b, text []byte, paths [][]string) ([]byte, bool) {
	if len(paths) == 0 {
		return append(b, text...), true
	}
	v := json.Parse(text)
	if v.Kind == json.Missing {
		begin := bytes.TrimLeft(text, " \t\r\n")
		return append(b, text...), len(begin) == 0 || begin[0] != '{' && begin[0] != '[' || bytes.IndexByte(text, '"') < 0
	}
	return r.redactValue(b, v, paths), true
}
