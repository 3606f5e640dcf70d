// Package chart draws charts as SVG: lines, bars and shaded areas. A chart becomes part of a page,
// which colors it by the classes of its elements, or a separate file:
//
//	c := chart.Chart{Title: "Latency", X: chart.UpTo(60, 6, chart.Number), Y: chart.UpTo(250, 4, chart.Number)}
//	c.Lines = append(c.Lines, chart.Line{Name: "p99", X: seconds, Y: milliseconds})
//	svg := c.File()
package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Chart is a chart. Its axes are linear; for a logarithmic axis the caller passes the logarithms of
// the values.
type Chart struct {
	ID, Title, About string // ID must be unique in the page; About is for readers who cannot see the chart
	X, Y             Axis
	Lines            []Line
	Bars             []Bars
	Shaded           []Span // ranges of the x axis
}

// Axis is one axis, from one value to another, with ticks at some values.
type Axis struct {
	Name     string // in files only
	From, To float64
	Ticks    []Tick
}

// Tick is a mark on an axis.
type Tick struct {
	At   float64
	Text string
}

// Line is the curve of one figure, with a point for each X; a NaN in Y leaves a gap.
type Line struct {
	Name   string
	X, Y   []float64
	Color  int // 1 to Colors; 0 selects the color by the position of the line
	Dashed bool
}

// Bars contains the bars of one figure.
type Bars struct {
	Name  string
	Color int // 1 to Colors; 0 for the color of a page's bars
	Bars  []Bar
}

// Bar is a bar from one value of the x axis to another, with the height Value. Text is shown while
// the pointer is over the bar, unless it is "".
type Bar struct {
	From, To, Value float64
	Text            string
}

// Span is a range of the x axis.
type Span struct{ From, To float64 }

// frame is the position of the plot in the picture, in units of the picture.
type frame struct {
	left, top, width, height float64
	slanted                  bool // whether labels of the x axis are slanted
}

func (f *frame) right() float64  { return f.left + f.width }
func (f *frame) bottom() float64 { return f.top + f.height }

// The dimensions of the picture in a page.
const (
	pageWidth, pageHeight = 560.0, 200.0
	pageLeft, pageRight   = 64.0, 12.0
	pageTop, pageBottom   = 10.0, 28.0
)

// PageWidth is the width of the plot in a page. LabelWidth is the space that a text such as "≤ 500
// µs" needs below the plot, even if the page enlarges the text on a small screen.
const (
	PageWidth  = pageWidth - pageLeft - pageRight
	LabelWidth = 100.0
)

// Embed returns the chart for a page. The classes of its elements are chart, rule, tick, bad for
// shaded areas, "line s1" for the first line and so on, and bar.
func (c *Chart) Embed() string {
	var b strings.Builder
	id := escaped(c.ID)
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="%s-title %s-about"><title id="%s-title">%s</title><desc id="%s-about">%s</desc>`,
		pageWidth, pageHeight, id, id, id, escaped(c.Title), id, escaped(c.About))
	f := frame{left: pageLeft, top: pageTop, width: PageWidth, height: pageHeight - pageTop - pageBottom}
	c.plot(&b, &f)
	b.WriteString("</svg>")
	return b.String()
}

// plot draws everything in the frame, and the labels around it.
func (c *Chart) plot(b *strings.Builder, f *frame) {
	x := func(v float64) float64 { return f.left + c.X.share(v)*f.width }
	y := func(v float64) float64 { return f.bottom() - c.Y.share(v)*f.height }
	for _, s := range c.Shaded {
		rect(b, "bad", x(s.From), f.top, max(x(s.To)-x(s.From), 1), f.height, "")
	}
	for _, t := range c.Y.Ticks {
		fmt.Fprintf(b, `<line class="rule" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, f.left, f.right(), y(t.At), y(t.At))
		text(b, "tick", "end", f.left-6, y(t.At)+4, t.Text)
	}
	for _, t := range c.X.Ticks {
		if f.slanted {
			fmt.Fprintf(b, `<text class="tick" transform="translate(%.1f %.1f) rotate(45)">%s</text>`, x(t.At), f.bottom()+16, escaped(t.Text))
		} else {
			text(b, "tick", "middle", x(t.At), f.bottom()+20, t.Text)
		}
	}
	for i := range c.Bars {
		for _, bar := range c.Bars[i].Bars {
			rect(b, c.Bars[i].class(), x(bar.From)+1, y(bar.Value), x(bar.To)-x(bar.From)-2, f.bottom()-y(bar.Value), bar.Text)
		}
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		fmt.Fprintf(b, `<path class="%s" d="%s"/>`, l.class(i), l.path(x, y))
	}
}

// share returns the position of a value on the axis, from 0 to 1.
func (a *Axis) share(v float64) float64 { return (v - a.From) / (a.To - a.From) }

func (l *Line) class(place int) string {
	class := fmt.Sprintf("line s%d", place+1)
	if l.Color > 0 {
		class = fmt.Sprintf("line s%d", l.Color)
	}
	if l.Dashed {
		class += " dashed"
	}
	return class
}

func (b *Bars) class() string {
	if b.Color == 0 {
		return "bar"
	}
	return fmt.Sprintf("bar s%d", b.Color)
}

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

// rect draws a rectangle, with a text that is shown while the pointer is over it.
func rect(b *strings.Builder, class string, x, y, width, height float64, title string) {
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, class, x, y, width, height)
	if title == "" {
		b.WriteString("/>")
	} else {
		fmt.Fprintf(b, "><title>%s</title></rect>", escaped(title))
	}
}

func text(b *strings.Builder, class, anchor string, x, y float64, body string) {
	fmt.Fprintf(b, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, escaped(body))
}

func escaped(body string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(body)) // writing to a builder never fails
	return b.String()
}

// widest estimates the width of the widest text in a file.
func widest(texts []string) float64 {
	most := 0
	for _, t := range texts {
		most = max(most, utf8.RuneCountInString(t))
	}
	const letter = 7.2 // slightly more than the average width of a letter of 12 units
	return letter * float64(most)
}
