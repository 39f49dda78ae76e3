"use strict";
// Charts: each kind is a function (spec, element) -> Bokeh figure, drawn once and repainted with the theme.

rlassay.figures = new Map(); // element -> {figure, colour(), show(visible)?}

rlassay.frame = function (spec, options = {}) {
  const figure = Bokeh.Plotting.figure({
    height: 300,
    sizing_mode: "stretch_width",
    tools: [],
    toolbar_location: null,
    x_axis_label: spec.x_label ?? null,
    y_axis_label: spec.y_label ?? null,
    background_fill_color: null,
    border_fill_color: null,
    outline_line_color: null,
    min_border_right: 14,
    ...options,
  });
  for (const axis of [...figure.below, ...figure.left]) {
    axis.axis_label_text_font_style = "normal";
    axis.axis_label_text_font_size = "12.5px";
    axis.major_label_text_font_size = "12px";
    axis.axis_label_standoff = 8;
    axis.minor_tick_line_color = null;
    axis.major_tick_line_color = null;
    axis.axis_line_color = null;
    for (const kind of ["axis_label_text_font", "major_label_text_font"]) axis[kind] = rlassay.font;
  }
  rlassay.setTicks(figure.below[0], spec.x_values ?? spec.edges ?? spec.bounds ?? spec.x);
  rlassay.setTicks(figure.left[0], spec.y_values ?? spec.y_range ?? spec.bounds);
  figure.toolbar.logo = null;
  return figure;
};

