
// Every table as csv, every figure as svg and png.
{
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "take";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  };
  // A spreadsheet would run a cell that begins like a formula.
  const cell = (text) => {
    const safe = /^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = (lines) => new Blob(
    [`\ufeff${lines.map((line) => line.map(cell).join(",")).join("\n")}\n`], { type: "text/csv" });
  document.querySelectorAll("table[data-name]").forEach((table) => {
    const text = (element) => element.textContent.trim().replace(/\s+/g, " ").replace("\u2212", "-");
    const lines = () => [...table.rows].map((row) => [...row.cells].map(text));
    const line = document.createElement("p");
    line.className = "takes";
    line.append(button("CSV", () => save(csv(lines()), `${table.dataset.name}.csv`)));
    (table.closest(".scroll") ?? table).after(line);
  });
  document.addEventListener("save-columns", ({ detail }) => save(csv(detail), "columns.csv"));

  const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity",
    "font-size", "font-weight", "font-family", "text-anchor", "paint-order", "visibility"];
  const drawing = (figure) => {
    const source = figure.querySelector("svg");
    const box = source.getBoundingClientRect();
    const copy = source.cloneNode(true);
    const [from, to] = [source, copy].map((svg) => [svg, ...svg.querySelectorAll("*")]);
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      to[i].removeAttribute("class");
      for (const name of KEPT) to[i].setAttribute(name, style.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    const paper = document.createElementNS(source.namespaceURI, "rect");
    paper.setAttribute("width", "100%");
    paper.setAttribute("height", "100%");
    paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
    copy.prepend(paper);
    return { blob: new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }), box };
  };
  const picture = (figure, name) => {
    const { blob, box } = drawing(figure);
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * box.width, 2 * box.height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((made) => save(made, `${name}.png`));
      URL.revokeObjectURL(image.src);
    };
    image.src = URL.createObjectURL(blob);
  };
  document.querySelectorAll("figure[data-name]").forEach((figure) => {
    const { name } = figure.dataset;
    const line = document.createElement("p");
    line.className = "takes";
    line.append(
      button("SVG", () => save(drawing(figure).blob, `${name}.svg`)), " ",
      button("PNG", () => picture(figure, name)));
    figure.append(line);
  });
}
