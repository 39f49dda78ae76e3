"use strict";
// Shared pieces: the embedded data, number formats, colours of the theme, copying and saving.

const rlassay = {
  data: JSON.parse(document.getElementById("report-data").textContent),
};

/** A packed column (base64 of little-endian float32 or int32) as an array of numbers. */
rlassay.unpack = function (column) {
  const text = atob(column.f4 ?? column.i4);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  const read = column.f4 === undefined ? (i) => view.getInt32(4 * i, true) : (i) => view.getFloat32(4 * i, true);
  return Array.from({ length: bytes.length / 4 }, (_, i) => read(i));
};

/** Four significant digits, thousands set apart, a real minus sign. */
rlassay.format = function (value) {
  if (!Number.isFinite(value)) return "–";
  const rounded = Number(value.toPrecision(4));
  const size = Math.abs(rounded);
  const text =
    size !== 0 && (size < 1e-4 || size >= 1e9)
      ? rounded.toExponential(3)
      : rounded.toLocaleString("en-US", { maximumSignificantDigits: Math.max(4, Math.ceil(Math.log10(size + 1))) });
  return text.replace("-", "−");
};

rlassay.color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

rlassay.seriesColor = (place) => rlassay.color(`series-${(place % 8) + 1}`);

/** Light or dark: the system decides until the button is pressed; paper is always light. */
rlassay.startTheme = function () {
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const print = matchMedia("print");
  const button = document.getElementById("theme");
  let chosen = null;
  const apply = () => {
    const theme = chosen ?? (systemDark.matches ? "dark" : "light");
    root.dataset.theme = print.matches ? "light" : theme;
    button.textContent = theme === "dark" ? "Light colours" : "Dark colours";
    rlassay.repaint();
  };
  button.addEventListener("click", () => {
    chosen = (chosen ?? (systemDark.matches ? "dark" : "light")) === "dark" ? "light" : "dark";
    apply();
  });
  systemDark.addEventListener("change", apply);
  print.addEventListener("change", apply);
  addEventListener("afterprint", apply);
  apply();
};

/** Printing does not wait for charts to be painted again, so paper gets still copies in light colours. */
rlassay.startPrinting = function () {
  addEventListener("beforeprint", rlassay.lightUp);
  addEventListener("beforeprint", rlassay.copyToPaper); // apart: new colours arrive between two listeners
  addEventListener("afterprint", rlassay.clearPaper);
  matchMedia("print").addEventListener("change", ({ matches }) => (matches ? rlassay.copyToPaper() : rlassay.clearPaper()));
};

rlassay.clearPaper = () => document.querySelectorAll(".paper").forEach((copy) => copy.remove());

rlassay.lightUp = function () {
  document.documentElement.dataset.theme = "light";
  rlassay.repaint();
};

rlassay.copyToPaper = function () {
  if (document.querySelector(".paper")) return; // both events of one printing arrive
  for (const [element, { view }] of rlassay.figures) {
    if (!view) continue;
    const { canvas } = view.export("png", true);
    canvas.className = "paper";
    element.append(canvas);
  }
};

/** Put text on the clipboard; pages from disk may lack the modern interface. */
rlassay.copy = async function (text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
};

rlassay.startCopyButtons = function () {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      await rlassay.copy(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = label), 1500);
    });
  }
};

rlassay.save = function (name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
