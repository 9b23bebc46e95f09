
// Every table as csv, every figure as svg and png.
{
  const save = (blob, name) => {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const take = (textContent, act) => button({ className: "take", textContent }, act);
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
    const line = make("p", { className: "takes" },
      take("CSV", () => save(csv(lines()), `${table.dataset.name}.csv`)));
    (table.closest(".scroll") ?? table).after(line);
  });
  document.addEventListener("save-columns", ({ detail }) => save(csv(detail), "columns.csv"));

  const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity",
    "font-size", "font-weight", "font-family", "text-anchor", "paint-order", "visibility"];
  // A drawing that needs no style sheet, at its place in the figure.
  const copied = (source, frame) => {
    const box = source.getBoundingClientRect();
    const copy = source.cloneNode(true);
    const [from, to] = [source, copy].map((each) => [each, ...each.querySelectorAll("*")]);
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      to[i].removeAttribute("class");
      for (const name of KEPT) to[i].setAttribute(name, style.getPropertyValue(name));
    });
    for (const key of ["width", "height"]) copy.setAttribute(key, box[key]);
    copy.setAttribute("x", box.left - frame.left);
    copy.setAttribute("y", box.top - frame.top);
    return copy;
  };
  // A line of a list or a cell of a table: its colour, and its text.
  const written = (item, frame) => {
    const { left, top, width, height } = item.getBoundingClientRect();
    const { backgroundColor, color, fontSize, fontFamily, textAlign } = getComputedStyle(item);
    const middle = textAlign === "center";
    const at = { x: left - frame.left, y: top - frame.top };
    const mark = item.querySelector(".mark") && !middle ? 20 : 0;
    const rest = middle && item.querySelector(".mark") ? height / 4 : 0;
    return [
      svg("rect", { ...at, width, height, fill: backgroundColor }),
      svg("text", { x: at.x + (middle ? width / 2 : mark), y: at.y + height / 2 + 5 + rest, fill: color,
        "font-size": fontSize, "font-family": fontFamily, "text-anchor": middle ? "middle" : "start" },
      item.textContent.trim().replace(/\s+/g, " ")),
    ];
  };
  const drawing = (figure) => {
    // The names of a tree are text of the page beside its drawing.
    const place = figure.matches("table") ? figure : figure.querySelector(".tree") ?? figure.querySelector("svg");
    const box = place.getBoundingClientRect();
    const texts = [...place.querySelectorAll("li, th, td")].flatMap((item) => written(item, box));
    const parts = place.matches("svg") ? [place] : place.querySelectorAll("svg");
    const paper = svg("rect", { width: "100%", height: "100%",
      fill: getComputedStyle(document.body).backgroundColor });
    const whole = svg("svg", { width: box.width, height: box.height }, paper, ...texts,
      ...[...parts].map((part) => copied(part, box)));
    return { blob: new Blob([new XMLSerializer().serializeToString(whole)], { type: "image/svg+xml" }), box };
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
  document.querySelectorAll("figure[data-name], table.heat").forEach((figure) => {
    const { name } = figure.dataset;
    let line = figure.closest(".scroll")?.nextElementSibling;
    if (!line) {
      line = make("p", { className: "takes" });
      figure.append(line);
    }
    line.append(
      " ", take("SVG", () => save(drawing(figure).blob, `${name}.svg`)),
      " ", take("PNG", () => picture(figure, name)));
  });
}
