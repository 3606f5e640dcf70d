package chart

import (
	"fmt"
	"strings"
)

// Colors is the number of colors available for lines and bars in a file. Color-blind readers can
// also distinguish them; the last one is gray.
const Colors = 6

// style defines the colors and fonts of a file.
const style = `<style>` +
	`text{font:12px sans-serif;fill:#333}.title{font-size:17px}` +
	`.rule{stroke:#e4e4e4}.bad{fill:#f6e3d9}` +
	`.line{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}.dashed{stroke-dasharray:6 4}` +
	`.s1{stroke:#0072b2}.s2{stroke:#d55e00}.s3{stroke:#009e73}.s4{stroke:#cc79a7}.s5{stroke:#56b4e9}.s6{stroke:#999}` +
	`.bar{stroke:none;fill:#0072b2}.bar.s2{fill:#d55e00}.bar.s3{fill:#009e73}.bar.s4{fill:#cc79a7}.bar.s5{fill:#56b4e9}.bar.s6{fill:#999}` +
	`</style>`

// The dimensions of the picture in a file. It grows with its labels and its legend.
const (
	fileLeft, fileTop, fileBottom = 90.0, 90.0, 70.0
	fileWidth, fileHeight         = 800.0, 440.0
	tickWidth                     = 45.0 // the minimum space for each tick of the x axis
	legendLine                    = 24.0
)

// File returns the chart as an SVG file, with a title, the names of its axes and a legend, and a
// remark if the chart is empty.
func (c *Chart) File() []byte {
	var labels, names []string
	for _, t := range c.X.Ticks {
		labels = append(labels, t.Text)
	}
	for i := range c.Bars {
		names = append(names, c.Bars[i].Name)
	}
	for i := range c.Lines {
		names = append(names, c.Lines[i].Name)
	}
	f := frame{
		left: fileLeft, top: fileTop,
		width: max(fileWidth, tickWidth*float64(len(labels))), height: max(fileHeight, legendLine*float64(len(names))),
	}
	below := fileBottom
	if room := widest(labels); len(labels) > 1 && room+10 > (c.X.share(c.X.Ticks[1].At)-c.X.share(c.X.Ticks[0].At))*f.width {
		f.slanted = true
		below += 0.71 * room
	}
	width, height := max(f.right()+80+widest(names), fileLeft+1.5*widest([]string{c.Title})), f.bottom()+below

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`, width, height, width, height)
	fmt.Fprintf(&b, `%s<rect width="100%%" height="100%%" fill="#fff"/>`, style)
	text(&b, "title", "start", f.left, 40, c.Title)
	text(&b, "name", "end", f.left-6, f.top-20, c.Y.Name)
	if c.X.Name != "" {
		text(&b, "name", "middle", f.left+f.width/2, height-20, c.X.Name)
	}
	c.plot(&b, &f)
	if len(names) == 0 {
		text(&b, "name", "start", f.left+40, f.top+60, "nothing was measured")
	}
	c.legend(&b, &f)
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// legend names the bars and lines next to the plot, so that it does not cover any.
func (c *Chart) legend(b *strings.Builder, f *frame) {
	x, y := f.right()+24, f.top+6
	for i := range c.Bars {
		rect(b, c.Bars[i].class(), x, y-6, 28, 12, "")
		text(b, "name", "start", x+36, y+4, c.Bars[i].Name)
		y += legendLine
	}
	for i := range c.Lines {
		fmt.Fprintf(b, `<path class="%s" d="M%.1f %.1fh28"/>`, c.Lines[i].class(i), x, y)
		text(b, "name", "start", x+36, y+4, c.Lines[i].Name)
		y += legendLine
	}
}
