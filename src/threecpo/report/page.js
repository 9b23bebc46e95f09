"use strict";

// What the scripts share: the data of the page, and short ways to make elements.
const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const button = (properties, act, ...children) => {
  const made = make("button", { type: "button", ...properties }, ...children);
  made.addEventListener("click", act);
  return made;
};
const svg = (name, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
// Whether to sort downwards by the column of this head, which then says so.
const sortsDown = (head, first) => {
  const now = head.getAttribute("aria-sort");
  const down = now ? now === "ascending" : first;
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  return down;
};
// Two bytes a number: ten bits of digits, six of the power of ten plus 32.
const POWERS = Array.from({ length: 64 }, (_, place) => Number(`1e${Math.abs(place - 32)}`));
const unpacked = (text) => {
  const bytes = atob(text);
  const values = new Float64Array(bytes.length / 2);
  for (let j = 0; j < values.length; j++) {
    const code = bytes.charCodeAt(2 * j) + 256 * bytes.charCodeAt(2 * j + 1);
    const [digits, place] = [code >> 6, code & 63];
    if (code === 0xffff) values[j] = NaN;
    else values[j] = place < 32 ? digits / POWERS[place] : digits * POWERS[place];
  }
  return values;
};
const RATES = DATA.columns.rates.map(unpacked);

// Theme: follows the system until the button says otherwise.
{
  const root = document.documentElement;
  const toggle = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    toggle.textContent = isDark() ? "Light theme" : "Dark theme";
  };
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  toggle.hidden = false;
  show();
}
