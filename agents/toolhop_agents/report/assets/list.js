// The list of episodes. Only the rows in view are in the document.

const ROW = 58;
const BEYOND = 6;

const episodeList = (open) => {
  let rows = [];
  let hits = new Map();
  let query = "";
  let active = 0;
  let opened = null;
  let first = -1;
  let last = -1;
  const space = el("div", { class: "space", role: "presentation" });
  const name = "Episodes: arrow keys to move, Enter to open";
  const box = el("div", { class: "list", id: "list", role: "listbox", tabindex: "0", "aria-label": name }, space);

  const draw = (force = false) => {
    const from = Math.max(0, Math.floor(box.scrollTop / ROW) - BEYOND);
    const to = Math.min(rows.length, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / ROW) + BEYOND);
    if (!force && from === first && to === last) return;
    [first, last] = [from, to];
    space.style.height = `${rows.length * ROW}px`;
    space.replaceChildren(...rows.slice(from, to).map((row, offset) => line(row, from + offset)));
    if (active >= from && active < to) box.setAttribute("aria-activedescendant", `row-${rows[active].index}`);
    else box.removeAttribute("aria-activedescendant");
  };

  const line = (row, place) => {
    const failed = failures(row);
    const hit = hits.get(row);
    const notes = [
      row.epoch > 1 && `epoch ${row.epoch}`,
      row.attempt > 1 && `attempt ${row.attempt}`,
      row.parent && "branch",
      !row.counts && row.verdict !== "unfinished" && "not counted",
    ];
    const facts = [
      failed ? el("span", { class: "failed" }, `${failed} failed`) : null,
      row.verdict === "scored" ? ` ${leadValue(row)}` : row.milestones[1] ? ` ${row.milestones.join("/")}` : null,
    ];
    return el(
      "div",
      {
        class: `row${place === active ? " active" : ""}${row === opened ? " opened" : ""}`,
        id: `row-${row.index}`,
        role: "option",
        "aria-selected": row === opened ? "true" : "false",
        "aria-setsize": rows.length,
        "aria-posinset": place + 1,
        style: `top: ${place * ROW}px`,
        onclick: () => {
          move(place);
          open(row, hit);
        },
      },
      verdictMark(row.verdict),
      el(
        "div",
        { class: "row-text" },
        el(
          "div",
          { class: "row-head" },
          el("b", {}, oneLine(row.item)),
          groupBadge(report.groups[row.group]),
          notes.filter(Boolean).map((note) => el("span", { class: "note" }, note)),
          el("span", { class: "row-facts" }, facts),
        ),
        el("div", { class: "row-more" }, hit ? snippet(hit, query) : oneLine(row.question)),
      ),
    );
  };

  const move = (place) => {
    active = Math.max(0, Math.min(rows.length - 1, place));
    const top = active * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
    draw(true);
  };

  const page = () => Math.max(1, Math.floor(box.clientHeight / ROW) - 1);
  const steps = {
    ArrowDown: () => active + 1,
    ArrowUp: () => active - 1,
    PageDown: () => active + page(),
    PageUp: () => active - page(),
    Home: () => 0,
    End: () => rows.length - 1,
  };
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !rows.length) return;
    if (steps[event.key]) move(steps[event.key]());
    else if (event.key === "Enter" || event.key === " ") open(rows[active], hits.get(rows[active]));
    else return;
    event.preventDefault();
  });
  box.addEventListener("scroll", () => draw(), { passive: true });
  new ResizeObserver(() => draw()).observe(box);

  return {
    node: box,
    // Show other rows; the one that was active stays so if it is still there.
    show(found, foundHits, sought) {
      const kept = rows[active];
      [rows, hits, query] = [found, foundHits, sought];
      active = Math.max(0, rows.indexOf(kept));
      box.scrollTop = Math.min(box.scrollTop, Math.max(0, active * ROW));
      draw(true);
    },
    open(row) {
      opened = row;
      const place = rows.indexOf(row);
      const top = place * ROW;
      if (place >= 0 && (top < box.scrollTop || top + ROW > box.scrollTop + box.clientHeight))
        box.scrollTop = Math.max(0, top - box.clientHeight / 2);
      if (place >= 0) active = place;
      draw(true);
    },
    neighbour(row, step) {
      const place = rows.indexOf(row);
      return place < 0 ? null : rows[place + step];
    },
  };
};
