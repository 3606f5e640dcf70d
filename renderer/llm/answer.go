package llm

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"mockserver/config/model"
	view "mockserver/internal/json"
	"mockserver/matcher"
)

// mostTokens is the largest number of tokens of an invented text, also of a lognormal distribution.
const mostTokens = 1_000_000

// tokenSize is how many bytes a token has at least, unless its text ends.
const tokenSize = 4

// cut returns the size of the first token of a text: the shortest run of whole characters of tokenSize bytes or more.
func cut(text []byte) (n int) {
	for n < tokenSize && n < len(text) {
		size := 1
		if text[n] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(text[n:])
		}
		n += size
	}
	return n
}

// Tokens returns how many tokens a text has.
func Tokens(text []byte) (n int) {
	for ; len(text) > 0; n++ {
		text = text[cut(text):]
	}
	return n
}

// Answer adds the answer to what the request asks for. It is made once for each request.
func (m *Model) Answer(r *matcher.Request) {
	if m.Request(r); r.Model.Answered {
		return
	}
	defer func() { r.Model.Answered = true }()
	mark := len(r.Arena)
	if m.Inputs != "" {
		m.set(r, append(m.vectors(r.Model.Value.Raw[:len(r.Model.Value.Raw)-1], r), "],"...))
		return
	}
	d := deltas{Model: m, r: r, left: math.MaxInt}
	if r.Model.Value.Member("max-tokens").Kind != view.Missing {
		d.left = number(r, "max-tokens")
	}
	var thinking, text []byte
	if m.thinking != nil {
		thinking = r.Extend(invent(r.Arena, min(int(m.thinking(r.Random.Float64())), mostTokens), &r.Random))
	}
	calls, text := m.calls(r)
	if calls == nil {
		text = m.content(r)
	}
	end, stopped := m.stop(text, r)
	b := append(r.Model.Value.Raw[:len(r.Model.Value.Raw)-1], `,"thinking":`...)
	b = d.append(b, thinking)
	d.reasoning = d.made
	b = appendNumber(b, "reasoning-tokens", d.reasoning)
	d.pieces = nil
	b = d.append(append(b, `"answer":`...), text[:end])
	if m.Streams {
		b = append(append(append(b, `"pieces":[`...), bytes.TrimSuffix(d.pieces, []byte(","))...), "],"...)
	}
	b = d.appendCalls(b, calls, d.reasoning > 0, end > 0)
	finish := "stop"
	switch {
	case d.cut:
		finish, stopped = "length", []byte("null")
	case calls != nil:
		finish = "tool-calls"
	case string(stopped) != "null":
		finish = "stop-sequence"
	}
	b = appendNumber(b, "answer-tokens", d.made)
	b = appendNumber(b, "total-tokens", number(r, "prompt-tokens")+d.made)
	b = appendRaw(b, "finish", `"`+finish+`"`)
	m.set(r, appendRaw(b, "stop-sequence", stopped))
	r.Arena = r.Arena[:mark]
}

// Tokens returns how many tokens the prompt of a request has, the longest answer that it allows, and its answer, which
// it makes.
func (m *Model) Tokens(r *matcher.Request) (prompt, most, answer int) {
	m.Answer(r)
	prompt, most, answer = number(r, "prompt-tokens"), number(r, "max-tokens"), number(r, "answer-tokens")
	return prompt, max(most, answer), answer
}

// deltas makes the deltas of one answer.
type deltas struct {
	*Model
	r          *matcher.Request
	left, made int  // how many tokens the request still allows; how many there are
	cut        bool // some were not allowed
	reasoning  int  // how many are no answer
	pieces     []byte
}

// append appends a list of the deltas of a text, and a comma.
func (d *deltas) append(b, text []byte) []byte {
	b = append(b, '[')
	for len(text) > 0 && d.left > 0 {
		size, n := 0, 1
		if d.perDelta != nil {
			n = max(int(d.perDelta(d.r.Random.Float64())), 1)
		}
		for ; n > 0 && d.left > 0 && size < len(text); n-- {
			size += cut(text[size:])
			d.left--
			d.made++
		}
		b = append(view.AppendString(b, text[:size]), ',')
		if d.Streams { // each with the tokens of the answer up to its end
			d.pieces = appendNumber(appendText(append(d.pieces, '{'), "text", text[:size]), "tokens", d.made-d.reasoning)
			d.pieces = append(d.pieces[:len(d.pieces)-1], "},"...)
		}
		text = text[size:]
	}
	d.cut = d.cut || len(text) > 0
	return append(bytes.TrimSuffix(b, []byte(",")), "],"...)
}

