// Lines over the last minutes, on a canvas. The newest values stand beside it as text,
// and its label says the same for those who do not see it.
import { element, setText, moment } from "./format.js";

// Chart shows lines {title, read, colour}: read takes the value of a sample, colour
// is a class of the style sheet. Values are written by write.
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
    const values = this.lines.map((line) => samples.map(line.read));
    const most = Math.max(0, ...values.flat().filter(Number.isFinite));
    const last = values.map((list) => list.at(-1));
    this.lines.forEach((line, i) => setText(this.now[i], this.write(last[i])));
    setText(this.top, most > 0 ? "at most " + this.write(most) : "");
    setText(this.from, samples.length > 0 ? moment(samples[0].time) : "");
    setText(this.to, samples.length > 0 ? moment(samples.at(-1).time) : "");
    this.canvas.setAttribute("aria-label", this.title + ": " +
      this.lines.map((line, i) => line.title + " " + this.write(last[i])).join(", ") + "; at most " + this.write(most));
    this.paint(values, most);
  }

  paint(values, most) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.strokeStyle = getComputedStyle(this.canvas).borderBottomColor;
    for (const part of [0.25, 0.5, 0.75]) stroke(pen, [[0, height * part], [width, height * part]]);
    pen.lineWidth = 2;
    pen.lineJoin = "round";
    values.forEach((list, i) => {
      pen.strokeStyle = getComputedStyle(this.swatches[i]).backgroundColor;
      pen.setLineDash(i % 2 === 1 ? [5, 3] : []);
      const step = list.length > 1 ? width / (list.length - 1) : 0;
      const points = list.map((v, x) => (Number.isFinite(v) ? [x * step, 2 + (height - 4) * (1 - v / (most || 1))] : undefined));
      for (const run of runs(points)) stroke(pen, run);
    });
  }
}

// runs are the points between the gaps.
function runs(points) {
  const all = [[]];
  for (const point of points) {
    if (point) all.at(-1).push(point);
    else if (all.at(-1).length > 0) all.push([]);
  }
  return all.filter((run) => run.length > 0);
}

function stroke(pen, points) {
  pen.beginPath();
  pen.moveTo(...points[0]);
  for (const point of points.slice(1)) pen.lineTo(...point);
  if (points.length === 1) pen.lineTo(points[0][0] + 3, points[0][1]); // one alone is seen too
  pen.stroke();
}
