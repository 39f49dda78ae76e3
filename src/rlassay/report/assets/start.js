"use strict";
// Start: theme, buttons, tables, then the charts.

rlassay.font = getComputedStyle(document.body).fontFamily;
rlassay.startTheme();
rlassay.startPrinting();
rlassay.startCopyButtons();
for (const table of document.querySelectorAll("table.sortable")) rlassay.startSorting(table);

const filter = document.getElementById("filter");
if (filter) rlassay.startFiltering(filter, document.getElementById("side-by-side"));

const every = document.getElementById("all-scores");
every?.addEventListener("change", () => document.getElementById("side-by-side").classList.toggle("all", every.checked));

for (const dataset of document.querySelectorAll("details.dataset")) {
  dataset.addEventListener("toggle", () => dataset.open && rlassay.drawVisible(dataset));
}
for (const link of document.querySelectorAll("a[data-open]")) {
  link.addEventListener("click", () => (document.getElementById(link.dataset.open).open = true));
}
Bokeh.logger.set_level("warn");
rlassay.drawVisible().then(() => (document.documentElement.dataset.ready = "yes"));
