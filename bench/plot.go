package bench

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours of the lines and bars, apart for colour-blind readers too.
var (
	blue   = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	orange = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	green  = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	grey   = color.RGBA{0x99, 0x99, 0x99, 0xff}
)

// draw draws the result into the file of --plot.
func (r *run) draw() error {
	p := plot.New()
	var err error
	width, height := 9*vg.Inch, 5*vg.Inch
	switch r.kind() {
	case "curve":
		err = drawCurve(p, r.results[0])
	case "open_loop":
		err = drawPercentiles(p, r.results)
	default:
		width, err = drawBars(p, r.results)
	}
	if err != nil {
		return fmt.Errorf("plot %s: %w", r.opts.Plot, err)
	}
	var b bytes.Buffer
	if err := paint(p, plotFormat(r.opts.Plot), width, height, &b); err != nil {
		return fmt.Errorf("plot %s: %w", r.opts.Plot, err)
	}
	return writeWhole(r.opts.Plot, b.Bytes())
}

// paint writes a picture in the format, "svg" or "png".
func paint(p *plot.Plot, format string, width, height vg.Length, to io.Writer) error {
	const edge = 0.2 * vg.Inch
	framed := func(c vg.CanvasSizer) draw.Canvas { return draw.Crop(draw.New(c), edge, -edge, edge, -edge) }
	if format == "svg" {
		c := vgsvg.New(width, height)
		p.Draw(framed(c))
		_, err := c.WriteTo(to)
		return err
	}
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}
	p.Draw(framed(c))
	_, err := c.WriteTo(to)
	return err
}

// drawBars draws the CPU time of a request for each result, beside the baseline's; where
// it is not known, requests a second. It returns how wide that becomes.
func drawBars(p *plot.Plot, results []*result) (vg.Length, error) {
	of := func(f *figures) float64 { return f.cpu }
	p.Title.Text, p.Y.Label.Text = "CPU time of a request", "µs"
	if len(results) > 0 && math.IsNaN(results[0].of(func(p *pair) float64 { return of(&p.candidate) }).median) {
		of = func(f *figures) float64 { return f.rate }
		p.Title.Text, p.Y.Label.Text = "Requests answered", "requests/s"
	}
	var bare, server plotter.Values
	var names []string
	for _, res := range results {
		if res.wrong != "" {
			continue
		}
		bare = append(bare, finite(res.of(func(p *pair) float64 { return of(&p.baseline) }).median))
		server = append(server, finite(res.of(func(p *pair) float64 { return of(&p.candidate) }).median))
		names = append(names, clipped(res.name, 30))
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("there is no result to draw")
	}
	const thick = 0.16 * vg.Inch
	for i, side := range []struct {
		name   string
		values plotter.Values
		color  color.Color
	}{{"bare fasthttp handler", bare, grey}, {"mockserver", server, blue}} {
		bars, err := plotter.NewBarChart(side.values, thick)
		if err != nil {
			return 0, err
		}
		bars.LineStyle.Width, bars.Color, bars.Offset = 0, side.color, thick*(vg.Length(i)-0.5)
		p.Add(bars)
		p.Legend.Add(side.name, bars)
	}
	p.Legend.Top = true
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.7, float64(len(names))-0.3
	p.X.Tick.Label.Rotation = math.Pi / 4
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.Y.Min = 0
	p.Y.Max *= 1.25 // room for the legend
	return max(9*vg.Inch, 0.45*vg.Inch*vg.Length(len(names))), nil
}

// drawPercentiles draws latency by percentile, a line for each side of each result.
func drawPercentiles(p *plot.Plot, results []*result) error {
	p.Title.Text = "Latency from the time a request was due"
	p.X.Label.Text, p.Y.Label.Text = "percentile", "ms"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	shares := []float64{50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}
	var ticks []plot.Tick
	for _, q := range []float64{50, 90, 99, 99.9, 99.99} {
		ticks = append(ticks, plot.Tick{Value: nines(q), Label: fmt.Sprint(q)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	colours := []color.Color{blue, orange, green}
	for i, res := range results {
		for _, side := range []struct {
			name string
			of   func(p *pair) *figures
		}{{"bare", baselineOf}, {"server", candidateOf}} {
			h := latency(res.rounds, side.of)
			var points plotter.XYs
			for _, q := range shares {
				if v := at(h, q); v > 0 {
					points = append(points, plotter.XY{X: nines(q), Y: v})
				}
			}
			if err := addLine(p, res.name+", "+side.name, points, colours[i%len(colours)], side.name == "bare"); err != nil {
				return err
			}
		}
	}
	roomForLegend(p)
	return nil
}

// nines is where a percentile stands on an axis on which each nine is as wide as the
// one before.
func nines(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

// drawCurve draws latency by load, of both sides.
func drawCurve(p *plot.Plot, res *result) error {
	p.Title.Text = fmt.Sprintf("%s: latency by load; capacity %.0f requests/s", res.name, res.capacity)
	p.X.Label.Text, p.Y.Label.Text = "load, % of capacity", "ms"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	for i, q := range []float64{50, 99, 99.9} {
		for _, side := range []struct {
			name string
			of   func(p *pair) *figures
		}{{"bare", baselineOf}, {"server", candidateOf}} {
			var points plotter.XYs
			for j := range res.curve {
				st := &res.curve[j]
				if v := at(latency(st.rounds, side.of), q); v > 0 {
					points = append(points, plotter.XY{X: 100 * st.share, Y: v})
				}
			}
			colours := []color.Color{green, blue, orange}
			if err := addLine(p, fmt.Sprintf("p%g, %s", q, side.name), points, colours[i], side.name == "bare"); err != nil {
				return err
			}
		}
	}
	roomForLegend(p)
	return nil
}

func addLine(p *plot.Plot, name string, points plotter.XYs, c color.Color, dashed bool) error {
	if len(points) == 0 {
		return nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.5)
	if dashed {
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	p.Add(line)
	p.Legend.Add(name, line)
	p.Legend.Top, p.Legend.Left = true, true
	return nil
}

// roomForLegend leaves room above the lines of a logarithmic axis. Without a line
// there would be no bounds, which such an axis cannot do without.
func roomForLegend(p *plot.Plot) {
	if !(p.Y.Min > 0) || math.IsInf(p.Y.Min, 0) {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0.1, 1
	}
	p.Y.Max *= 1.5 * math.Pow(p.Y.Max/p.Y.Min, 0.45)
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
