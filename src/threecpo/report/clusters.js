
// The table of clusters: sorts, opens cards, and is linked with the map both ways.
{
  const table = byId("overview");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const cards = [...byId("cards").children];
  let open = -1;

  const pick = (k, scroll) => {
    open = k;
    cards.forEach((card, place) => { card.hidden = place !== k; });
    table.parentElement.classList.toggle("beside", k >= 0);
    rows.forEach((row) => row.classList.toggle("picked", Number(row.dataset.cluster) === k));
    if (scroll && k >= 0) {
      cards[k].focus({ preventScroll: true });
      const { top } = cards[k].getBoundingClientRect();
      if (top < 0 || top > 0.7 * innerHeight) cards[k].scrollIntoView({ block: "nearest" });
    }
  };
  for (const row of rows) {
    const k = Number(row.dataset.cluster);
    row.addEventListener("pointerenter", () => tell("over-cluster", k));
    row.addEventListener("pointerleave", () => tell("over-cluster", null));
    row.addEventListener("focusin", () => tell("over-cluster", k));
    row.addEventListener("focusout", () => tell("over-cluster", null));
    row.addEventListener("click", (event) => {
      event.preventDefault();
      pick(open === k ? -1 : k, true);
    });
  }
  document.addEventListener("over-point", ({ detail }) => {
    for (const row of rows) row.classList.toggle("over", Number(row.dataset.cluster) === detail);
  });
  document.addEventListener("pick-cluster", ({ detail }) => pick(detail, false));
  // Links to a card from elsewhere in the page open it first.
  const follow = () => {
    const found = location.hash.match(/^#cluster-(\d+)$/);
    if (found && cards[Number(found[1])]) pick(Number(found[1]), true);
    const inside = /^#[\w-]+$/.test(location.hash) && document.querySelector(location.hash);
    const folded = inside && inside.closest("details");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#cluster-']");
    if (link && !table.contains(link) && link.hash === location.hash) follow();
  });
  // All of them are printed.
  addEventListener("beforeprint", () => { for (const card of cards) card.hidden = false; });
  addEventListener("afterprint", () => pick(open, false));

  const number = (cell) => Number(cell.textContent.replace(/[^\d.]/g, ""));
  const { compare } = new Intl.Collator("en", { numeric: true });
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const numeric = head.classList.contains("n");
    const value = (row) => row.cells[place].textContent.trim();
    head.append(button({}, () => {
      const sign = sortsDown(head, numeric) ? -1 : 1;
      rows.sort((a, b) => sign * (numeric
        ? number(a.cells[place]) - number(b.cells[place]) : compare(value(a), value(b))));
      body.append(...rows);
    }, ...head.childNodes));
  });
  // Few clusters leave room for the first card beside the map.
  const roomy = innerWidth > 960 && table.offsetHeight < 0.35 * innerHeight;
  pick(roomy && rows.length > 1 ? 0 : -1, false);
  follow();
}
