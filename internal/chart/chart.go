// Package chart draws charts as SVG: lines and shaded areas. A chart becomes part of a page,
// which colors it by the classes of its elements:
//
//	c := chart.Chart{Title: "Latency", X: chart.UpTo(60, 6, seconds), Y: chart.UpTo(250, 4, milliseconds)}
//	c.Lines = append(c.Lines, chart.Line{X: times, Y: latencies})
//	svg := c.Embed()
package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Chart is a chart. Its axes are linear; for a logarithmic axis the caller passes the logarithms of
// the values.
type Chart struct {
	ID, Title, About string // ID must be unique in the page; About is for readers who cannot see the chart
	X, Y             Axis
	Lines            []Line
	Shaded           []Span // ranges of the x axis
}

// Axis is one axis, from one value to another, with ticks at some values.
type Axis struct {
	From, To float64
	Ticks    []Tick
}

// Tick is a mark on an axis.
type Tick struct {
	At   float64
	Text string
}

// Line is the curve of one figure, with a point for each X; a NaN in Y leaves a gap.
type Line struct{ X, Y []float64 }

// Span is a range of the x axis.
type Span struct{ From, To float64 }

// The dimensions of the picture in a page, which shows three of them next to each other.
const (
	pageWidth, pageHeight = 400.0, 170.0
	pageLeft, pageRight   = 54.0, 14.0
	pageTop, pageBottom   = 8.0, 26.0
	plotWidth             = pageWidth - pageLeft - pageRight
)

// Embed returns the chart for a page. The classes of its elements are chart, rule, tick, bad for
// shaded areas, and "line s1" for the first line and so on. Its attribute data-plot has the edges
// of the plot, for a script that shows the values: left, right, top and bottom.
func (c *Chart) Embed() string {
	var b strings.Builder
	id := escaped(c.ID)
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %.0f %.0f" data-plot="%.0f %.0f %.0f %.0f" tabindex="0" role="img" aria-labelledby="%s-title %s-about"><title id="%s-title">%s</title><desc id="%s-about">%s</desc>`,
		pageWidth, pageHeight, pageLeft, pageLeft+plotWidth, pageTop, pageHeight-pageBottom, id, id, id, escaped(c.Title), id, escaped(c.About))
	c.plot(&b)
	b.WriteString("</svg>")
	return b.String()
}

// plot draws everything inside the axes, and the labels around it.
func (c *Chart) plot(b *strings.Builder) {
	const right, bottom, height = pageLeft + plotWidth, pageHeight - pageBottom, pageHeight - pageTop - pageBottom
	x := func(v float64) float64 { return pageLeft + c.X.share(v)*plotWidth }
	y := func(v float64) float64 { return bottom - c.Y.share(v)*height }
	for _, s := range c.Shaded {
		fmt.Fprintf(b, `<rect class="bad" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x(s.From), pageTop, max(x(s.To)-x(s.From), 1), height)
	}
	for _, t := range c.Y.Ticks {
		fmt.Fprintf(b, `<line class="rule" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, pageLeft, right, y(t.At), y(t.At))
		text(b, "end", pageLeft-6, y(t.At)+4, t.Text)
	}
	for _, t := range c.X.Ticks {
		text(b, "middle", x(t.At), bottom+18, t.Text)
	}
	for i := range c.Lines {
		fmt.Fprintf(b, `<path class="line s%d" d="%s"/>`, i+1, c.Lines[i].path(x, y))
	}
}

// share returns the position of a value on the axis, from 0 to 1.
func (a *Axis) share(v float64) float64 { return (v - a.From) / (a.To - a.From) }

// path returns the line through the points, broken at gaps. A single point between gaps becomes a
// dot.
func (l *Line) path(x, y func(float64) float64) string {
	var b strings.Builder
	open := false
	for i := range l.X {
		if math.IsNaN(l.Y[i]) {
			open = false
			continue
		}
		if open {
			fmt.Fprintf(&b, "L%.1f %.1f", x(l.X[i]), y(l.Y[i]))
		} else {
			fmt.Fprintf(&b, "M%.1f %.1fh0.1", x(l.X[i]), y(l.Y[i]))
		}
		open = true
	}
	return b.String()
}

func text(b *strings.Builder, anchor string, x, y float64, body string) {
	fmt.Fprintf(b, `<text class="tick" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, anchor, x, y, escaped(body))
}

func escaped(body string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(body)) // writing to a builder never fails
	return b.String()
}
