// A line chart of the last minutes, as SVG, with the runs in them. The newest values are in its legend,
// and those under the pointer beside it.
import { element, setText, moment } from "./format.js";
import { reading } from "./reading.js";

// shortest is the minimum number of seconds that a chart shows, however few samples there are. gap
// is the number of seconds without a sample after which a line is interrupted.
const shortest = 60;
const gap = 5;

// Chart shows lines {title, read}: read returns the value of a sample. The function write formats
// values, and about is a sentence that says what they are.
export class Chart {
  constructor(place, { title, about, lines, write }) {
    Object.assign(this, { title, lines, write, points: [] });
    this.svg = shape("svg", { class: "chart", role: "img", tabindex: "0", "aria-label": title, "data-plot": "0 1 0 1" });
    this.now = lines.map(() => element("span", { class: "value" }));
    const legend = element("ul", { class: "legend" }, ...lines.map((line, i) => element("li", {}, swatch(i), line.title + " ", this.now[i])));
    place.append(element("figure", { title: about }, element("figcaption", {}, title), legend, this.svg));
    this.again = reading(this.svg, () => this.points);
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // show draws samples, which are {time, …}, the oldest first, and runs {name, begin, end}.
  show(samples, runs) {
    Object.assign(this, { samples, runs });
    this.draw();
  }

  draw() {
    const samples = this.samples ?? [];
    const times = samples.map((s) => Date.parse(s.time) / 1000);
    const values = this.lines.map((line) => samples.map(line.read));
    const most = Math.max(0, ...values.flat().filter(Number.isFinite));
    const end = times.at(-1) ?? 0;
    const length = Math.max(shortest, end - times[0] || 0);
    const place = (time) => 1 - (end - time) / length;
    const texts = values.map((list) => list.map((v) => this.write(v)));
    this.lines.forEach((_, i) => setText(this.now[i], this.write(values[i].at(-1))));
    this.svg.setAttribute("aria-label", this.title + ": " + this.lines.map((line, i) => line.title + " " + this.write(values[i].at(-1))).join(", ") +
      "; at most " + this.write(most) + ". The arrow keys read its values.");
    this.points = times.map((time, i) => ({
      at: place(time), text: [moment(time * 1000), ...this.lines.map((line, j) => line.title + ": " + texts[j][i])].join("\n"),
    }));
    this.paint(values, most, { places: times.map(place), far: gap / length, place, from: samples.length > 0 ? moment((end - length) * 1000) : "", to: samples.length > 0 ? moment(end * 1000) : "" });
    this.again();
  }

  // paint draws the runs, the axes and the lines. The vertical axis goes from 0 to the next round number.
  paint(values, most, { places, far, place, from, to }) {
    const { width, height } = this.svg.getBoundingClientRect();
    if (width === 0 || height === 0) return;
    const size = parseFloat(getComputedStyle(this.svg).fontSize);
    const step = roundStep(height < 9 * size ? most : most / 2); // few marks on a low chart
    const top = step * Math.max(1, Math.ceil(most / step - 1e-9));
    const marks = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step);
    const texts = marks.map((mark) => (most > 0 || mark === 0 ? this.write(mark) : ""));
    const plot = [Math.max(...texts.map((text) => text.length)) * size * 0.58 + size / 2, width - 1, size * 1.3, height - size * 1.6];
    const [left, right, upper, lower] = plot;
    const x = (share) => left + share * (right - left);
    const y = (value) => lower - (lower - upper) * value / top;
    const runs = (this.runs ?? []).map((run) => ({ name: run.name, from: x(place(Date.parse(run.begin) / 1000)), to: run.end ? x(place(Date.parse(run.end) / 1000)) : right }));
    const shapes = runs.flatMap((run) => marked(run, Math.min(right, ...runs.map((other) => other.from).filter((from) => from > run.from)), plot, size));
    if (!values.flat().some(Number.isFinite)) shapes.push(label("nothing measured yet", (left + right) / 2, (upper + lower) / 2, "middle"));
    marks.forEach((mark, i) => shapes.push(
      shape("line", { class: "rule", x1: left, x2: right, y1: y(mark), y2: y(mark) }),
      label(texts[i], left - size / 2, y(mark) + size / 3, "end")));
    shapes.push(label(from, left, height - size / 4, "start"), label(to, right, height - size / 4, "end"));
    values.forEach((list, i) => {
      const points = list.map((v, at) => (Number.isFinite(v) ? [x(places[at]), y(v)] : undefined));
      const path = pieces(points, far * (right - left)).map(([first, ...rest]) => "M" + first + "h0.1" + rest.map((p) => "L" + p).join("")).join("");
      shapes.push(shape("path", { class: "line s" + (i + 1), d: path }));
    });
    this.svg.setAttribute("viewBox", [0, 0, width, height].join(" "));
    this.svg.dataset.plot = plot.join(" ");
    this.svg.replaceChildren(...shapes);
  }
}

// shape makes an element of SVG.
function shape(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const label = (text, x, y, anchor) => shape("text", { class: "tick", x, y, "text-anchor": anchor }, text);

const swatch = (i) => shape("svg", { class: "swatch", viewBox: "0 0 36 14", "aria-hidden": "true" }, shape("path", { class: "line s" + (i + 1), d: "M2 7H34" }));

// marked returns the shapes that mark a run {name, from, to}: its time, and as much of its name as fits
// before the next run.
function marked(run, next, [left, right, , lower], size) {
  const from = Math.max(run.from, left);
  const to = Math.min(run.to, right);
  if (to <= from) return [];
  const fits = Math.floor((next - from) / (size * 0.62));
  const name = run.name.length <= fits ? run.name : fits > 4 ? run.name.slice(0, fits - 1) + "…" : "";
  return [
    shape("rect", { class: "run", x: from, y: 0, width: Math.max(to - from, 1), height: lower }, shape("title", {}, "run " + run.name)),
    label(name, from + size / 3, size, "start"),
  ];
}

// roundStep returns the largest number that is not above most and is 1, 2 or 5 times a power of
// ten.
function roundStep(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * (most / power >= 5 ? 5 : most / power >= 2 ? 2 : 1);
}

// pieces splits the points at the gaps, where a value or samples are missing.
function pieces(points, far) {
  const all = [[]];
  for (const point of points) {
    if (all.at(-1).length > 0 && (!point || point[0] - all.at(-1).at(-1)[0] > far)) all.push([]);
    if (point) all.at(-1).push(point);
  }
  return all.filter((piece) => piece.length > 0);
}
