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
	t, err := text.New(name).Funcs(text.FuncMap{"rows": rows, "changed": changed, "moment": momentText, "clock": clockText, "requests": func(n uint64) string {
		return countText(n) + strings.TrimPrefix(wording.Count(int64(n), "request"), fmt.Sprint(n))
	}, "rate": rateText}).ParseFS(reportFiles, "report/"+name)
	if err != nil {
		return err
	}
	return t.Execute(w, of)
}

// Write writes the verdict of the report as text, its reasons, and what explains them or is
// about the load generator.
func (r *Report) Write(w io.Writer) error { return writeText(w, "verdict.txt", r) }

// intervalText formats a figure with its interval: "20.1 ms (19.8 ms to 20.5 ms)".
func intervalText(f *statistics.Figure, text func(float64) string) string {
	switch {
	case f == nil:
		return none
	case f.Value == nil:
		return notDetermined
	case f.Low == nil:
		return text(*f.Value)
	}
	return text(*f.Value) + " (" + text(*f.Low) + " to " + text(*f.High) + ")"
}

// quantileText formats a percentile of a distribution.
func quantileText(count uint64, f statistics.Figure) string {
	if count == 0 {
		return none
	}
	return intervalText(&f, msText)
}

func momentText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// statusesText formats the number of replies by status: "200: 12, 404: 1".
func statusesText(statuses map[int]uint64) string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		all = append(all, fmt.Sprintf("%d: %s", status, countText(statuses[status])))
	}
	return strings.Join(all, ", ")
}

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
			all = append(all, name+": "+countText(n)+", "+intervalText(&share, shareText))
		}
	}
	return all
}

// faultsText lists the errors and faults of an endpoint. Faults are listed by type as well.
func faultsText(e EndpointReport) string {
	all := failedTexts(e.Failed, e.Requests)
	for _, name := range slices.Sorted(maps.Keys(e.Faults)) {
		all = append(all, name+": "+countText(e.Faults[name]))
	}
	return strings.Join(all, "; ")
}

// operationsText lists the operations on a set with their counts: "find: 12, insert: 3, insert
// key_exists: 1".
func operationsText(operations map[string]map[string]uint64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		for _, result := range slices.Sorted(maps.Keys(operations[name])) {
			text := name + ": "
			if result != "ok" {
				text = name + " " + result + ": "
			}
			all = append(all, text+countText(operations[name][result]))
		}
	}
	return strings.Join(all, ", ")
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

// countText formats a count in groups of three digits, with no line break between them.
func countText(n uint64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u202f" + text[at:]
	}
	return text
}

// rateText formats a number per second.
func rateText(value float64) string {
	if value >= 1000 {
		return countText(uint64(math.Round(value)))
	}
	return verdict.Short(value)
}

// percentText formats a percentile with all of its nines.
func percentText(p float64) string { return fmt.Sprintf("%.10g %%", p) }
