
// The table of all columns: only the rows in view are in the page.
{
  const { columns: data, words } = DATA;
  const n = data.names.length;
  const spoken = new Map([[1, "relevant"], [0, "shared"], [-1, "noise"]]);
  const byId = (id) => document.getElementById(id);
  const viewport = byId("viewport");
  const body = byId("body");
  const heads = byId("heads");
  const MARGIN = 8;
  const PRINTED = 40;

  // Two bytes a number: ten bits of digits, six of the power of ten plus 32.
  const powers = Array.from({ length: 64 }, (_, place) => Number(`1e${Math.abs(place - 32)}`));
  const numbers = (packed) => {
    const bytes = atob(packed);
    const values = new Float64Array(bytes.length / 2);
    for (let j = 0; j < values.length; j++) {
      const code = bytes.charCodeAt(2 * j) + 256 * bytes.charCodeAt(2 * j + 1);
      const [digits, place] = [code >> 6, code & 63];
      if (code === 0xffff) values[j] = NaN;
      else values[j] = place < 32 ? digits / powers[place] : digits * powers[place];
    }
    return values;
  };
  const strength = numbers(data.strength);
  const overall = numbers(data.overall);
  const rates = data.rates.map(numbers);
  const strongest = new Float64Array(n);
  const ratio = new Float64Array(n);
  for (let j = 0; j < n; j++) {
    let best = 0;
    for (let k = 1; k < rates.length; k++) if (rates[k][j] > rates[best][j]) best = k;
    strongest[j] = best;
    ratio[j] = overall[j] > 0 ? rates[best][j] / overall[j] : NaN;
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
    ...rates.map((values, k) => ({ title: `Cluster ${k}`, values, down: true, extra: true })),
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
    for (const head of heads.children) head.removeAttribute("aria-sort");
    field.head.setAttribute("aria-sort", descending ? "descending" : "ascending");
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

  // A row is made once by copying this one, and then only its texts change.
  const pattern = document.createElement("tr");
  for (const field of fields) {
    const element = document.createElement(field.css === "name" ? "th" : "td");
    element.className = `${field.css ?? "value"}${field.extra ? " extra" : ""}`;
    if (field.css === "name") {
      element.scope = "row";
      element.append(document.createElement("bdi"));
    } else if (field.css === "kind") {
      element.append(document.createElement("span"));
    }
    element.append(document.createTextNode(""));
    pattern.append(element);
  }
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
    const row = document.createElement("tr");
    row.className = "spacer";
    row.setAttribute("aria-hidden", "true");
    const filler = document.createElement("td");
    filler.colSpan = fields.length;
    filler.style.height = `${rows * height}px`;
    row.append(filler);
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
    const width = document.createElement("col");
    width.className = `${field.css ?? "value"}${field.extra ? " extra" : ""}`;
    byId("widths").append(width);
    field.head = document.createElement("th");
    field.head.scope = "col";
    field.head.className = width.className;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = field.title;
    button.addEventListener("click", () => {
      const now = field.head.getAttribute("aria-sort");
      sortBy(field, now ? now === "ascending" : Boolean(field.down));
    });
    field.head.append(button);
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
    document.dispatchEvent(new CustomEvent("colour-column", { detail: byId("search").value }));
    filter();
  });
  document.addEventListener("search-columns", ({ detail }) => {
    byId("search").value = detail;
    filter();
  });
  const take = document.createElement("button");
  take.type = "button";
  take.className = "take";
  take.textContent = "CSV";
  take.addEventListener("click", () => {
    const line = (j) => fields.map((field) => (field.css === "name" ? data.names[j]
      : field.css === "kind" ? spoken.get(data.groups[j]) : String(field.values[j])));
    document.dispatchEvent(new CustomEvent("save-columns", {
      detail: [fields.map((field) => field.title), ...Array.from(shown, line)] }));
  });
  byId("tools").append(take);
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