// make returns the whole text of an answer.
func (m *Model) make(r *matcher.Request) []byte {
	switch a := m.declared.Answer; {
	case m.text != nil:
		r.Line = m.text.Append(r.Line[:0], r)
		return r.Line
	case len(a.Lines) > 0 && a.Pick == model.PickNext:
		return []byte(a.Lines[(m.line.Add(1)-1)%uint64(len(a.Lines))])
	case len(a.Lines) > 0:
		return []byte(a.Lines[r.Random.IntN(len(a.Lines))])
	case a.Echo:
		return r.Extend(r.Model.Value.Member("prompt").AppendText(r.Arena))
	case m.tokens == nil:
		return nil
	}
	return r.Extend(invent(r.Arena, min(int(m.tokens(r.Random.Float64())), mostTokens), &r.Random))
}

// mostStops is how many stop sequences of a request are looked for at most.
const mostStops = 100

// stop returns where a text ends because of a stop sequence of the request, and the sequence as JSON; null for none.
func (m *Model) stop(text []byte, r *matcher.Request) (end int, sequence []byte) {
	end, sequence = len(text), []byte("null")
	left := mostStops
	look := func(v view.Value) {
		if left--; left < 0 {
			return
		}
		mark := len(r.Arena)
		r.Arena = v.AppendText(r.Arena)
		wanted := r.Arena[mark:]
		if i := bytes.Index(text[:end], wanted); v.Kind == view.String && len(wanted) > 0 && i >= 0 {
			end, sequence = i, v.Raw
		}
		r.Arena = r.Arena[:mark]
	}
	for one := range elements(field(r, m.Stop)) {
		look(one)
	}
	return end, sequence
}

//go:embed words.txt
var wordList string

var words = strings.Fields(wordList)

// invent appends a text of exactly so many tokens, in sentences of 5 to 16 words.
func invent(dst []byte, tokens int, random *matcher.Random) []byte {
	end, left := len(dst)+tokens*tokenSize, 0
	for len(dst) < end {
		at := len(dst)
		if dst = append(dst, words[random.IntN(len(words))]...); left == 0 {
			left = 5 + random.IntN(12)
			dst[at] -= 'a' - 'A'
		}
		if left--; left == 0 {
			dst = append(dst, '.')
		}
		dst = append(dst, ' ')
	}
	if tokens == 0 {
		return dst
	}
	if dst = dst[:end]; dst[end-2] == ' ' || dst[end-2] == '.' { // a word of one letter, or none
		dst = dst[:end-1]
	}
	dst[len(dst)-1] = '.'
	return dst
}

// mostDimensions is the largest number of dimensions of a vector.
const mostDimensions = 10_000

// vectors appends a list of a unit vector for each input, which depends only on the text and the number of dimensions:
// numbers, or in base64 their 32 bits, the lowest first.
func (m *Model) vectors(b []byte, r *matcher.Request) []byte {
	dimensions := m.Dimensions
	asked := field(r, cmp.Or(m.Size, "dimensions"))
	for one := range elements(field(r, m.Inputs)) {
		if asked.Kind == view.Missing {
			asked = one.Member(m.Size)
		}
	}
	if n, err := strconv.Atoi(string(asked.Raw)); err == nil && n > 0 {
		dimensions = min(n, mostDimensions)
	}
	coded := string(field(r, "encoding_format").Raw) == `"base64"`
	vector, bits := make([]float64, dimensions), make([]byte, 0, 4*dimensions)
	b = append(b, `,"vectors":[`...)
	for input := range elements(r.Model.Value.Member("inputs")) {
		hash := fnv.New64a()
		_, _ = hash.Write(input.Raw) // a hash does not fail
		var random matcher.Random
		random.Seed(hash.Sum64(), 1)
		sum := 0.0
		for i := range vector {
			vector[i] = random.Float64()*2 - 1
			sum += vector[i] * vector[i]
		}
		b, bits = append(b, '['), bits[:0]
		for _, v := range vector {
			v := float32(v / math.Sqrt(sum))
			if coded {
				bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
			} else {
				b = append(strconv.AppendFloat(b, float64(v), 'g', -1, 32), ',')
			}
		}
		if coded {
			b = append(base64.StdEncoding.AppendEncode(append(b[:len(b)-1], '"'), bits), `",`...)
		} else {
			b = append(b[:len(b)-1], "],"...)
		}
	}
	return bytes.TrimSuffix(b, []byte(","))
}
