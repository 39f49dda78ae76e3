"use strict";
// Demonstrations: one episode over time, chosen by a box or a button, and the learning curve.

const BANDS = [["idle", "random"], ["stalled", "bad"], ["saturated", "gold"]]; // name and colour
const STRETCHES = ["idle", "stalled", "saturation"];

rlassay.drawTimeline = function (spec, element) {
  return new rlassay.Timeline(spec, element);
};

rlassay.Timeline = class {
  constructor(spec, element) {
    this.spec = spec;
    const root = (this.root = element.closest(".timeline"));
    this.select = root.querySelector("[data-part='episode']");
    this.select.value = String(spec.first); // a browser may remember another choice
    this.panels = ["states", "actions", "disagreement"].map((kind) => this.panel(kind));
    this.panels.forEach(({ figure }) => (figure.x_range = this.panels[0].figure.x_range));
    this.figure = new Bokeh.Column({ children: this.panels.map(({ figure }) => figure), sizing_mode: "stretch_width" });
    this.select.addEventListener("change", () => this.show(Number(this.select.value)));
    for (const button of root.closest(".movement").querySelectorAll("[data-episode]")) {
      button.addEventListener("click", () => this.open(button));
    }
    rlassay.legend(element, [...this.lineNames(), ...BANDS]);
    this.show(spec.first);
  }

  lineNames() {
    return ["states", "actions"].flatMap((kind) => this.spec.names[kind].map((name, place) => [`${kind}, ${name}`, `series-${place + 1}`]));
  }

  panel(kind) {
    const last = kind === "disagreement";
    const names = last ? ["disagreement"] : this.spec.names[kind];
    const figure = rlassay.frame({ x_label: last ? this.spec.x_label : null, y_label: kind }, {
      height: last ? 190 : 170, min_border_left: 64, y_range: new Bokeh.DataRange1d(last ? { start: 0 } : {}),
    });
    const source = new Bokeh.ColumnDataSource({ data: Object.fromEntries([["frame", []], ...names.map((_, place) => [`line${place}`, []])]) });
    const lines = names.map((name, place) => {
      const line = figure.line({ field: "frame" }, { field: `line${place}` }, { line_width: 1.6, source });
      rlassay.tooltip(figure, line, [["frame", "@frame{0,0}"], [name, `@line${place}{0.[000]}`]]);
      return line;
    });
    const stretches = STRETCHES.map((name) => {
      const data = new Bokeh.ColumnDataSource({ data: { left: [], right: [] } });
      const quads = figure.quad({ left: { field: "left" }, right: { field: "right" }, top: 1e9, bottom: -1e9, line_color: null, fill_alpha: 0.16, source: data, level: "underlay" });
      return { name, data, quads };
    });
    figure.y_range.renderers = lines; // the bands reach beyond
    return { kind, names, figure, source, lines, stretches };
  }

  open(button) {
    this.select.value = button.dataset.episode;
    this.show(Number(button.dataset.episode));
    this.root.scrollIntoView({ block: "nearest" });
  }

  show(number) {
    const one = this.spec.episodes.find(({ episode }) => episode === number);
    const frame = rlassay.unpack(one.frames);
    const parts = [one.states, one.actions, [one.disagreement]].map((lines) => lines.map(rlassay.unpack));
    this.panels.forEach((panel, place) => {
      const named = parts[place].map((values, line) => [`line${line}`, values]);
      panel.source.data = Object.fromEntries([["frame", frame], ...named]);
      rlassay.setTicks(panel.figure.left[0], parts[place].flat().filter(Number.isFinite));
      for (const { name, data } of panel.stretches) {
        data.data = { left: one[name].map(([first]) => first - 0.5), right: one[name].map(([, last]) => last + 0.5) };
      }
    });
    rlassay.setTicks(this.panels[2].figure.below[0], frame);
    const told = STRETCHES.map((name, place) => [one[name].length, BANDS[place][0]]).filter(([count]) => count);
    const bands = told.map(([count, name]) => `; ${name} ${count === 1 ? "once" : `${count} times`}`).join("");
    this.root.querySelector("[data-part='told']").textContent = `Episode ${number}: ${one.length.toLocaleString("en-US")} frames${bands}`;
  }

  colour() {
    for (const { lines, stretches } of this.panels) {
      lines.forEach((line, place) => (line.glyph.line_color = lines.length > 1 ? rlassay.seriesColor(place) : rlassay.color("data")));
      stretches.forEach(({ quads }, place) => (quads.glyph.fill_color = rlassay.color(BANDS[place][1])));
    }
  }
};

rlassay.drawLearning = function (spec) {
  const figure = rlassay.frame({ ...spec, x_values: spec.x, y_values: [0, ...spec.high] }, { height: 280 });
  const { x, y, low, high } = spec;
  const source = new Bokeh.ColumnDataSource({ data: { x, y, low, high } });
  const bars = figure.segment({ x0: { field: "x" }, x1: { field: "x" }, y0: { field: "low" }, y1: { field: "high" }, line_width: 6, line_alpha: 0.3, line_cap: "round", source });
  const curve = figure.line(x.slice(0, -1), y.slice(0, -1), { line_width: 2.5 });
  const ahead = figure.line(x.slice(-2), y.slice(-2), { line_width: 2.5, line_dash: [6, 4] });
  const dots = figure.scatter({ x: { field: "x" }, y: { field: "y" }, size: 8, line_color: null, source });
  figure.y_range.start = 0;
  rlassay.tooltip(figure, dots, [["episodes", "@x{0,0}"], ["error", "@y{0.[0000]}"], ["span", "@low{0.[0000]} to @high{0.[0000]}"]]);
  const colour = () => {
    for (const part of [bars, curve]) part.glyph.line_color = rlassay.color("data");
    ahead.glyph.line_color = rlassay.color("gold");
    dots.glyph.fill_color = rlassay.color("data");
  };
  return { figure, colour };
};
