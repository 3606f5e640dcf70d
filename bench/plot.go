package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
)

// Colours of the lines and bars, apart for colour-blind readers too.
var (
	blue   = drawing.Color{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	orange = drawing.Color{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	green  = drawing.Color{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	purple = drawing.Color{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	sky    = drawing.Color{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	grey   = drawing.Color{R: 0x99, G: 0x99, B: 0x99, A: 0xff}
	pale   = drawing.Color{R: 0xe4, G: 0xe4, B: 0xe4, A: 0xff}
	ink    = drawing.Color{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
)

// errNothingDrawn is the error of a plot without any result.
var errNothingDrawn = errors.New("there is no result to draw")

// draw draws the result into the file of --plot.
func (r *run) draw() error {
	var p picture
	err := errNothingDrawn
	switch {
	case len(r.results) == 0:
	case r.kind() == "curve":
		p, err = curvePicture(r.results[0]), nil
	case r.kind() == "open_loop":
		if shown := sound(r.results); len(shown) > 0 {
			p, err = percentilePicture(shown), nil
		}
	default:
		p, err = barPicture(r.results)
	}
	var b bytes.Buffer
	if err == nil {
		err = p.paint(plotFormat(r.opts.Plot), &b)
	}
	if err != nil {
		return fmt.Errorf("plot %s: %w", r.opts.Plot, err)
	}
	return writeWhole(r.opts.Plot, b.Bytes())
}

// picture is what is drawn. The axes reach from their first tick to their last.
type picture struct {
	title        string
	xName, yName string
	x, y         []chart.Tick
	names        []string // of the places between the ticks of x, in the place of an axis; nil for none
	series       []chart.Series
	empty        bool // there is nothing to see, which is said
}

// barPicture draws the CPU time of a request for each result, beside the baseline's; where
// it is not known, requests a second.
func barPicture(results []*result) (picture, error) {
	p := picture{title: "CPU time of a request", yName: "µs"}
	of := func(f *figures) float64 { return f.cpu }
	shown := sound(results)
	if len(shown) == 0 {
		return p, errNothingDrawn
	}
	if math.IsNaN(shown[0].of(func(p *pair) float64 { return of(&p.candidate) }).median) {
		of = func(f *figures) float64 { return f.rate }
		p.title, p.yName = "Requests answered", "requests/s"
	}
	bare := bars{name: "bare fasthttp handler", color: grey, at: -0.5}
	server := bars{name: "mockserver", color: blue, at: 0.5}
	highest := 0.0
	for i, res := range shown {
		bare.values = append(bare.values, finite(res.of(func(p *pair) float64 { return of(&p.baseline) }).median))
		server.values = append(server.values, finite(res.of(func(p *pair) float64 { return of(&p.candidate) }).median))
		highest = max(highest, bare.values[i], server.values[i])
		p.names = append(p.names, clipped(res.name, 30))
		p.x = append(p.x, chart.Tick{Value: float64(i)})
	}
	p.x = append(p.x, chart.Tick{Value: float64(len(shown))})
	p.y = linear(highest)
	p.series = []chart.Series{bare, server}
	p.empty = highest == 0
	return p, nil
}

// percentilePicture draws latency by percentile, a line for each side of each result.
func percentilePicture(results []*result) picture {
	p := picture{title: "Latency from the time a request was due", xName: "percentile", yName: "ms"}
	for _, q := range []float64{50, 90, 99, 99.9, 99.99} {
		p.x = append(p.x, chart.Tick{Value: nines(q), Label: fmt.Sprint(q)})
	}
	colours := []drawing.Color{blue, orange, green, purple, sky}
	for i, res := range results {
		for _, side := range sides() {
			h := latency(res.rounds, side.of)
			l := line(clipped(res.name, 30)+", "+side.name, colours[i%len(colours)], side.name == "bare")
			for _, q := range []float64{50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99} {
				addPoint(&l, nines(q), at(h, q))
			}
			p.addLine(l)
		}
	}
	p.y = decades(p.series)
	return p
}

// nines is where a percentile stands on an axis on which each nine is as wide as the
// one before.
func nines(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

// curvePicture draws latency by load, of both sides. A step with errors has no points.
func curvePicture(res *result) picture {
	p := picture{xName: "load, % of capacity", yName: "ms",
		title: fmt.Sprintf("%s: latency by load; capacity %.0f requests/s", clipped(res.name, 40), res.capacity)}
	most := 0.0
	for i, q := range []float64{50, 99, 99.9} {
		for _, side := range sides() {
			l := line(fmt.Sprintf("p%g, %s", q, side.name), []drawing.Color{green, blue, orange}[i], side.name == "bare")
			for j := range res.curve {
				if st := &res.curve[j]; st.isSound() {
					addPoint(&l, 100*st.share, at(latency(st.rounds, side.of), q))
					most = max(most, 100*st.share)
				}
			}
			p.addLine(l)
		}
	}
	p.x, p.y = linear(most), decades(p.series)
	return p
}

// plotted is a side of a round, and what it is called.
type plotted struct {
	name string
	of   func(p *pair) *figures
}

func sides() []plotted { return []plotted{{"bare", baselineOf}, {"server", candidateOf}} }

// line is a line without points yet. The points are drawn too: one alone is no line.
func line(name string, c drawing.Color, dashed bool) chart.ContinuousSeries {
	l := chart.ContinuousSeries{Name: name, Style: chart.Style{StrokeColor: c, StrokeWidth: 2, DotColor: c, DotWidth: 2}}
	if dashed {
		l.Style.StrokeDashArray = []float64{6, 4}
	}
	return l
}

// addPoint adds a point to a line whose y axis is logarithmic, unless there is no place
// for it.
func addPoint(l *chart.ContinuousSeries, x, y float64) {
	if y > 0 && !math.IsInf(y, 0) {
		l.XValues, l.YValues = append(l.XValues, x), append(l.YValues, math.Log10(y))
	}
}

// addLine adds a line, unless it has no points.
func (p *picture) addLine(l chart.ContinuousSeries) {
	if l.Len() > 0 {
		p.series = append(p.series, l)
	}
}

// bars are bars on an axis on which each place is 1 wide. The library has no bars beside
// others.
type bars struct {
	name   string
	color  drawing.Color
	at     float64 // where in its place the middle of a bar is, in widths of a bar from the middle
	values []float64
}

// GetName is what the legend says.
func (b bars) GetName() string { return b.name }

// GetYAxis is the only one.
func (bars) GetYAxis() chart.YAxisType { return chart.YAxisPrimary }

// GetStyle is that of the stroke in the legend.
func (b bars) GetStyle() chart.Style { return chart.Style{StrokeColor: b.color, StrokeWidth: 10} }

// Validate has nothing to find.
func (bars) Validate() error { return nil }

// Render draws the bars.
func (b bars) Render(r chart.Renderer, canvas chart.Box, x, y chart.Range, _ chart.Style) {
	width := min(0.36*float64(x.Translate(1)-x.Translate(0)), 60)
	for i, v := range b.values {
		left := float64(canvas.Left+x.Translate(float64(i)+0.5)) + (b.at-0.5)*width
		chart.Draw.Box(r, chart.Box{
			Left: int(left), Right: int(left + width),
			Top: canvas.Bottom - y.Translate(v), Bottom: canvas.Bottom - y.Translate(0),
		}, chart.Style{FillColor: b.color, StrokeColor: b.color})
	}
}

// linear are ticks from 0 to a round number that is not below the value.
func linear(most float64) []chart.Tick {
	if most <= 0 {
		most = 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(most/8)))
	step := 10 * unit
	for _, n := range []float64{1, 2, 5} {
		if n*unit*8 >= most {
			step = n * unit
			break
		}
	}
	var ticks []chart.Tick
	for i := 0; i == 0 || float64(i-1)*step < most*(1-1e-9); i++ {
		ticks = append(ticks, tick(float64(i)*step, float64(i)*step))
	}
	return ticks
}

// decades are ticks of a logarithmic axis around the lines, whose values are logarithms.
// The range that the library has for such an axis draws whatever is below 1 at 0.
func decades(lines []chart.Series) []chart.Tick {
	least, most := math.Inf(1), math.Inf(-1)
	for _, s := range lines {
		if l, ok := s.(chart.ContinuousSeries); ok {
			for _, v := range l.YValues {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if least > most {
		least, most = -1, 0
	}
	steps := []float64{1, 2, 5}
	if most-least > 4 {
		steps = []float64{1}
	}
	var ticks []chart.Tick
	for exponent := math.Floor(least); ; exponent++ {
		for _, n := range steps {
			v := exponent + math.Log10(n)
			if v <= least {
				ticks = ticks[:0] // the axis begins at the last one that is not above the lines
			}
			ticks = append(ticks, tick(v, n*math.Pow(10, exponent)))
			if v >= most && len(ticks) > 1 {
				return ticks
			}
		}
	}
}

func tick(at, value float64) chart.Tick {
	label := strings.TrimRight(fmt.Sprintf("%.6f", value), "0")
	return chart.Tick{Value: at, Label: strings.TrimRight(label, ".")}
}

// paint writes a picture in the format, "svg" or "png".
func (p *picture) paint(format string, to io.Writer) error {
	var entries []string
	for _, s := range p.series {
		entries = append(entries, s.GetName())
	}
	legend := widest(entries)
	c := &chart.Chart{
		Title: p.title, TitleStyle: chart.Style{FontSize: 14, FontColor: ink},
		Width: p.width() + legend + 200, Height: max(620, 120+36*len(p.series)),
		Series: p.series, YAxisSecondary: chart.HideYAxis(),
	}
	// The legend stands beside the picture: inside, it would hide lines.
	c.Background.Padding = chart.Box{Top: 80, Left: 20, Right: legend + 90, Bottom: 20}
	grid := chart.Style{StrokeColor: pale, StrokeWidth: 1}
	axis := chart.Style{FontColor: ink, StrokeColor: grey, StrokeWidth: 1}
	c.XAxis = chart.XAxis{Name: p.xName, NameStyle: axis, Style: axis, Ticks: p.x, GridMajorStyle: grid, GridMinorStyle: grid}
	if p.names != nil {
		c.XAxis.Style = chart.Hidden()
		room := 30
		if p.slanted() {
			room += widest(p.names) * 3 / 4
		}
		c.Background.Padding.Bottom += room
		c.Height += room - 30
	}
	// The first y axis stands on the right, unless it says to be the second.
	c.YAxis = chart.YAxis{AxisType: chart.YAxisSecondary, Style: axis, Ticks: p.y, GridMajorStyle: grid, GridMinorStyle: grid}
	c.Elements = []chart.Renderable{p.words, p.label, func(r chart.Renderer, canvas chart.Box, style chart.Style) {
		beside := chart.Box{Left: canvas.Right + 20, Top: canvas.Top}
		chart.Legend(c, chart.Style{FontSize: textSize, FontColor: ink, StrokeColor: chart.ColorWhite})(r, beside, style)
	}}
	if len(c.Series) == 0 {
		c.Series = []chart.Series{bars{}} // the library draws no picture without one
	}
	if format == "svg" {
		return c.Render(escapedSVG, to)
	}
	return c.Render(chart.PNG, to)
}

// words writes the unit of the y axis above it: the library leaves no room beside it.
func (p *picture) words(r chart.Renderer, canvas chart.Box, style chart.Style) {
	style.FontSize, style.FontColor = textSize, ink
	chart.Draw.Text(r, p.yName, max(canvas.Left-40, 5), canvas.Top-20, style)
	if p.empty || len(p.series) == 0 {
		chart.Draw.Text(r, "nothing was measured", canvas.Left+40, canvas.Top+60, style)
	}
}

// label writes the names below their places. They are no ticks of the library's axis: it
// measures a text in which nothing is to be seen as endless, and so leaves no room for a
// picture whose outermost ticks have none.
func (p *picture) label(r chart.Renderer, canvas chart.Box, style chart.Style) {
	if p.names == nil {
		return
	}
	ground := chart.Box{Left: canvas.Left, Right: canvas.Right, Top: canvas.Bottom, Bottom: canvas.Bottom}
	chart.Draw.Box(r, ground, chart.Style{StrokeColor: grey, StrokeWidth: 1})
	style.FontSize, style.FontColor = textSize, ink
	if p.slanted() {
		style.TextRotationDegrees = 45
	}
	for i, name := range p.names {
		x := canvas.Left + canvas.Width()*(2*i+1)/(2*len(p.names))
		if !p.slanted() {
			x -= widest([]string{name}) / 2
		}
		chart.Draw.Text(r, name, x, canvas.Bottom+20, style)
	}
}

// slanted says that names are wider than their places.
func (p *picture) slanted() bool { return widest(p.names)+10 > p.width()/len(p.names) }

// width is that of the part with bars or lines, at least.
func (p *picture) width() int { return max(800, 45*len(p.names)) }

// textSize is that of labels and of the legend, in points.
const textSize = 10

// widest is how wide the widest of some labels becomes, in pixels.
func widest(labels []string) int {
	r, err := chart.SVG(0, 0)
	if err != nil {
		return 0
	}
	style := chart.StyleTextDefaults()
	style.FontSize = textSize
	width := 0
	for _, label := range labels {
		width = max(width, chart.Draw.MeasureText(r, label, style).Width())
	}
	return width
}

// escapedSVG paints SVG whose texts are escaped, which the library leaves to its callers.
func escapedSVG(width, height int) (chart.Renderer, error) {
	r, err := chart.SVG(width, height)
	return escaping{r}, err
}

type escaping struct{ chart.Renderer }

// Text writes a text.
func (e escaping) Text(body string, x, y int) {
	var b strings.Builder
	if xml.EscapeText(&b, []byte(body)) == nil {
		e.Renderer.Text(b.String(), x, y)
	}
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// clipped is a text of so many letters at most.
func clipped(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
