// Text of models and tools as it can be read: nothing hidden, nothing that turns its neighbours.

const UNSEEN = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;
const UNSEEN_ALL = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

const codePoint = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

// Nodes for a text: control characters, marks of direction and halves of surrogate pairs are named.
const readable = (text) => {
  if (!UNSEEN.test(text)) return [text];
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN_ALL)) {
    if (found[0] === "\n" || found[0] === "\t") continue;
    nodes.push(text.slice(from, found.index), el("span", { class: "unseen-character" }, codePoint(found[0])));
    from = found.index + found[0].length;
  }
  nodes.push(text.slice(from));
  return nodes.filter((node) => node !== "");
};

// The same on one line, as plain text.
const oneLine = (text) => text.replace(UNSEEN_ALL, (c) => (/\s/u.test(c) ? " " : `[${codePoint(c)}]`));

const LONG = 6000;

// A block of foreign text; a very long one is cut until asked for.
const block = (text, { nodes = readable, kind = "" } = {}) => {
  const pre = el("pre", { class: `foreign ${kind}`, dir: "auto" });
  if (text.length <= LONG) {
    pre.append(...nodes(text));
    return pre;
  }
  pre.append(...readable(text.slice(0, LONG)));
  const showAll = () => pre.replaceChildren(...nodes(text));
  return el("div", {}, pre, moreButton(`Show all ${count(text.length)} characters`, showAll));
};

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/gu;
const WIDTH = 76;

// JSON indented for reading. Its own tokens are kept, so that no number is rounded and no key that
// stands twice is lost; null where the text is not a JSON object or list.
const prettyJson = (text) => {
  if (!/^\s*[[{]/u.test(text) || text.length > 200000) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(TOKEN);
  const ends = closings(tokens);
  const nodes = [];
  let depth = 0;
  let flat = 0;
  const newline = () => nodes.push(`\n${"  ".repeat(depth)}`);
  tokens.forEach((token, index) => {
    if (token === "{" || token === "[") {
      nodes.push(token);
      depth += 1;
      const short = ends[index] === index + 1 || widthOf(tokens, index, ends[index]) <= WIDTH - 2 * depth;
      if (flat || short) flat += 1;
      else newline();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      if (flat) flat -= 1;
      else newline();
      nodes.push(token);
    } else if (token === ",") {
      nodes.push(flat ? ", " : ",");
      if (!flat) newline();
    } else if (token === ":") {
      nodes.push(": ");
    } else {
      const kind = token[0] !== '"' ? "literal" : tokens[index + 1] === ":" ? "key" : "string";
      nodes.push(el("span", { class: `json-${kind}` }, readable(token)));
    }
  });
  return nodes;
};

const closings = (tokens) => {
  const open = [];
  const ends = {};
  tokens.forEach((token, index) => {
    if (token === "{" || token === "[") open.push(index);
    else if (token === "}" || token === "]") ends[open.pop()] = index;
  });
  return ends;
};

const widthOf = (tokens, from, to) => {
  let width = 0;
  for (let index = from; index <= to && width <= WIDTH; index += 1) width += tokens[index].length + 1;
  return width;
};

const jsonOrText = (text) => prettyJson(text) ?? readable(text);

const count = (value) => value.toLocaleString("en");

const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

const seconds = (value) => {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return `${Math.max(1, Math.round(value * 1e6))} µs`;
  if (value < 1) return `${value < 0.1 ? (value * 1000).toFixed(1) : Math.round(value * 1000)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
};

// Nothing where nothing was taken, as by scripted agents.
const took = (value, text) => (value ? text(value) : null);

const money = (value) =>
  value === null || value === undefined ? "price unknown" : value === 0 ? "$0" : `$${value.toPrecision(3)}`;

const UNITS = {
  share: (value) => (100 * value).toFixed(1),
  points: (value) => value.toFixed(2),
  tokens: (value) => count(Math.round(value)),
  s: seconds,
  USD: money,
};

const inUnit = ({ unit }, value) => (UNITS[unit] ?? ((mean) => mean.toFixed(1)))(value);

const headingOf = ({ heading, unit }) => (unit === "share" ? `${heading} %` : heading);

// The limits of an estimate: of a share its interval, of points those of its standard error.
const limitsOf = ({ unit }, [value, error, , low, high]) =>
  unit === "share" ? [low, high] : unit === "points" && error ? [value - 1.96 * error, value + 1.96 * error] : null;

// A figure over episodes; a share with its interval, points with their standard error.
const figureOf = (measure, estimate) => {
  if (estimate === undefined) return "";
  if (estimate === null) return "–";
  const [value, error, , ...limits] = estimate;
  const spread =
    measure.unit === "share"
      ? ` [${limits.map((limit) => inUnit(measure, limit)).join(", ")}]`
      : measure.unit === "points" && error && ` ± ${inUnit(measure, error)}`;
  return [inUnit(measure, value), spread && el("span", { class: "error-of" }, spread)].filter(Boolean);
};

// The value of one episode: a number, or how much of how much.
const valueOf = (measure, value) => {
  if (value === null || value === undefined) return "not scored";
  if (measure.binary) return value ? "yes" : "no";
  if (!Array.isArray(value)) return measure.unit === "share" ? `${inUnit(measure, value)} %` : inUnit(measure, value);
  const [part, whole] = value;
  return measure.unit === "share" ? `${Number(part.toPrecision(3))} of ${whole}` : inUnit(measure, part / whole);
};

const words = (name) => String(name).replaceAll("_", " ");
