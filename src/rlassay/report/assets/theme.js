"use strict";
// Before anything is painted: the colours the system asks for, so that no white page flashes up.
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
