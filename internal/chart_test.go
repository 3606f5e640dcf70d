package internal_test

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"testing"

	"mockserver/internal/chart"
)

func number(value float64) string { return strconv.FormatFloat(value, 'g', 8, 64) }

// An axis covers its values, from one round number to another.
func TestTicks(t *testing.T) {
	labels := func(a chart.Axis) string {
		var s []string
		for i, k := range a.Ticks {
			if s = append(s, k.Text); i > 0 && !(a.Ticks[i-1].At < k.At) {
				t.Errorf("ticks are not in order: %v", a.Ticks)
			}
		}
		if a.From != a.Ticks[0].At || a.To != a.Ticks[len(a.Ticks)-1].At {
			t.Errorf("from %v to %v: %v", a.From, a.To, a.Ticks)
		}
		return strings.Join(s, " ")
	}
	for most, want := range map[float64]string{
		0: "0 0.2 0.4 0.6 0.8 1", 7.3: "0 1 2 3 4 5 6 7 8", 40: "0 5 10 15 20 25 30 35 40", 120: "0 20 40 60 80 100 120",
		1_200_000: "0 200000 400000 600000 800000 1000000 1200000", 0.03: "0 0.005 0.01 0.015 0.02 0.025 0.03",
	} {
		if got := labels(chart.UpTo(most, 8, number)); got != want {
			t.Errorf("to %v: %s; want %s", most, got, want)
		}
	}
}

// A chart is well-formed XML for any texts.
func TestChart_EscapesTexts(t *testing.T) {
	const text = "<a>&\"'\x00"
	c := chart.Chart{
		ID: text, Title: text, About: text, X: chart.UpTo(10, 5, func(float64) string { return text }), Y: chart.UpTo(10, 5, number),
		Lines:  []chart.Line{{X: []float64{1, 2, 3}, Y: []float64{1, math.NaN(), 3}}},
		Shaded: []chart.Span{{From: 1, To: 2}},
	}
	for _, svg := range []string{c.Embed()} {
		var doc struct {
			Texts []string `xml:"text"`
			Paths []struct {
				D string `xml:"d,attr"`
			} `xml:"path"`
		}
		if err := xml.Unmarshal([]byte(svg), &doc); err != nil || len(doc.Texts) < 6 || doc.Texts[len(doc.Texts)-1] == "" {
			t.Errorf("%v: %q in %s", err, doc.Texts, svg)
		}
		if strings.Count(doc.Paths[0].D, "M") != 2 || strings.Contains(doc.Paths[0].D, "L") {
			t.Errorf("a gap is not left out: %s", doc.Paths[0].D)
		}
	}
}
