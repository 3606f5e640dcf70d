package runs

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"io"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	text "text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"mockserver/internal/statistics"
	"mockserver/internal/wording"
	"mockserver/listener/observe/verdict"
)

// none is shown in place of a missing figure.
const none = "–"

// writeText writes a report or a comparison with one of the templates for text.
func writeText(w io.Writer, name string, of any) error {
	t := text.New(name).Funcs(text.FuncMap{"rows": rows, "changed": changed, "moment": momentText, "clock": clockText, "requests": func(n uint64) string {
		return wording.Thousands(n) + strings.TrimPrefix(wording.Count(int64(n), "request"), fmt.Sprint(n))
	}, "rate": rateText})
	return text.Must(t.ParseFS(reportFiles, "report/"+name)).Execute(w, of)
}

// Write writes the verdict of the report as text, its reasons, and what explains them or is
// about the load generator.
func (r *Report) Write(w io.Writer) error { return writeText(w, "verdict.txt", r) }

// intervalText formats a figure with its interval: "20.1 ms (19.8 ms to 20.5 ms)".
func intervalText(f *statistics.Figure, text func(float64) string) string {
	switch {
	case f == nil || f.Value == nil && f.Samples == 0:
		return none
	case f.Value == nil:
		return notDetermined
	case f.Low == nil:
		return text(*f.Value)
	}
	return text(*f.Value) + " (" + text(*f.Low) + " to " + text(*f.High) + ")"
}

func momentText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// partText formats a part of a number, with its share: "12 (92 %)", without a line break.
func partText(part, all uint64) string {
	if part == 0 || all == 0 {
		return wording.Thousands(part)
	}
	return wording.Thousands(part) + " (" + strings.Replace(shareText(float64(part)/float64(all)), " ", "\u00a0", 1) + ")"
}

// shortened returns the text of a figure without its interval, and "?" for one that is not determined.
func shortened(text string) string {
	text, _, _ = strings.Cut(text, " (")
	return strings.Replace(text, notDetermined, "?", 1)
}

// stacked puts the interval of a figure, or its share, below it and in small letters.
func stacked(text string) template.HTML {
	figure, more, found := strings.Cut(text, " (")
	figure = strings.ReplaceAll(figure, " %", "\u00a0%")
	switch {
	case text == notDetermined:
		return "<span class=\"unsure\">" + notDetermined + "</span>" // in two lines
	case !found:
		return template.HTML(html.EscapeString(figure))
	}
	if low, high, isInterval := strings.Cut(more, " to "); isInterval {
		if number, unit, _ := strings.Cut(low, " "); strings.HasSuffix(high, unit+")") {
			more = number + " to " + high // the unit once
		}
	}
	return template.HTML(html.EscapeString(figure) + " <small>(" + html.EscapeString(more) + "</small>")
}

// breakable allows line breaks after the slashes of a path rather than within words.
func breakable(path string) template.HTML {
	return template.HTML(strings.ReplaceAll(html.EscapeString(path), "/", "/<wbr>"))
}

// failedTexts lists the kinds of requests that failed, the most frequent first, each with its number and
// its share of all requests.
func failedTexts(f verdict.Failed, requests uint64) []string {
	kinds := f.Kinds()
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b)) })
	var all []string
	for _, name := range names {
		if n := kinds[name]; n > 0 {
			share := statistics.Share(min(n, requests), requests, statistics.Dependence{})
			all = append(all, name+": "+wording.Thousands(n)+", "+intervalText(&share, shareText))
		}
	}
	return all
}

func figureText(figure *float64, text func(float64) string) string {
	if figure == nil {
		return none
	}
	return text(*figure)
}

func shareText(share float64) string { return verdict.Short(share*100) + " %" }

// clockText formats a second of a run: "45 s", "1:30", "2:00:00".
func clockText(second float64) string {
	whole := int(second)
	switch {
	case whole < 60:
		return fmt.Sprintf("%d s", whole)
	case whole < 3600:
		return fmt.Sprintf("%d:%02d", whole/60, whole%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
}

// msText formats milliseconds in a suitable unit.
func msText(ms float64) string {
	switch {
	case ms == 0:
		return "0"
	case ms < 1:
		return verdict.Short(ms*1000) + " µs"
	case ms < 1000:
		return verdict.Short(ms) + " ms"
	}
	return verdict.Short(ms/1000) + " s"
}

// rateText formats a number per second.
func rateText(value float64) string {
	if value >= 1000 {
		return wording.Thousands(uint64(math.Round(value)))
	}
	return verdict.Short(value)
}

// percentText formats a percentile with all of its nines.
func percentText(p float64) string { return fmt.Sprintf("%.10g %%", p) }

// encodedLetters matches sequences of percent-encoded bytes outside ASCII.
var encodedLetters = regexp.MustCompile("(?:%[89A-Fa-f][0-9A-Fa-f])+")

// legible decodes percent-encoded letters in a path, as address bars do. Anything that is not a
// letter, mark, number, punctuation or symbol stays encoded, since it might hide or reverse the
// text around it. The admin page does the same.
func legible(text string) string {
	return encodedLetters.ReplaceAllStringFunc(text, func(encoded string) string {
		letters, err := url.PathUnescape(encoded)
		odd := func(r rune) bool {
			return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) && r != '\u200d'
		}
		if err != nil || !utf8.ValidString(letters) || strings.ContainsFunc(letters, odd) {
			return encoded
		}
		return letters
	})
}
