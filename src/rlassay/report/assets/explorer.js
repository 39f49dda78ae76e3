"use strict";
// The episode explorer: brush or type ranges, read what they hold, take the selection along.

rlassay.drawExplorer = function (spec, element) {
  return new rlassay.Explorer(spec, element.closest(".explorer"));
};

rlassay.Explorer = class {
  constructor(spec, root) {
    this.spec = spec;
    this.root = root;
    this.columns = Object.fromEntries(Object.entries(spec.columns).map(([name, column]) => [name, rlassay.unpack(column)]));
    this.fields = Object.fromEntries([...root.querySelectorAll("[data-bound]")].map((input) => [input.dataset.bound, input]));
    this.select = this.part("score");
    this.score = this.select.value;
    this.order = { column: "return", rising: false };
    this.buildFigure();
    this.listen();
    this.changeScore();
  }

  part(name) {
    return this.root.querySelector(`[data-part="${name}"]`);
  }

  buildFigure() {
    this.figure = rlassay.frame({ x_label: "return of the episode (sum of rewards)", y_label: this.score, x_values: this.columns.return }, { height: 400, toolbar_location: "above" });
    const rows = this.columns.return.length;
    const names = ["index", "start", "length", "return"].filter((name) => this.columns[name]);
    const data = Object.fromEntries(names.map((name) => [name, this.columns[name]]));
    this.source = new Bokeh.ColumnDataSource({ data: { ...data, score: Array(rows).fill(0), color: Array(rows).fill("grey"), alpha: Array(rows).fill(0.6) } });
    this.dots = this.figure.scatter({
      x: { field: "return" }, y: { field: "score" }, size: rows > 1500 ? 5 : 8,
      fill_color: { field: "color" }, fill_alpha: { field: "alpha" }, line_color: null, source: this.source,
    });
    this.box = new Bokeh.BoxAnnotation({ visible: false, fill_alpha: 0.08, line_dash: [4, 3], line_width: 1.5, level: "underlay" });
    this.figure.add_layout(this.box);
    for (const range of [this.figure.x_range, this.figure.y_range]) range.renderers = [this.dots]; // not the box
    this.addTools(names);
  }

  addTools(names) {
    const brush = new Bokeh.BoxSelectTool({ renderers: [], description: "Brush episodes" });
    const tools = [brush, new Bokeh.PanTool(), new Bokeh.WheelZoomTool(), new Bokeh.ResetTool()];
    this.figure.add_tools(...tools);
    this.figure.toolbar.active_drag = matchMedia("(pointer: coarse)").matches ? null : brush; // a finger scrolls the page
    this.figure.toolbar.active_scroll = null;
    const shown = names.map((name) => [name === "index" ? "episode" : name, `@${name}{0,0.[00]}`]);
    rlassay.tooltip(this.figure, this.dots, [...shown, ["score", "@score{0,0.[0000]}"]]);
    this.figure.on_event("selectiongeometry", ({ geometry, final }) => final !== false && this.brush(geometry));
  }

  listen() {
    this.select.addEventListener("change", () => this.changeScore());
    for (const input of Object.values(this.fields)) input.addEventListener("input", () => this.update());
    for (const button of this.root.querySelectorAll("[data-best]")) {
      button.addEventListener("click", () => this.keepBest(Number(button.dataset.best)));
    }
    this.part("clear").addEventListener("click", () => this.setBounds({}));
    this.part("save").addEventListener("click", () => rlassay.save(this.spec.file, this.csv()));
    for (const button of this.root.querySelectorAll("[data-column]")) {
      button.addEventListener("click", () => this.sortBy(button.dataset.column));
    }
  }

  changeScore() {
    this.score = this.select.value;
    const unit = this.spec.units[this.score];
    this.figure.left[0].axis_label = unit ? `${this.score} (${unit})` : this.score;
    this.root.querySelector("[data-part='score-heading']").textContent = this.score;
    for (const label of this.root.querySelectorAll("[data-part='score-name']")) label.textContent = this.score;
    this.part("sentence").textContent = this.spec.sentences[this.score];
    rlassay.setTicks(this.figure.left[0], this.columns[this.score]);
    this.source.data = { ...this.source.data, score: this.columns[this.score] };
    this.fields["score-from"].value = this.fields["score-to"].value = "";
    this.update();
  }

  brush({ x0, x1, y0, y1 }) {
    const tidy = (value) => Number(value.toPrecision(5));
    this.setBounds({
      "return-from": tidy(Math.min(x0, x1)), "return-to": tidy(Math.max(x0, x1)),
      "score-from": tidy(Math.min(y0, y1)), "score-to": tidy(Math.max(y0, y1)),
    });
  }

  setBounds(bounds) {
    for (const [name, input] of Object.entries(this.fields)) input.value = bounds[name] ?? "";
    this.update();
  }

  /** Best share by the shown score: a rule that `rlassay curate` knows exactly. */
  keepBest(share) {
    const values = this.columns[this.score];
    const ordered = this.bestFirst(this.score);
    const last = values[ordered[Math.max(1, Math.round(share * values.length)) - 1]];
    this.setBounds({ [this.higher(this.score) ? "score-from" : "score-to"]: this.shortBound(last) });
  }

  /** The shortest decimal that splits the episodes as `value` itself does. */
  shortBound(value) {
    const values = this.columns[this.score];
    const higher = this.higher(this.score);
    const inside = (bound) => values.filter((score) => (higher ? score >= bound : score <= bound)).length;
    for (let digits = 3; digits < 10; digits++) {
      const bound = Number(value.toPrecision(digits));
      if (inside(bound) === inside(value)) return bound;
    }
    return value;
  }

  higher(name) {
    return (this.spec.directions[name] ?? "higher") === "higher";
  }

  bestFirst(name) {
    const values = this.columns[name];
    const sign = this.higher(name) ? -1 : 1;
    return values.map((_, i) => i).sort((i, j) => sign * (values[i] - values[j]) || i - j);
  }

  bound(name, open) {
    const text = this.fields[name].value;
    return text === "" ? open : Number(text);
  }

  chosenRows() {
    const [left, right] = [this.bound("return-from", -Infinity), this.bound("return-to", Infinity)];
    const [bottom, top] = [this.bound("score-from", -Infinity), this.bound("score-to", Infinity)];
    const [returns, scores] = [this.columns.return, this.columns[this.score]];
    const inside = (i) => returns[i] >= left && returns[i] <= right && scores[i] >= bottom && scores[i] <= top;
    return returns.map((_, i) => i).filter(inside);
  }

  update() {
    this.rows = this.chosenRows();
    this.filtered = Object.values(this.fields).some((input) => input.value !== "");
    this.colour();
    this.writeCounts();
    this.writeCommand();
    this.writeTable();
  }

  colour() {
    const [plain, gold] = [rlassay.color("data"), rlassay.color("gold")];
    const color = this.columns.return.map(() => plain);
    const alpha = color.map(() => (this.filtered ? 0.18 : 0.6));
    if (this.filtered) for (const i of this.rows) [color[i], alpha[i]] = [gold, 0.9];
    this.source.data = { ...this.source.data, color, alpha };
    this.box.setv({
      visible: this.filtered, fill_color: gold, line_color: gold,
      left: this.bound("return-from", this.beyond("return", -1)), right: this.bound("return-to", this.beyond("return", 1)),
      bottom: this.bound("score-from", this.beyond(this.score, -1)), top: this.bound("score-to", this.beyond(this.score, 1)),
    });
  }

  /** A finite place outside the plot, for a range that is open on one side. */
  beyond(name, side) {
    const values = this.columns[name];
    const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    const width = 10 * (high - low) + 1;
    return side < 0 ? low - width : high + width;
  }

  writeCounts() {
    const mean = (rows) => rows.reduce((sum, i) => sum + this.columns.return[i], 0) / rows.length;
    const all = this.columns.return.map((_, i) => i);
    this.part("count").textContent = this.rows.length.toLocaleString("en-US");
    this.part("of").textContent = `of ${all.length.toLocaleString("en-US")}${this.spec.sampled ? " sampled" : ""} episodes`;
    this.part("mean").textContent = this.rows.length ? rlassay.format(mean(this.rows)) : "–";
    this.part("all-mean").textContent = `all: ${rlassay.format(mean(all))}`;
    const steps = this.rows.reduce((sum, i) => sum + (this.columns.length?.[i] ?? 0), 0);
    this.part("steps").textContent = this.columns.length ? steps.toLocaleString("en-US") : "–";
  }

  /** The rule of `rlassay curate` that is nearest to the selection, and whether it is the same. */
  nearestRule() {
    const chosen = new Set(this.rows);
    const overlap = (name) => this.bestFirst(name).slice(0, chosen.size).filter((i) => chosen.has(i)).length;
    const found = [this.score, "return"].map((name) => ({ name, shared: overlap(name) }));
    return found[1].shared > found[0].shared ? found[1] : found[0];
  }

  writeCommand() {
    const total = this.columns.return.length;
    const count = this.rows.length;
    const note = this.part("command-note");
    this.part("save").disabled = count === 0;
    this.part("command-line").hidden = count === 0 || !this.filtered;
    if (this.part("command-line").hidden) {
      note.textContent = this.filtered ? "No episode lies in these ranges." : "Select episodes, and the command that keeps them appears here.";
      return;
    }
    const rule = this.nearestRule();
    const size = count.toLocaleString("en-US");
    const keep = `--keep ${Number((count / total).toFixed(6))} --by ${rule.name}`;
    const again = rule.name === "return" ? "" : " The data are scored again, so an episode at the edge may change sides.";
    if (rule.shared === count) {
      this.command(keep);
      note.textContent = `Keeps the best ${size} by ${rule.name}, as selected here${this.spec.sampled ? ", and the same share of all other episodes" : ""}.${again}`;
    } else if (this.spec.sampled) {
      this.command(keep);
      note.textContent = `The nearest rule: the best ${size} by ${rule.name}, of which ${rule.shared.toLocaleString("en-US")} are in this selection.${again}`;
    } else {
      this.command(`--only ${this.spec.list}`);
      note.textContent = `No single score describes this selection: download the list, and the command keeps exactly these ${size} episodes.`;
    }
  }

  command(rule) {
    this.part("command").textContent = `${this.spec.curate} ${rule} -o ${this.spec.out}`;
  }

  sortBy(column) {
    this.order = { column, rising: this.order.column === column ? !this.order.rising : column === "index" };
    this.writeTable();
  }

  writeTable() {
    const names = ["index", "start", "length", "return", "score"];
    const values = names.map((name) => this.columns[name === "score" ? this.score : name]);
    const key = values[names.indexOf(this.order.column)] ?? this.columns.return;
    const sign = this.order.rising ? 1 : -1;
    const rows = [...this.rows].sort((i, j) => sign * (key[i] - key[j]));
    for (const button of this.root.querySelectorAll("[data-column]")) {
      const active = button.dataset.column === this.order.column;
      button.closest("th").setAttribute("aria-sort", active ? (sign > 0 ? "ascending" : "descending") : "none");
    }
    this.part("rows").replaceChildren(...rows.slice(0, 50).map((i) => rlassay.episodeRow(values, i)));
    this.part("rows-note").textContent = rows.length > 50 ? `The first 50 of ${rows.length.toLocaleString("en-US")}; the download has all.` : "";
  }

  csv() {
    const names = Object.keys(this.columns);
    const head = names.map((name) => rlassay.csvCell(name === "index" ? "episode" : name)).join(",");
    const lines = this.rows.map((i) => names.map((name) => Number(this.columns[name][i].toPrecision(8))).join(","));
    return [head, ...lines].join("\n") + "\n";
  }
};

rlassay.csvCell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

rlassay.episodeRow = function (values, i) {
  const row = document.createElement("tr");
  values.forEach((column, place) => {
    const cell = document.createElement("td");
    cell.textContent = column ? (place < 3 ? column[i].toLocaleString("en-US") : rlassay.format(column[i])) : "–";
    row.append(cell);
  });
  return row;
};
