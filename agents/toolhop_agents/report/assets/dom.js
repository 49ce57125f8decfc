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
// and values on a small screen, or where there are few of them; else the columns go below each other
// in parts, each beside the first ones. The first cell of a row is its head. Roles are named, as
// lists lose those of a table. A column has a name and what its cells say of a record; columns that are
// false are left out.
const SMALL = 1080;
const FEW = 2;

const table = (given, records) => {
  const columns = given.filter(Boolean);
  const rows = records.map((record) => columns.map(({ cell }) => cell(record)));
  const all = columns.map((_, index) => index);
  const place = el("div", { class: "scroll", role: "region", "aria-label": "table" });
  const draw = (parts) => {
    place.replaceChildren(...parts.map((part, place) => tablePart(columns, rows, part, place > 0)));
  };
  draw([all]);
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width) return;
    width = entry.contentRect.width;
    if (place.children.length > 1) draw([all]);
    const over = () => width > 0 && place.scrollWidth > place.clientWidth + 1;
    const [made] = place.children;
    made.classList.remove("cards");
    place.removeAttribute("tabindex");
    if (!over()) return;
    if (window.innerWidth < SMALL || rows.length <= FEW) {
      made.classList.add("cards");
      return;
    }
    draw(inParts(columns, [...made.tHead.rows[0].cells].map((cell) => cell.offsetWidth), place.clientWidth));
    if (over()) place.tabIndex = 0;
  }).observe(place);
  const said = columns.filter(({ says }) => says).map(({ name, says }) => [name, says]);
  return said.length ? [place, legend("What the columns say", said)] : place;
};

// Parts that recur: what is folded under a summary, remarks, names with values, labelled fields.
const fold = (summary, attributes, ...content) =>
  el("details", attributes, el("summary", {}, summary), content);

const remark = (...content) => el("p", { class: "remark" }, content);

const definitions = (kind, pairs) =>
  el(
    "dl",
    { class: kind },
    pairs.map(([name, value, more]) => el("div", { class: more }, el("dt", {}, name), el("dd", {}, value))),
  );

const select = (id, onvalue, ...options) =>
  el("select", { id, onchange: (event) => onvalue(event.target.value) }, options);

// A button that shows the rest, once.
const moreButton = (text, showAll) => {
  const onclick = ({ target }) => {
    showAll();
    target.remove();
  };
  return el("button", { type: "button", class: "more", onclick }, text);
};

const picker = (label, control) =>
  el("label", { class: "picker" }, el("span", { class: "unseen" }, label), control);

// A column of numbers.
const number = (name, cell, more = {}) => ({ name, cell, number: true, ...more });

// What names mean, to open with a key as well as with a pointer.
const legend = (title, said) => fold(title, { class: "legend note" }, definitions(null, said));

// One part of a table: some of its columns. Nodes of a row's head can stand in one place alone, so
// that further parts have copies.
const tablePart = (columns, rows, part, copied) => {
  const head = ({ number, name }) =>
    el("th", { scope: "col", role: "columnheader", class: number && "number" }, nodesOf(name, copied));
  const cell = (content, index) => {
    const { number, label, name } = columns[index];
    if (index === 0) return el("th", { scope: "row", role: "rowheader" }, nodesOf(content, copied));
    const empty = content === "" || content?.length === 0;
    const attributes = { role: "cell", class: number && "number", "data-label": label ?? name };
    return el("td", attributes, empty ? null : el("span", {}, number ? content : nodesOf(content, copied)));
  };
  const line = (cells) => el("tr", { role: "row" }, part.map((index) => cell(cells[index], index)));
  return el(
    "table",
    { role: "table" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, part.map((index) => head(columns[index])))),
    el("tbody", { role: "rowgroup" }, rows.map(line)),
  );
};

const nodesOf = (content, copied) =>
  [content].flat(Infinity).map((one) => (copied && one instanceof Node ? one.cloneNode(true) : one));

// The columns in as few parts as have room, as many in each: those before the first number in all.
const inParts = (columns, widths, room) => {
  const first = Math.max(1, columns.findIndex((column) => column.number));
  const keys = columns.slice(0, first).map((_, index) => index);
  const others = columns.slice(first).map((_, index) => index + first);
  const fits = (part) => part.reduce((sum, index) => sum + widths[index], 0) <= room;
  for (let number = 2; number < others.length; number += 1) {
    const size = Math.ceil(others.length / number);
    const parts = Array.from({ length: Math.ceil(others.length / size) }, (_, index) => [
      ...keys,
      ...others.slice(index * size, (index + 1) * size),
    ]);
    if (parts.every(fits)) return parts;
  }
  return others.map((index) => [...keys, index]);
};