/** Labels with as many decimals as the range needs, and few enough of them that they never meet. */
rlassay.setTicks = function (axis, values) {
  if (!(axis instanceof Bokeh.LinearAxis)) return;
  let [low, high] = [0, 100];
  if (Array.isArray(values) && values.length) [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const size = Math.max(Math.abs(low), Math.abs(high), high - low) || 1;
  const decimals = Math.min(8, Math.max(0, 1 - Math.floor(Math.log10((high - low) / 4 || size))));
  const plain = decimals ? `0,0.[${"0".repeat(decimals)}]` : "0,0";
  axis.formatter = new Bokeh.NumeralTickFormatter({ format: size >= 1e6 ? "0.[00]a" : plain });
  const longest = size >= 1e6 ? 7 : Math.ceil(Math.log10(size + 1)) * 1.35 + decimals + 2;
  const room = Math.min(560, document.documentElement.clientWidth - 120);
  axis.ticker = new Bokeh.BasicTicker({ desired_num_ticks: Math.max(2, Math.min(6, Math.floor(room / (longest * 10)))), num_minor_ticks: 0 });
};

/** Colours of axes and grid from the page's theme; several figures may stand below each other. */
rlassay.paintFrame = function (figure) {
  if (figure instanceof Bokeh.Column) return figure.children.forEach(rlassay.paintFrame);
  for (const axis of [...figure.below, ...figure.left]) {
    axis.axis_label_text_color = rlassay.color("muted");
    axis.major_label_text_color = rlassay.color("muted");
  }
  for (const grid of figure.center) {
    if (grid instanceof Bokeh.Grid) grid.grid_line_color = grid.dimension === 0 ? null : rlassay.color("line");
  }
};

rlassay.tooltip = (figure, renderer, tooltips) =>
  figure.add_tools(new Bokeh.HoverTool({ renderers: [renderer], tooltips, toggleable: false }));

rlassay.kinds = {
  histogram(spec) {
    const figure = rlassay.frame(spec);
    const left = spec.edges.slice(0, -1);
    const right = spec.edges.slice(1);
    const source = new Bokeh.ColumnDataSource({ data: { left, right, top: spec.counts, color: left.map(() => "grey") } });
    const bars = figure.quad({
      left: { field: "left" }, right: { field: "right" }, top: { field: "top" }, bottom: 0,
      fill_color: { field: "color" }, line_color: null, source,
    });
    const mark = new Bokeh.Span({ location: spec.threshold, dimension: "height", line_width: 2, line_dash: [5, 4] });
    figure.add_layout(mark);
    figure.y_range.start = 0;
    rlassay.tooltip(figure, bars, [["return", "@left{0,0.[00]} to @right{0,0.[00]}"], ["episodes", "@top{0,0}"]]);
    const colour = () => {
      const [plain, gold] = [rlassay.color("data"), rlassay.color("gold")];
      source.data = { ...source.data, color: right.map((edge) => (edge > spec.threshold ? gold : plain)) };
      mark.line_color = gold;
      bars.glyph.line_color = rlassay.color("surface");
    };
    return { figure, colour };
  },

  distributions(spec, element) {
    const figure = rlassay.frame(spec);
    const pair = spec.series.length <= 2 && spec.series[0].name === "data";
    const names = pair ? ["data", "random"] : null;
    const left = spec.edges.slice(0, -1);
    const right = spec.edges.slice(1);
    const layers = spec.series.map((series) => {
      const source = new Bokeh.ColumnDataSource({ data: { left, right, top: series.shares, share: series.shares, name: left.map(() => series.name) } });
      const corners = [rlassay.stairs(spec.edges, series.shares, true), rlassay.stairs(spec.edges, series.shares, false)];
      const area = figure.patch(...corners, { fill_alpha: pair ? 0.28 : 0.16, line_color: null });
      const outline = figure.line(...corners, { line_width: 2 });
      const bins = figure.quad({
        left: { field: "left" }, right: { field: "right" }, top: { field: "top" }, bottom: 0, fill_alpha: 0, line_color: null, source,
      }); // unseen: they only answer the pointer
      rlassay.tooltip(figure, bins, [["", "@name"], ["bin", "@left{0,0.[00]} to @right{0,0.[00]}"], ["share", "@share{0.[0]} %"]]);
      return { area, outline, bins };
    });
    figure.y_range.start = 0;
    const colour = () => {
      layers.forEach(({ area, outline }, place) => {
        const tone = names ? rlassay.color(names[place]) : rlassay.seriesColor(place);
        area.glyph.fill_color = tone;
        outline.glyph.line_color = tone;
      });
    };
    const show = (visible) => layers.forEach((layer, place) => {
      layer.area.visible = layer.outline.visible = layer.bins.visible = visible(spec.series[place].name);
    });
    rlassay.legend(element, spec.series.map((series, place) => [series.name, names ? names[place] : `series-${(place % 8) + 1}`]));
    return { figure, colour, show };
  },

  calibration(spec) {
    const figure = rlassay.frame(spec);
    const source = new Bokeh.ColumnDataSource({ data: { x: rlassay.unpack(spec.x), y: rlassay.unpack(spec.y) } });
    const line = figure.line(spec.bounds, spec.bounds, { line_width: 2, line_dash: [6, 4] });
    const dots = figure.scatter({ x: { field: "x" }, y: { field: "y" }, size: 5, line_color: null, fill_alpha: 0.4, source });
    rlassay.tooltip(figure, dots, [["Monte Carlo", "@x{0,0.[00]}"], ["predicted", "@y{0,0.[00]}"]]);
    const colour = () => {
      dots.glyph.fill_color = rlassay.color("data");
      line.glyph.line_color = rlassay.color("gold");
    };
    return { figure, colour };
  },

  line(spec) {
    const figure = rlassay.frame(spec, { height: 260, y_range: new Bokeh.Range1d({ start: spec.y_range[0], end: spec.y_range[1] }) });
    const curve = figure.line(spec.x, spec.y, { line_width: 2.5 });
    rlassay.tooltip(figure, curve, [["step", "@x{0,0}"], [spec.y_label, "@y{0,0.[000]}"]]);
    return { figure, colour: () => { curve.glyph.line_color = rlassay.color("data"); } };
  },

  history(spec) {
    const figure = rlassay.frame({ ...spec, y_values: [...spec.low, ...spec.high] }, { height: 230 });
    const { x, y, low, high, names } = spec;
    const source = new Bokeh.ColumnDataSource({ data: { x, y, low, high, names } });
    const bars = figure.segment({ x0: { field: "x" }, x1: { field: "x" }, y0: { field: "low" }, y1: { field: "high" }, line_width: 6, line_alpha: 0.3, line_cap: "round", source });
    const curve = figure.line({ field: "x" }, { field: "y" }, { line_width: 2, source });
    const dots = figure.scatter({ x: { field: "x" }, y: { field: "y" }, size: 9, line_color: null, source });
    figure.below[0].ticker = new Bokeh.BasicTicker({ mantissas: [1, 2, 5], min_interval: 1, num_minor_ticks: 0 });
    figure.below[0].formatter = new Bokeh.NumeralTickFormatter({ format: "0,0" });
    rlassay.tooltip(figure, dots, [["", "@names"], ["value", "@y{0,0.[000]}"], ["interval", "@low{0,0.[000]} to @high{0,0.[000]}"]]);
    const colour = () => { for (const part of [bars, curve]) part.glyph.line_color = rlassay.color("data"); dots.glyph.fill_color = rlassay.color("data"); };
    return { figure, colour };
  },

  ranking(spec, element) {
    return rlassay.drawRanking(spec, element);
  },

  episodes(spec, element) {
    return rlassay.drawExplorer(spec, element);
  },

  timeline(spec, element) {
    return rlassay.drawTimeline(spec, element);
  },

  learning(spec) {
    return rlassay.drawLearning(spec);
  },
};

/** Corners of a step line over histogram bins: x where `horizontal`, else y. */
rlassay.stairs = function (edges, heights, horizontal) {
  const corners = horizontal ? [edges[0]] : [0];
  heights.forEach((height, i) => corners.push(...(horizontal ? [edges[i], edges[i + 1]] : [height, height])));
  corners.push(horizontal ? edges[edges.length - 1] : 0);
  return corners;
};

/** A legend as text beside the chart, so that it can be read, selected and printed. */
rlassay.legend = function (element, entries) {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const [name, tone] of entries) {
    const item = document.createElement("li");
    const swatch = document.createElement("i");
    swatch.style.background = `var(--${tone})`;
    item.append(swatch, name);
    list.append(item);
  }
  element.before(list);
};

rlassay.draw = async function (element) {
  if (rlassay.figures.has(element)) return;
  const spec = rlassay.data.charts[element.dataset.chart];
  const drawn = rlassay.kinds[spec.kind](spec, element);
  rlassay.figures.set(element, drawn);
  rlassay.paintFrame(drawn.figure);
  drawn.colour();
  drawn.view = await Bokeh.Plotting.show(drawn.figure, element);
  element.dataset.drawn = "yes";
};

rlassay.repaint = function () {
  for (const drawn of rlassay.figures.values()) {
    rlassay.paintFrame(drawn.figure);
    drawn.colour();
  }
};

/** Draw what is on view; charts in a closed dataset wait until it is opened. */
rlassay.drawVisible = async function (root = document) {
  for (const element of root.querySelectorAll("[data-chart]")) {
    if (element.closest("details:not([open])")) continue;
    await rlassay.draw(element);
    await new Promise((resume) => setTimeout(resume)); // let the page answer between charts
  }
};
