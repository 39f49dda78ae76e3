"use strict";
// Start of the index of cards: a table that sorts and filters, and no chart.

rlassay.repaint = () => {};
rlassay.figures = new Map();
rlassay.startTheme();
rlassay.startSorting(document.getElementById("side-by-side"));
rlassay.startFiltering(document.getElementById("filter"), document.getElementById("side-by-side"));
const more = document.getElementById("all-scores");
more?.addEventListener("change", () => document.getElementById("side-by-side").classList.toggle("all", more.checked));
document.documentElement.dataset.ready = "yes";
