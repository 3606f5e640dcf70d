// Shows the values of a chart where the pointer is, or where the arrow keys move, and what the columns of
// a report mean. Reports contain this script, and the admin page loads it.

// reading makes an SVG chart readable. points returns {at, text} for each value, in order: at is its
// place as a share of the width of the plot, and text has a line for each curve. The function that is
// returned updates the values after the chart was drawn anew.
export function reading(svg, points) {
  const rule = document.createElementNS(svg.namespaceURI, "line");
  const output = document.createElement("output");
  let share; // where the values are read; undefined for nowhere
  rule.setAttribute("class", "cursor");
  svg.after(output);
  const show = () => {
    const all = share === undefined ? [] : points();
    if (all.length === 0) {
      rule.remove();
      output.textContent = "";
      return;
    }
    const { at, text } = all[nearest(all, share)];
    const [left, right, top, bottom] = plot(svg);
    const x = left + at * (right - left);
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: top, y2: bottom })) rule.setAttribute(name, value);
    svg.append(rule);
    output.textContent = text;
    output.style.left = (100 * x) / svg.viewBox.baseVal.width + "%";
    output.style.translate = -100 * at + "%";
  };
  const read = (place) => {
    share = place;
    show();
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const [left, right] = plot(svg);
    read(((event.clientX - box.left) / box.width * svg.viewBox.baseVal.width - left) / (right - left));
  });
  svg.addEventListener("pointerleave", () => read(undefined));
  svg.addEventListener("blur", () => read(undefined));
  svg.addEventListener("keydown", (event) => {
    const all = points();
    const now = share === undefined ? all.length : nearest(all, share);
    const next = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: all.length - 1, Escape: -1 }[event.key];
    if (next === undefined || all.length === 0) return;
    event.preventDefault();
    read(event.key === "Escape" ? undefined : all[Math.min(Math.max(next, 0), all.length - 1)].at);
  });
  return show;
}

// plot returns the edges of the plot in a chart: left, right, top, bottom.
const plot = (svg) => svg.dataset.plot.split(" ").map(Number);

const nearest = (all, share) => all.reduce((best, point, i) => (Math.abs(point.at - share) < Math.abs(all[best].at - share) ? i : best), 0);

// The values of a report's chart are in the table below it.
for (const figure of document.querySelectorAll("figure:has(tr[data-at])")) {
  const names = [...figure.querySelectorAll("thead th")].map((cell) => cell.textContent);
  const points = [...figure.querySelectorAll("tr[data-at]")].map((row) => ({
    at: Number(row.dataset.at),
    text: [...row.cells].map((cell, i) => (i > 0 ? names[i] + ": " : "") + cell.textContent).join("\n"),
  }));
  reading(figure.querySelector("svg.chart"), () => points);
}

// The legends of a report explain its columns and tiles; the same is shown at the pointer.
const meanings = new Map([...document.querySelectorAll(".meanings dt")].map((name) => [name.textContent, name.nextElementSibling.textContent]));
for (const cell of document.querySelectorAll("thead th, .figures dt")) {
  const about = meanings.get(cell.textContent);
  if (about && !cell.title) (cell.closest(".figures div") ?? cell).title = about;
}
