// Which episodes are listed, and in which order.

const VERDICTS = {
  right: ["right", (row) => row.verdict === "right"],
  wrong: ["wrong", (row) => row.verdict === "wrong"],
  scored: ["scored", (row) => row.verdict === "scored"],
  unscored: ["not scored yet", (row) => row.verdict === "unscored"],
  differ: ["scorers differ", scorersDiffer],
  failed: ["with a failed call", (row) => Object.keys(row.codes).length > 0],
  branch: ["branches", (row) => row.parent !== ""],
  errored: ["errored", (row) => row.verdict === "errored"],
  unfinished: ["unfinished", (row) => row.verdict === "unfinished"],
};

const SORTS = {
  "": ["as played", null],
  item: ["by item", (a, b) => a.item.localeCompare(b.item, "en", { numeric: true })],
  calls: ["most calls", (a, b) => b.calls - a.calls],
  failed: ["most failed calls", (a, b) => failures(b) - failures(a)],
  tokens: ["most tokens", (a, b) => b.tokens[0] + b.tokens[1] - a.tokens[0] - a.tokens[1]],
  time: ["longest", (a, b) => (b.wall ?? 0) - (a.wall ?? 0)],
};

const failures = (row) => Object.values(row.codes).reduce((sum, number) => sum + number, 0);

const PLAIN = {
  benchmark: ["Benchmark", (row) => row.benchmark],
  run: ["Run", (row) => report.runs[row.run].label],
  mode: ["Mode", (row) => row.mode],
  level: ["Feedback", (row) => row.level],
  domain: ["Domain", (row) => row.domain],
};

const optionsOf = (read) => {
  const found = new Map();
  for (const row of report.rows)
    for (const value of [read(row)].flat()) if (value) found.set(value, (found.get(value) ?? 0) + 1);
  return [...found].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
};

const terms = (query) => [...query.matchAll(/"([^"]+)"|(\S+)/gu)].map((found) => found[1] ?? found[2]);

const patterns = (query) =>
  terms(query).map((term) => new RegExp(term.replace(/[\\^$.*+?()[\]{}|]/gu, "\\$&"), "iu"));

// Rows that pass, and for each that was found by its text, where.
const listed = (filters) => {
  const tests = [];
  if (VERDICTS[filters.verdict]) tests.push(VERDICTS[filters.verdict][1]);
  for (const [name, [, read]] of Object.entries(PLAIN))
    if (filters[name]) tests.push((row) => read(row) === filters[name]);
  if (filters.group) tests.push((row) => report.groups[row.group].tag === filters.group);
  if (filters.error) tests.push((row) => row.codes[filters.error]);
  const found = report.findings[filters.finding];
  if (found) tests.push((row) => found.episodes.includes(row.key));
  if (filters.item) {
    const wanted = filters.item.toLowerCase();
    tests.push((row) => row.item.toLowerCase().includes(wanted));
  }
  const wanted = filters.q ? patterns(filters.q) : [];
  const hits = new Map();
  const rows = report.rows.filter((row) => {
    if (!tests.every((test) => test(row))) return false;
    if (!wanted.length) return true;
    const hit = hitIn(texts[row.index], wanted);
    if (hit) hits.set(row, hit);
    return Boolean(hit);
  });
  const order = SORTS[filters.sort ?? ""]?.[1];
  return { rows: order ? rows.sort(order) : rows, hits };
};

// Where the words are, if every one of them is in some part: the first part that has them all, or
// else the first that has one.
const hitIn = (parts, wanted) => {
  if (!parts || !wanted.every((pattern) => parts.some(([, text]) => pattern.test(text)))) return null;
  const [call, text, turn] =
    parts.find(([, text]) => wanted.every((pattern) => pattern.test(text))) ??
    parts.find(([, text]) => wanted[0].test(text));
  return {
    call,
    turn,
    text,
    from: Math.min(...wanted.map((pattern) => text.search(pattern)).filter((at) => at >= 0)),
  };
};

const BEFORE = 24;
const AFTER = 160;

const snippet = (hit, query) => {
  const from = Math.max(0, hit.from - BEFORE);
  const text = hit.text.slice(from, hit.from + AFTER);
  return [from ? "…" : "", marked(text, query)];
};

// A text on one line with the words of a query marked.
const marked = (text, query) => {
  const words = new RegExp(patterns(query).map((pattern) => pattern.source).join("|"), "giu");
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(words)) {
    nodes.push(oneLine(text.slice(from, found.index)), el("mark", {}, oneLine(found[0])));
    from = found.index + found[0].length;
  }
  return [...nodes, oneLine(text.slice(from))];
};

// The bar above the list. `change(name, value)` gets every choice.
const filterBar = (filters, change) => {
  const labelled = (label, control) => el("label", {}, el("span", {}, label), control);
  const choice = (name, label, options) => {
    if (options.length <= (name === "error" ? 0 : 1) && !filters[name]) return null;
    const shown = options.map(([value, number, text]) =>
      el("option", { value, selected: filters[name] === value }, `${oneLine(text ?? words(value))} (${count(number)})`),
    );
    const all = el("option", { value: "" }, "all");
    return labelled(label, select(`filter-${name}`, (value) => change(name, value), all, shown));
  };
  const plain = (name) => choice(name, PLAIN[name][0], optionsOf(PLAIN[name][1]));
  const verdicts = Object.entries(VERDICTS)
    .map(([name, [text, test]]) => [name, report.rows.filter(test).length, text])
    .filter(([, number]) => number);
  const groups = report.groups.map((group) => [
    group.tag,
    report.rows.filter((row) => row.group === group.index).length,
    `${group.tag} ${group.name}`,
  ]);
  const typed = (name, attributes) =>
    el("input", {
      ...attributes,
      autocomplete: "off",
      spellcheck: "false",
      value: filters[name] ?? "",
      oninput: (event) => change(name, event.target.value.trim(), 150),
    });
  const search = typed("q", {
    type: "search",
    id: "search",
    placeholder: "Search everything that was said",
    "aria-label": "Search the full text of all episodes",
  });
  const orders = Object.entries(SORTS).map(([value, [text]]) =>
    el("option", { value, selected: (filters.sort ?? "") === value }, text),
  );
  const selects = [
    choice("verdict", "Verdict", verdicts),
    choice("group", report.ablations.length ? "Arm" : "Group", groups),
    plain("benchmark"),
    report.runs.length < report.groups.length &&
      choice("run", "Run", optionsOf(PLAIN.run[1]).map(([value, number]) => [value, number, value])),
    choice(
      "finding",
      "Diagnosis",
      report.findings.map((one, index) => [String(index), one.episodes.length, words(one.kind)]),
    ),
    plain("mode"),
    plain("level"),
    choice("error", "Error code", optionsOf((row) => Object.keys(row.codes))),
    plain("domain"),
    labelled("Item id", typed("item", { id: "filter-item", type: "text" })),
    labelled("Order", select("filter-sort", (value) => change("sort", value), orders)),
  ];
  const used = FILTERS.filter((name) => name !== "q" && name !== "sort" && filters[name]).length;
  return el(
    "search",
    { class: "filters" },
    search,
    fold(
      used ? `Filters (${used})` : "Filters",
      { class: "more-filters", open: used > 0 || window.innerWidth > 900 },
      el("div", { class: "choices" }, selects),
    ),
  );
};
