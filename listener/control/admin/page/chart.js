// A line chart of the last minutes, on a canvas. The newest values are shown next to the canvas as
// text. The label of the canvas contains them for screen readers.
import { element, setText, moment } from "./format.js";

// shortest is the minimum number of seconds that a chart shows, however few samples there are. gap
// is the number of seconds without a sample after which a line is interrupted.
const shortest = 60;
const gap = 5;

// Chart shows lines {title, read, colour}: read returns the value of a sample, and colour is a
// class in the style sheet. The function write formats values.
export class Chart {
  constructor(place, { title, lines, write }) {
    Object.assign(this, { title, lines, write });
    this.top = element("span", {});
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    this.from = element("span", {});
    this.to = element("span", {});
    this.now = lines.map(() => element("span", { class: "value" }));
    this.swatches = lines.map((line) => element("span", { class: "swatch " + line.colour, "aria-hidden": "true" }));
    const legend = element("ul", { class: "legend" }, ...lines.map((line, i) =>
      element("li", {}, this.swatches[i], line.title + " ", this.now[i])));
    place.append(element("figure", { class: "chart" },
      element("figcaption", {}, element("span", {}, title), legend),
      this.canvas,
      element("div", { class: "axis", "aria-hidden": "true" }, this.from, this.top, this.to)));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // show draws samples, which are {time, …}, the oldest first.
  show(samples) {
    this.samples = samples;
    this.draw();
  }

  draw() {
    const samples = this.samples ?? [];
    const times = samples.map((s) => Date.parse(s.time) / 1000);
    const values = this.lines.map((line) => samples.map(line.read));
    const most = Math.max(0, ...values.flat().filter(Number.isFinite));
    const last = values.map((list) => list.at(-1));
    const end = times.at(-1);
    const length = Math.max(shortest, end - times[0]);
    this.lines.forEach((line, i) => setText(this.now[i], this.write(last[i])));
    setText(this.top, most > 0 ? "at most " + this.write(most) : "");
    setText(this.from, samples.length > 0 ? moment((end - length) * 1000) : "");
    setText(this.to, samples.length > 0 ? moment(end * 1000) : "");
    this.canvas.setAttribute("aria-label", this.title + ": " +
      this.lines.map((line, i) => line.title + " " + this.write(last[i])).join(", ") + "; at most " + this.write(most));
    this.paint(values, most, times.map((t) => 1 - (end - t) / length), gap / length);
  }

  // paint draws the values and the axis, whose marks go from 0 to the next round number. places are
  // the positions of the values, and far is the length of a gap, all as fractions of the width.
  paint(values, most, places, far) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    const { pen, size } = this.pen(width, height);
    const step = roundStep(most / 2);
    const top = step * Math.max(1, Math.ceil(most / step - 1e-9));
    const marks = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step);
    const texts = marks.map((mark) => (most > 0 || mark === 0 ? this.write(mark) : ""));
    const left = Math.max(...texts.map((text) => pen.measureText(text).width)) + size / 2;
    const y = (value) => size / 2 + (height - size) * (1 - value / top);
    marks.forEach((mark, i) => {
      pen.fillText(texts[i], left - size / 2, y(mark));
      stroke(pen, [[left, y(mark)], [width, y(mark)]]);
    });
    pen.lineWidth = size / 6;
    pen.lineJoin = "round";
    values.forEach((list, i) => {
      pen.strokeStyle = getComputedStyle(this.swatches[i]).backgroundColor;
      pen.setLineDash(i % 2 === 1 ? [size / 2, size / 4] : []);
      const points = list.map((v, x) => (Number.isFinite(v) ? [left + places[x] * (width - left), y(v)] : undefined));
      for (const run of runs(points, far * (width - left))) stroke(pen, run);
    });
  }

  // pen clears the canvas, and returns a drawing context that is prepared for the axis, and the
  // font size.
  pen(width, height) {
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    const letters = getComputedStyle(this.from);
    pen.font = letters.fontSize + " " + letters.fontFamily;
    pen.fillStyle = letters.color;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.strokeStyle = getComputedStyle(this.canvas).borderBottomColor;
    return { pen, size: parseFloat(letters.fontSize) };
  }
}

// roundStep returns the largest number that is not above most and is 1, 2 or 5 times a power of
// ten.
function roundStep(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * (most / power >= 5 ? 5 : most / power >= 2 ? 2 : 1);
}

// runs splits the points at the gaps, where a value or samples are missing.
function runs(points, far) {
  const all = [[]];
  for (const point of points) {
    if (all.at(-1).length > 0 && (!point || point[0] - all.at(-1).at(-1)[0] > far)) all.push([]);
    if (point) all.at(-1).push(point);
  }
  return all.filter((run) => run.length > 0);
}

function stroke(pen, points) {
  pen.beginPath();
  pen.moveTo(...points[0]);
  for (const point of points.slice(1)) pen.lineTo(...point);
  if (points.length === 1) pen.lineTo(points[0][0] + 3, points[0][1]); // shows a single point
  pen.stroke();
}
