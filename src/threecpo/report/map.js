
// The map: what a point is, groups by themselves, colours by cluster, label, confidence or column.
{
  const { map: data, clusters, columns, words } = DATA;
  if (data) {
    const area = byId("map-area");
    const drawing = area.querySelector("svg");
    const points = byId("points");
    const legend = byId("map-legend");
    const tip = byId("map-tip");
    const status = byId("map-status");
    const select = byId("colour-by");
    const typed = byId("colour-column");
    const n = data.x.length;
    const NEAR = 14;
    const STEPS = 8;
    const SURE = ["clear", "likely", "doubtful"];
    let at = -1;
    let pinned = false;
    let alone = null;
    let over = null;
    let column = -1;

    const ring = svg("circle", { r: 8, class: "ring", visibility: "hidden" });
    drawing.append(ring);

    const packed = new Map((data.by_column?.columns ?? []).map((j, place) => [j, place]));
    let byName = null;
    const named = (text) => {
      byName ??= new Map(columns.names.map((name, j) => [name.toLowerCase(), j]));
      return byName.get(text.trim().toLowerCase()) ?? -1;
    };
    // Counts of the points, or of most columns only what is expected in their clusters.
    const steps = (j) => {
      if (packed.has(j)) {
        const bytes = atob(data.by_column.values[packed.get(j)]);
        return Int16Array.from({ length: n }, (_, i) => Math.ceil((bytes.charCodeAt(i) * STEPS) / 255));
      }
      const rates = RATES.map((values) => values[j]);
      const most = Math.max(...rates) || 1;
      return data.cluster.map((k) => (k < 0 ? 0 : Math.ceil((STEPS * rates[k]) / most)));
    };
    const clusterName = (k) => (k < 0 ? "outlier" : `${k} ${clusters[k]}`);
    const labelName = (label, k) => (k < 0 ? "no value" : label.values[k]);
    const dot = "h0";
    const large = data.marks[0][0].endsWith("large") ? " large" : "";
    // What the points are coloured by: a code for each, with its mark and its name.
    let shown = null;
    const colouring = () => {
      if (column >= 0) {
        const codes = steps(column);
        return {
          codes,
          mark: (k) => [`round step s${k}${large}`, dot],
          name: (k) => (k === 0 ? "none" : k === STEPS ? "most" : ""),
        };
      }
      if (select.value === "cluster") {
        return { codes: data.cluster, mark: (k) => data.marks[k] ?? data.none, name: clusterName };
      }
      if (select.value === "sure") {
        return {
          codes: data.sure,
          mark: (k) => [`round ${k < 0 ? "gone" : SURE[k]}${large}`, dot],
          name: (k) => SURE[k] ?? "in no cluster",
        };
      }
      const label = data.labels[Number(select.value)];
      return { codes: label.codes, mark: (k) => label.marks[k] ?? data.none, name: (k) => labelName(label, k) };
    };

    const draw = () => {
      const { codes, mark } = shown;
      const paths = new Map();
      const faded = (i, k) => (alone !== null && k !== alone) || (over !== null && data.cluster[i] !== over);
      for (let i = 0; i < n; i++) {
        const key = `${codes[i]} ${faded(i, codes[i]) ? 1 : 0}`;
        if (!paths.has(key)) paths.set(key, []);
        paths.get(key).push(`M${data.x[i]} ${data.y[i]}${mark(codes[i])[1]}`);
      }
      // What is not faded lies on top, and of counts the highest.
      const keys = [...paths.keys()].map((key) => [...key.split(" ").map(Number), key]);
      keys.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      points.replaceChildren(...keys.map(([k, dim, key]) => svg("path", {
        d: paths.get(key).join(""), class: `point ${mark(k)[0]}${dim ? " faded" : ""}`,
      })));
      byId("centres").setAttribute("visibility", column < 0 && select.value === "cluster" ? "visible" : "hidden");
    };

    const describe = (i) => [
      data.names[i],
      data.cluster[i] < 0 ? "outlier" : `cluster ${clusterName(data.cluster[i])}`,
      ...(data.sure?.[i] >= 0 ? [SURE[data.sure[i]]] : []),
      ...data.labels.map((label) => `${label.name}: ${labelName(label, label.codes[i])}`),
      ...(data.by_column?.strongest[i].length
        ? [`most telling: ${data.by_column.strongest[i].map((j) => columns.names[j]).join(", ")}`] : []),
    ];

    const show = (i) => {
      if (i !== at) tell("over-point", i < 0 ? null : data.cluster[i]);
      at = i;
      tip.hidden = i < 0;
      ring.setAttribute("visibility", i < 0 ? "hidden" : "visible");
      if (i < 0) return;
      ring.setAttribute("cx", data.x[i]);
      ring.setAttribute("cy", data.y[i]);
      tip.replaceChildren(...describe(i).map((text) => make("bdi", { textContent: text })));
      const box = drawing.getBoundingClientRect();
      const frame = area.getBoundingClientRect();
      const scale = box.width / drawing.viewBox.baseVal.width;
      const [x, y] = [data.x[i] * scale + box.left - frame.left, data.y[i] * scale + box.top - frame.top];
      const width = Math.min(tip.offsetWidth, frame.width);
      tip.style.left = `${Math.max(0, Math.min(x - width / 2, frame.width - width))}px`;
      tip.style.top = `${y > tip.offsetHeight + 14 ? y - tip.offsetHeight - 12 : y + 12}px`;
    };

    const announce = () => {
      status.textContent = at < 0 ? "" : describe(at).join(" · ");
      if (at >= 0 && data.cluster[at] >= 0) tell("pick-cluster", data.cluster[at]);
    };

    const chosen = (i) => alone === null || shown.codes[i] === alone;
    const nearest = (event) => {
      const box = drawing.getBoundingClientRect();
      const scale = drawing.viewBox.baseVal.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      let [best, least] = [-1, (NEAR * Math.max(scale, 1)) ** 2];
      for (let i = 0; i < n; i++) {
        if (!chosen(i)) continue;
        const away = (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2;
        if (away < least) [best, least] = [i, away];
      }
      return best;
    };

    // The nearest point in the direction of an arrow key, not far beside it.
    const beyond = (right, down) => {
      let [best, least] = [at, Infinity];
      for (let i = 0; i < n; i++) {
        if (!chosen(i)) continue;
        const [x, y] = [data.x[i] - data.x[at], data.y[i] - data.y[at]];
        const along = right * x + down * y;
        const across = Math.abs(right * y) + Math.abs(down * x);
        if (along > 0 && along >= across && along + 2 * across < least) {
          [best, least] = [i, along + 2 * across];
        }
      }
      return best;
    };

    area.addEventListener("pointermove", (event) => { if (!pinned) show(nearest(event)); });
    area.addEventListener("pointerleave", () => { if (!pinned) show(-1); });
    area.addEventListener("click", (event) => {
      const i = nearest(event);
      pinned = i >= 0 && !(pinned && i === at);
      show(i);
      announce();
    });
    const arrows = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        pinned = false;
        show(-1);
      } else if (arrows[event.key]) {
        event.preventDefault();
        pinned = true;
        const first = [...data.x.keys()].find(chosen) ?? 0;
        show(at < 0 ? first : beyond(...arrows[event.key]));
      } else {
        return;
      }
      announce();
    });
    document.addEventListener("over-cluster", ({ detail }) => {
      over = detail;
      draw();
    });

    const icon = ([css, shape]) => svg(
      "svg", { class: "mark", viewBox: "-5 -5 10 10", "aria-hidden": "true", focusable: "false" },
      svg("path", { d: `M0 0${shape}`, class: `point ${css}` }));
    // Clusters are explained by the table beside the map.
    const explain = () => {
      const { codes, mark, name } = shown;
      const clustered = column < 0 && select.value === "cluster";
      legend.hidden = clustered;
      const order = [...new Set(codes)].sort((a, b) => (a < 0) - (b < 0) || a - b);
      legend.replaceChildren(...(clustered ? [] : order).map((k) => {
        const chooser = button({}, () => {
          alone = k === alone ? null : k;
          draw();
          for (const other of legend.querySelectorAll("button")) {
            other.setAttribute("aria-pressed", String(alone !== null && other === chooser));
          }
        }, icon(mark(k)), " ", make("bdi", { textContent: name(k) }));
        chooser.setAttribute("aria-pressed", String(k === alone));
        return make("li", {}, chooser);
      }));
    };
    const recolour = () => {
      [alone, over, pinned] = [null, null, false];
      show(-1);
      shown = colouring();
      draw();
      explain();
    };

    select.addEventListener("change", () => {
      column = -1;
      if (typed) typed.value = "";
      recolour();
    });
    if (typed) {
      const typing = () => {
        const before = column;
        column = named(typed.value);
        if (column !== before) recolour();
        status.textContent = column < 0 || packed.has(column) ? ""
          : `${columns.names[column]}: expected count in each cluster; the page has single counts of the best ${words.columns.many} only.`;
      };
      typed.addEventListener("input", () => {
        typing();
        tell("search-columns", typed.value);
      });
      document.addEventListener("colour-column", ({ detail }) => {
        typed.value = detail;
        typing();
      });
      // A long list is slow to open, and nobody reads it.
      byId("packed").append(...data.by_column.columns.slice(0, 200).map(
        (j) => make("option", { value: columns.names[j] })));
    }
    byId("map-tools").addEventListener("submit", (event) => event.preventDefault());
    byId("map-tools").hidden = false;
    area.tabIndex = 0;
    area.setAttribute("aria-describedby", "map-status");
    shown = colouring();
    explain();
  }
}
