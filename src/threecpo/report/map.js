
// The map: what a point is, groups by themselves, colours by cluster or by a label.
{
  const { map: data, words } = JSON.parse(document.getElementById("data").textContent);
  if (data) {
    const byId = (id) => document.getElementById(id);
    const area = byId("map-area");
    const drawing = area.querySelector("svg");
    const points = byId("points");
    const legend = byId("map-legend");
    const tip = byId("map-tip");
    const status = byId("map-status");
    const select = byId("colour-by");
    const n = data.x.length;
    const NEAR = 14;
    let at = -1;
    let pinned = false;
    let alone = null;

    const svg = (name, attributes) => {
      const element = document.createElementNS(drawing.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    const ring = svg("circle", { r: 8, class: "ring", visibility: "hidden" });
    drawing.append(ring);

    const clusterName = (k) => (k < 0 ? "outlier" : `${k} ${data.clusters[k]}`);
    const labelName = (label, i) => (label.codes[i] < 0 ? "no value" : label.values[label.codes[i]]);
    // What the points are coloured by: a number for each, -1 for none, and its names.
    const colouring = () => {
      if (select.value === "") return { codes: data.cluster, name: clusterName };
      const label = data.labels[Number(select.value)];
      return { codes: label.codes, name: (k) => (k < 0 ? "no value" : label.values[k]) };
    };

    const draw = () => {
      const { codes } = colouring();
      const paths = new Map();
      for (let i = 0; i < n; i++) {
        if (!paths.has(codes[i])) paths.set(codes[i], []);
        paths.get(codes[i]).push(`M${data.x[i]} ${data.y[i]}${data.marks[codes[i] + 1][1]}`);
      }
      // A group by itself lies on top of the others.
      const order = [...paths.keys()].sort((a, b) => (a === alone) - (b === alone) || a - b);
      points.replaceChildren(...order.map((k) => svg("path", {
        d: paths.get(k).join(""),
        class: `point ${data.marks[k + 1][0]}${alone !== null && k !== alone ? " faded" : ""}`,
      })));
      byId("centres").setAttribute("visibility", select.value === "" ? "visible" : "hidden");
    };

    const describe = (i) => [
      data.names[i],
      data.cluster[i] < 0 ? "outlier" : `cluster ${clusterName(data.cluster[i])}`,
      ...data.labels.map((label) => `${label.name}: ${labelName(label, i)}`),
    ];

    const show = (i) => {
      at = i;
      tip.hidden = i < 0;
      ring.setAttribute("visibility", i < 0 ? "hidden" : "visible");
      if (i < 0) return;
      ring.setAttribute("cx", data.x[i]);
      ring.setAttribute("cy", data.y[i]);
      tip.replaceChildren(...describe(i).map((text) => {
        const line = document.createElement("bdi");
        line.textContent = text;
        return line;
      }));
      const box = drawing.getBoundingClientRect();
      const frame = area.getBoundingClientRect();
      const scale = box.width / drawing.viewBox.baseVal.width;
      const [x, y] = [data.x[i] * scale + box.left - frame.left, data.y[i] * scale + box.top - frame.top];
      const width = Math.min(tip.offsetWidth, frame.width);
      tip.style.left = `${Math.max(0, Math.min(x - width / 2, frame.width - width))}px`;
      tip.style.top = `${y > tip.offsetHeight + 14 ? y - tip.offsetHeight - 12 : y + 12}px`;
    };

    const announce = () => {
      status.textContent = at < 0 ? "" : `${describe(at).join(" · ")}`;
      if (at >= 0 && data.cluster[at] >= 0) {
        const link = document.createElement("a");
        link.href = `#cluster-${data.cluster[at]}`;
        link.textContent = `What marks cluster ${data.cluster[at]}`;
        status.append(" ", link);
      }
    };

    const nearest = (event) => {
      const box = drawing.getBoundingClientRect();
      const scale = drawing.viewBox.baseVal.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      let [best, least] = [-1, (NEAR * Math.max(scale, 1)) ** 2];
      const { codes } = colouring();
      for (let i = 0; i < n; i++) {
        if (alone !== null && codes[i] !== alone) continue;
        const away = (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2;
        if (away < least) [best, least] = [i, away];
      }
      return best;
    };

    // The nearest point in the direction of an arrow key, not far beside it.
    const beyond = (right, down) => {
      let [best, least] = [at, Infinity];
      const { codes } = colouring();
      for (let i = 0; i < n; i++) {
        if (alone !== null && codes[i] !== alone) continue;
        const [x, y] = [data.x[i] - data.x[at], data.y[i] - data.y[at]];
        const along = right * x + down * y;
        const across = Math.abs(right * y) + Math.abs(down * x);
        if (along > 0 && along >= across && along + 2 * across < least) {
          [best, least] = [i, along + 2 * across];
        }
      }
      return best;
    };

    const middle = () => {
      const { codes } = colouring();
      for (let i = 0; i < n; i++) if (alone === null || codes[i] === alone) return i;
      return 0;
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
        show(at < 0 ? middle() : beyond(...arrows[event.key]));
      } else {
        return;
      }
      announce();
    });

    const mark = (k) => {
      const icon = svg("svg", { class: "mark", viewBox: "-5 -5 10 10", "aria-hidden": "true", focusable: "false" });
      icon.append(svg("path", { d: `M0 0${data.marks[k + 1][1]}`, class: `point ${data.marks[k + 1][0]}` }));
      return icon;
    };
    const explain = () => {
      const { codes, name } = colouring();
      const sizes = new Map();
      for (const k of codes) sizes.set(k, (sizes.get(k) ?? 0) + 1);
      const order = [...sizes.keys()].sort((a, b) => (a < 0) - (b < 0) || a - b);
      legend.replaceChildren(...order.map((k) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("aria-pressed", String(k === alone));
        const text = document.createElement("bdi");
        text.textContent = k < 0 && select.value === "" ? "outliers" : name(k);
        button.append(mark(k), " ", text);
        button.addEventListener("click", () => {
          alone = k === alone ? null : k;
          draw();
          for (const other of legend.querySelectorAll("button")) {
            other.setAttribute("aria-pressed", String(alone !== null && other === button));
          }
        });
        const item = document.createElement("li");
        item.append(button);
        return item;
      }));
    };

    select.addEventListener("change", () => {
      alone = null;
      pinned = false;
      show(-1);
      draw();
      explain();
    });
    byId("map-tools").addEventListener("submit", (event) => event.preventDefault());
    byId("map-tools").hidden = false;
    select.parentElement.hidden = data.labels.length === 0;
    area.tabIndex = 0;
    area.setAttribute("aria-describedby", "map-status");
    explain();
  }
}
