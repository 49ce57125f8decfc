// Elements are made from values, never from markup: no text of an episode can become an element.

const SVG = "http://www.w3.org/2000/svg";

const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
};

const byId = (id) => document.getElementById(id);

const say = (text) => {
  byId("said").textContent = text;
};

const icon = (path, label) => {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
};

const MARKS = {
  right: ["M3 8.5l3.2 3.2L13 4.8", "right"],
  wrong: ["M4 4l8 8M12 4l-8 8", "wrong"],
  scored: ["M3 12V8M8 12V4M13 12V6", "scored"],
  unscored: ["M6 6a2 2 0 1 1 2.6 1.9V9.5M8.6 12.5v.01", "not scored"],
  errored: ["M3.5 8h9", "errored"],
  unfinished: ["M3 8h.01M8 8h.01M13 8h.01", "unfinished"],
};

const verdictMark = (verdict, hidden = false) => {
  const [path, label] = MARKS[verdict] ?? MARKS.errored;
  return el("span", { class: `mark-${verdict} verdict-mark` }, icon(path, hidden ? null : label));
};

// A table whose rows stay rows where its columns fit. Where they do not, each row is a list of labels
// and values on a small screen, or where there are few of them; else the table is moved within its
// own place. The first cell of a row is its head. Roles are named, as lists lose those of a table.
const SMALL = 1080;
const FEW = 2;

const table = (caption, columns, rows) => {
  const head = (c) =>
    el("th", { scope: "col", role: "columnheader", class: c.number && "number", title: c.title }, c.name);
  const cell = (content, index) => {
    if (index === 0) return el("th", { scope: "row", role: "rowheader" }, content);
    const { number, label, name } = columns[index];
    const empty = content === "" || content?.length === 0;
    const attributes = { role: "cell", class: number && "number", "data-label": label ?? name };
    return el("td", attributes, empty ? null : el("span", {}, content));
  };
  const made = el(
    "table",
    { role: "table" },
    caption && el("caption", {}, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, columns.map(head))),
    el(
      "tbody",
      { role: "rowgroup" },
      rows.map((cells) => el("tr", { role: "row" }, cells.map(cell))),
    ),
  );
  const place = el("div", { class: "scroll", role: "region", "aria-label": "table" }, made);
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width) return;
    width = entry.contentRect.width;
    made.classList.remove("cards");
    const over = width > 0 && place.scrollWidth > place.clientWidth + 1;
    const list = over && (window.innerWidth < SMALL || rows.length <= FEW);
    made.classList.toggle("cards", list);
    if (over && !list) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  }).observe(place);
  return place;
};
