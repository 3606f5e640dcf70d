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
	text := m.make(r)
	finish, end := "stop", 0
	most := math.MaxInt
	if r.Model.Value.Member("max-tokens").Kind != view.Missing {
		most = number(r, "max-tokens")
	}
	for ; most > 0 && end < len(text); most-- {
		end += cut(text[end:])
	}
	if end < len(text) {
		finish = "length"
	}
	end, stopped := m.stop(text[:end], r)
	if string(stopped) != "null" {
		finish = "stop-sequence"
	}
	b := append(r.Model.Value.Raw[:len(r.Model.Value.Raw)-1], `,"answer":[`...)
	tokens, pieces := 0, []byte(nil)
	for text = text[:end]; len(text) > 0; {
		size, n := 0, 1
		if m.perDelta != nil {
			n = max(int(m.perDelta(r.Random.Float64())), 1)
		}
		for ; n > 0 && size < len(text); n-- {
			size += cut(text[size:])
			tokens++
		}
		b = append(view.AppendString(b, text[:size]), ',')
		if m.Streams { // each with the tokens up to its end
			pieces = appendNumber(appendText(append(pieces, '{'), "text", text[:size]), "tokens", tokens)
			pieces = append(pieces[:len(pieces)-1], "},"...)
		}
		text = text[size:]
	}
	b = append(bytes.TrimSuffix(b, []byte(",")), "],"...)
	if m.Streams {
		b = append(append(append(b, `"pieces":[`...), bytes.TrimSuffix(pieces, []byte(","))...), "],"...)
	}
	b = appendNumber(b, "answer-tokens", tokens)
	b = appendNumber(b, "total-tokens", number(r, "prompt-tokens")+tokens)
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

// stop returns where a text ends because of a stop sequence of the request, and the sequence as JSON; null for none.
func (m *Model) stop(text []byte, r *matcher.Request) (end int, sequence []byte) {
	end, sequence = len(text), []byte("null")
	look := func(v view.Value) {
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
