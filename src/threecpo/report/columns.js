
// The table of all columns: only the rows in view are in the page.
{
  const { columns: data, words } = DATA;
  const n = data.names.length;
  const spoken = new Map([[1, "relevant"], [0, "shared"], [-1, "noise"]]);
  const viewport = byId("viewport");
  const body = byId("body");
  const heads = byId("heads");
  const MARGIN = 8;
  const PRINTED = 40;
  const strength = unpacked(data.strength);
  const overall = unpacked(data.overall);
  const strongest = new Float64Array(n);
  const ratio = new Float64Array(n);
  for (let j = 0; j < n; j++) {
    let best = 0;
    for (let k = 1; k < RATES.length; k++) if (RATES[k][j] > RATES[best][j]) best = k;
    strongest[j] = best;
    ratio[j] = overall[j] > 0 ? RATES[best][j] / overall[j] : NaN;
  }

  const whole = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const format = (value) => {
    if (Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    let text;
    if (value === 0) text = "0";
    else if (size >= 1e-3 && size < 999.5) text = value.toPrecision(3);
    else if (size >= 999.5 && size < 1e9) text = whole(value);
    else text = value.toExponential(2).replace("e+", "e");
    return text.replace("-", "\u2212").replace("e-", "e\u2212");
  };

  // Columns of the table. `extra` ones are not printed.
  const fields = [
    { title: words.columns.one[0].toUpperCase() + words.columns.one.slice(1), css: "name" },
    { title: "Group", css: "kind", values: Float64Array.from(data.groups, (group) => -group) },
    { title: "Highest in", values: strongest, text: (k) => `cluster ${k}` },
    { title: "Ratio there", values: ratio, down: true, text: (value) => (Number.isNaN(value) ? "–" : `× ${format(value)}`) },
    { title: "Overall count", values: overall, down: true },
    ...RATES.map((values, k) => ({ title: `Cluster ${k}`, values, down: true, extra: true })),
  ];

  const base = Array.from({ length: n }, (_, j) => j).sort((a, b) => (
    data.groups[b] - data.groups[a] || strength[b] - strength[a] || a - b));
  const baseRank = new Int32Array(n);
  base.forEach((j, rank) => { baseRank[j] = rank; });
  let lowered = null;
  let nameRank = null;
  let order = base;
  let shown = base;
  let first = -1;
  let last = -1;
  let printing = false;

  const rankNames = () => {
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    const sorted = Array.from(base).sort((a, b) => compare(data.names[a], data.names[b]));
    nameRank = new Float64Array(n);
    sorted.forEach((j, rank) => { nameRank[j] = rank; });
  };

  const sortBy = (field, descending) => {
    if (!field.values && !nameRank) rankNames();
    const values = field.values ?? nameRank;
    const sign = descending ? -1 : 1;
    // What has no number comes last in both directions.
    order = Array.from(base).sort((a, b) => {
      const x = values[a];
      const y = values[b];
      if (x === y) return baseRank[a] - baseRank[b];
      if (Number.isNaN(x)) return Number.isNaN(y) ? baseRank[a] - baseRank[b] : 1;
      if (Number.isNaN(y)) return -1;
      return sign * (x - y);
    });
    filter();
  };

  const filter = () => {
    const wanted = byId("search").value.toLowerCase();
    const group = byId("group").value;
    if (wanted && !lowered) lowered = data.names.map((name) => name.toLowerCase());
    shown = order.filter((j) => (
      (group === "" || data.groups[j] === Number(group))
      && (wanted === "" || lowered[j].includes(wanted))));
    byId("found").textContent = shown.length === n
      ? `${whole(n)} ${words.columns.many}` : `${whole(shown.length)} of ${whole(n)} ${words.columns.many}`;
    byId("grid").setAttribute("aria-rowcount", String(shown.length + 1));
    viewport.scrollTop = 0;
    draw(true);
  };

  const classOf = (field) => `${field.css ?? "value"}${field.extra ? " extra" : ""}`;
  // A row is made once by copying this one, and then only its texts change.
  const pattern = make("tr", {}, ...fields.map((field) => {
    const element = make(field.css === "name" ? "th" : "td", { className: classOf(field) });
    if (field.css === "name") {
      element.scope = "row";
      element.append(document.createElement("bdi"));
    } else if (field.css === "kind") {
      element.append(document.createElement("span"));
    }
    element.append(document.createTextNode(""));
    return element;
  }));
  const pool = [];

  const filled = (row, place) => {
    const j = shown[place];
    row.setAttribute("aria-rowindex", String(place + 2));
    const [name, kind, ...others] = row.children;
    name.title = data.names[j];
    name.firstChild.textContent = data.names[j];
    kind.firstChild.className = `dot g${data.groups[j]}`;
    kind.lastChild.data = spoken.get(data.groups[j]);
    others.forEach((element, place) => {
      const field = fields[place + 2];
      element.firstChild.data = (field.text ?? format)(field.values[j]);
    });
    return row;
  };

  const spacer = (rows, height) => {
    const filler = make("td", { colSpan: fields.length });
    filler.style.height = `${rows * height}px`;
    const row = make("tr", { className: "spacer" }, filler);
    row.setAttribute("aria-hidden", "true");
    return row;
  };

  const draw = (always, from, to) => {
    if (printing) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const height = 2.125 * rem;
    const top = Math.floor(viewport.scrollTop / height);
    const start = Math.max(0, from ?? top - MARGIN);
    // It may be small now because it was empty; style lets it grow to 32 rem.
    const visible = Math.ceil(Math.max(viewport.clientHeight, 32 * rem) / height);
    const stop = Math.min(shown.length, to ?? top + visible + MARGIN);
    if (!always && start === first && stop === last) return;
    first = start;
    last = stop;
    const rows = [];
    if (start) rows.push(spacer(start, height));
    for (let place = start; place < stop; place++) {
      pool[place - start] ??= pattern.cloneNode(true);
      rows.push(filled(pool[place - start], place));
    }
    if (stop < shown.length) rows.push(spacer(shown.length - stop, height));
    body.replaceChildren(...rows);
  };

  for (const field of fields) {
    const className = classOf(field);
    byId("widths").append(make("col", { className }));
    field.head = make("th", { scope: "col", className }, button({ textContent: field.title }, () => {
      sortBy(field, sortsDown(field.head, Boolean(field.down)));
    }));
    heads.append(field.head);
  }
  let waiting = false;
  viewport.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(false); });
  });
  // Left to the browser, a key that comes while rows are replaced may scroll nothing.
  viewport.addEventListener("keydown", (event) => {
    const ends = { Home: 0, End: viewport.scrollHeight };
    if (event.target !== viewport || !(event.key in ends)) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    viewport.scrollTop = ends[event.key];
  });
  new ResizeObserver(() => draw(false)).observe(viewport);
  byId("search").addEventListener("input", () => {
    tell("colour-column", byId("search").value);
    filter();
  });
  document.addEventListener("search-columns", ({ detail }) => {
    byId("search").value = detail;
    filter();
  });
  byId("tools").append(button({ className: "take", textContent: "CSV" }, () => {
    const line = (j) => fields.map((field) => (field.css === "name" ? data.names[j]
      : field.css === "kind" ? spoken.get(data.groups[j]) : String(field.values[j])));
    tell("save-columns", [fields.map((field) => field.title), ...Array.from(shown, line)]);
  }));
  byId("group").addEventListener("change", filter);
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("beforeprint", () => {
    draw(true, 0, PRINTED);
    printing = true;
    byId("print-note").textContent = shown.length > PRINTED
      ? `The first ${PRINTED} of ${whole(shown.length)} ${words.columns.many}; the file columns.csv has all of them.` : "";
  });
  addEventListener("afterprint", () => {
    printing = false;
    draw(true);
  });
  byId("explorer").hidden = false;
  byId("instead").hidden = true;
  // They are in this order already.
  fields[1].head.setAttribute("aria-sort", "ascending");
  filter();
}
