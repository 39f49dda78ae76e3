"use strict";
// Several datasets: the ranking by one score at a time, and the table that sorts and filters.

rlassay.visibleNames = null; // names that pass the filter; null shows all

rlassay.drawRanking = function (spec, element) {
  const figure = rlassay.frame({ x_label: "value" }, { y_range: new Bokeh.FactorRange({ factors: [] }) });
  const values = new Bokeh.ColumnDataSource({ data: { name: [], value: [], low: [], high: [], text: [] } });
  const seeds = new Bokeh.ColumnDataSource({ data: { name: [], value: [] } });
  const bars = figure.segment({
    x0: { field: "low" }, x1: { field: "high" }, y0: { field: "name" }, y1: { field: "name" }, line_width: 6, line_alpha: 0.35, line_cap: "round", source: values,
  });
  const small = figure.scatter({ x: { field: "value" }, y: { field: "name" }, size: 5, line_color: null, fill_alpha: 0.6, source: seeds });
  const dots = figure.scatter({ x: { field: "value" }, y: { field: "name" }, size: 13, line_width: 2, source: values });
  rlassay.tooltip(figure, dots, [["", "@name"], ["value", "@value{0,0.[000]}"], ["interval", "@text"]]);

  const select = document.getElementById("ranking-score");
  const update = () => {
    const score = spec.scores[select.value];
    const rows = rlassay.rankedRows(spec, select.value);
    figure.y_range.factors = rows.map((row) => row.name).reverse();
    figure.height = 110 + 34 * Math.max(1, rows.length);
    figure.below[0].axis_label = `${select.value} (${score.unit}), ${score.direction} is better`;
    values.data = {
      name: rows.map((row) => row.name), value: rows.map((row) => row.value),
      low: rows.map((row) => (row.interval ?? [row.value])[0]), high: rows.map((row) => (row.interval ?? [row.value, row.value])[1]),
      text: rows.map((row) => row.text[1]),
    };
    seeds.data = { name: rows.flatMap((row) => row.seeds.map(() => row.name)), value: rows.flatMap((row) => row.seeds) };
    rlassay.setTicks(figure.below[0], [...values.data.low, ...values.data.high]);
    rlassay.writeRanking(spec, select.value, rows);
  };
  select.addEventListener("change", update);
  update();
  const colour = () => {
    bars.glyph.line_color = dots.glyph.fill_color = rlassay.color("data");
    dots.glyph.line_color = rlassay.color("surface");
    small.glyph.fill_color = rlassay.color("gold");
  };
  return { figure, colour, show: update };
};

/** Rows that pass the filter, best first. */
rlassay.rankedRows = function (spec, score) {
  const sign = spec.scores[score].direction === "higher" ? -1 : 1;
  return spec.scores[score].rows
    .map((row, place) => row && { ...row, name: spec.names[place] })
    .filter((row) => row && (!rlassay.visibleNames || rlassay.visibleNames.has(row.name)))
    .sort((one, other) => sign * (one.value - other.value));
};

/** The ranking in words: also what a screen reader gets instead of the canvas. */
rlassay.writeRanking = function (spec, score, rows) {
  const list = document.getElementById("ranking-list");
  const ranks = spec.ranks?.[score] ?? {};
  list.replaceChildren(
    ...rows.map((row, place) => {
      const item = document.createElement("li");
      const known = ranks[row.name];
      item.value = known?.rank ?? place + 1;
      const name = document.createElement("b");
      name.textContent = row.name;
      item.append(name, ` ${row.text[0]} (${row.interval ? row.text[1] : "no interval"})`);
      if (known?.tied?.length) {
        const tie = document.createElement("span");
        tie.className = "tie";
        tie.textContent = `tied with ${known.tied.join(", ")}`;
        item.append(" ", tie);
      }
      return item;
    }),
  );
};

/** Sort a table by a press on a heading: numbers by their value, absent ones last. */
rlassay.startSorting = function (table) {
  for (const button of table.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const heading = button.closest("th");
      const column = [...heading.parentNode.children].indexOf(heading);
      const rising = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort((one, other) => rlassay.compareCells(one.cells[column], other.cells[column], rising)));
    });
  }
};

rlassay.compareCells = function (one, other, rising) {
  const [a, b] = [one.dataset.value ?? "", other.dataset.value ?? ""];
  if (a === "" || b === "") return (a === "") - (b === "");
  const difference = Number(a) - Number(b);
  return (rising ? 1 : -1) * (Number.isNaN(difference) ? a.localeCompare(b, "en", { numeric: true }) : difference);
};

/** Keep the rows that contain every typed word; the charts of several datasets follow. */
rlassay.startFiltering = function (input, table) {
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
      const text = row.cells[0].textContent.toLowerCase() + " " + (row.dataset.words ?? "").toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    }
    const shown = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    rlassay.visibleNames = wanted.length ? new Set(shown.map((row) => row.dataset.name)) : null;
    document.getElementById("filter-count").textContent = `${shown.length} of ${table.tBodies[0].rows.length} datasets`;
    for (const element of document.querySelectorAll("#several [data-chart]")) {
      rlassay.figures.get(element)?.show?.((name) => !rlassay.visibleNames || rlassay.visibleNames.has(name));
    }
  });
};
