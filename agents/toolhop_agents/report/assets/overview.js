// The figures: a chart and a table each.

const overview = () => {
  const parts = allOf().episodes ? figures() : el("p", { class: "intro" }, "No episode has begun.");
  return el("div", { class: "overview" }, heading(), parts, runsSection());
};

const figures = () => [
  report.ablations.map(ablationSection),
  levelsSection(),
  answersSection(),
  totalsSection(),
  facetSections(),
  findingsSection(),
  errorsSection(),
  milestoneSections(),
  costSection(),
  differencesSection(),
];

const section = (id, title, intro, ...content) =>
  el(
    "section",
    { "aria-labelledby": `h-${id}` },
    el("h2", { id: `h-${id}` }, title),
    intro && el("p", { class: "intro" }, intro),
    ...content,
  );

const pair = (chart, ...tables) => el("div", { class: "pair" }, chart, el("div", {}, ...tables));

const heading = () => {
  const { episodes, items, calls, verdicts } = allOf();
  const facts = [
    [count(episodes), episodes === 1 ? "episode" : "episodes"],
    [count(items), "items"],
    [count(calls), "calls"],
    [count(verdicts.errored ?? 0), "errored"],
    [count(verdicts.unfinished ?? 0), "unfinished"],
  ].filter(([value]) => value !== "0");
  return el(
    "div",
    { class: "heading" },
    el("h1", {}, document.title),
    el("ul", { class: "facts" }, facts.map(([value, name]) => el("li", {}, el("b", {}, value), ` ${name}`))),
    effects(),
    settings(),
    underWay(),
    selected(),
  );
};

// What the page holds of runs that are too large for it, and how the rest is read.
const selected = () => {
  if (!report.selection) return null;
  const { episodes, reasons, sample } = report.selection;
  const parts = reasons.map(([why, here, all]) => `${why}: ${here === all ? "all " : `${count(here)} of `}${count(all)}`);
  return el(
    "p",
    { class: "remark", id: "selected" },
    `Figures are of all ${plural(episodes, "episode")}. To read, this page holds ${count(report.rows.length)} of them` +
      ` (${[...parts, `a sample: ${count(sample)}`].join("; ")}).` +
      " They are drawn by the SHA-256 of their names: the same run gives the same page. Any other is read with ",
    el("code", {}, "toolhop show RUN ITEM"),
    "; ",
    el("code", {}, "toolhop report --episodes N"),
    " takes more or fewer.",
  );
};

// What ablations and comparisons found, before everything else.
const effects = () =>
  [...report.ablations.flatMap((one) => one.headlines), ...report.headlines].map((text) =>
    el("p", { class: "effect" }, oneLine(text)),
  );

// What was played; settings in which runs differ have all their values.
const SHOWN = {
  agent: "agent",
  data: "data",
  modes: "mode",
  feedback: "feedback",
  perturbation: "tools shown",
  tool_order: "tool order",
  into: "scenarios",
  call_format: "tool-call format",
  limit: "limit",
  epochs: "epochs",
  turn_limit: "turn limit",
  temperature: "temperature",
  judge: "judge",
  simulator: "simulator",
  user_model: "user model",
  sandbox: "sandbox",
  seed: "seed",
};

const settings = () => {
  const valueIn = (run, name) => {
    if (name === "agent" || name === "data") return run[name];
    if (name === "sandbox") return run.sandbox.kind ?? "";
    if (name === "temperature" && !run.settings.model) return "";
    const value = run.settings[name];
    return Array.isArray(value) ? value.join(", ") : (value?.name ?? value ?? "");
  };
  const entries = Object.entries(SHOWN).map(([name, heading]) => [
    heading,
    [...new Set(report.runs.map((run) => String(valueIn(run, name))))],
  ]);
  const said = (values) => (values.some(Boolean) ? values.map((one) => one || "none").join(" / ") : "");
  return facts(Object.fromEntries(entries.map(([heading, values]) => [heading, said(values)])));
};

const underWay = () => {
  const open = report.runs.filter((run) => run.status === "started");
  if (!open.length) return null;
  const names = open.map((run) => run.label).join(", ");
  return remark(`Not ended when this page was made: ${names}. Unfinished episodes are in no figure.`);
};

const groupCell = (group) => groupBadge(group) || oneLine(group.name);

const groupColumn = (groupOf = (group) => group) => ({ name: "", label: "", cell: (one) => groupCell(groupOf(one)) });

const measureColumns = (measures, { explained = false } = {}) =>
  measures.map((measure) =>
    number(headingOf(measure), ({ figures }) => figureOf(measure, figures[measure.name]), {
      says: explained && measure.says,
    }),
  );

const episodesOf = (group, more = {}) => hashOf({ view: "episodes", filters: { group: group.tag, ...more } });

const answersSection = () =>
  section(
    "answers",
    "Answers",
    null,
    Object.entries(report.benchmarks).map(([name, benchmark]) => answerCharts(name, benchmark)),
    measureTable(ownMeasures().filter((measure) => measure.in_tables), true),
    otherMeasures(),
    el("h3", { class: "of-table" }, "Conduct"),
    measureTable(report.conduct),
    wentWrong(),
  );

// First divergences, and the kinds of error of the benchmark's paper.
const wentWrong = () => {
  const own = new Set(Object.values(report.benchmarks).flatMap(({ categories }) => categories));
  const measures = [...report.divergences, ...ownMeasures().filter(({ name }) => own.has(name))];
  const some = measures.filter(({ name }) => report.groups.some(({ figures }) => figures[name]?.[0]));
  return some.length ? [el("h3", { class: "of-table" }, "What went wrong"), measureTable(some)] : null;
};

// Those that tables leave out, such as counters of kinds of errors.
const otherMeasures = () => {
  const others = ownMeasures().filter((measure) => !measure.in_tables);
  return others.some((measure) => known(measure))
    ? fold("Other measures", { class: "others" }, measureTable(others))
    : null;
};

// Whether a measure has a figure in some part; no tokens, and no cost of them, are none.
const known = ({ name, unit }, parts = report.groups) =>
  parts.some(({ figures }) => figures[name] && (figures[name][0] || !["tokens", "USD"].includes(unit)));

// Shares share an axis; a figure of another unit has one of its own.
const answerCharts = (name, benchmark) => {
  const groups = report.groups.filter((group) => group.benchmark === name);
  const shares = answersOf(benchmark).filter((measure) => measure.unit === "share");
  const others = answersOf(benchmark).filter((measure) => measure.unit !== "share");
  const of = Object.keys(report.benchmarks).length > 1 ? `${benchmark.title}: ` : "";
  return [
    shares.length && answerChart(`${of}${shares.map(({ heading }) => heading).join(", ")}, per cent`, shares, groups, 100),
    ...others.map((measure) => answerChart(of + measure.heading, [measure], groups, 1)),
  ].filter(Boolean);
};

// The first measure is filled, the others are rings.
const answerChart = (title, measures, groups, factor) => {
  const marks = measures.flatMap((measure, place) =>
    groups
      .filter((group) => group.figures[measure.name])
      .map((group) => {
        const estimate = group.figures[measure.name];
        const limits = (limitsOf(measure, estimate) ?? []).map((limit) => factor * limit);
        return { tag: group.tag, first: !place, value: factor * estimate[0], limits };
      }),
  );
  const others = measures.slice(1).map(({ heading }) => heading);
  const note = [`filled: ${measures[0].heading}`, others.length && `ring: ${others.join(", ")}`, "lines: 95 % intervals"];
  const line = (Plot, first) =>
    Plot.ruleY(marks, {
      y: "tag",
      x1: (d) => d.limits[0],
      x2: (d) => d.limits[1],
      stroke: "tag",
      strokeWidth: first ? 3 : 1.5,
      strokeOpacity: 0.45,
      filter: (d) => d.first === first && d.limits.length,
    });
  const dot = (Plot, first) =>
    Plot.dot(marks, {
      y: "tag",
      x: "value",
      r: 5,
      stroke: "tag",
      strokeWidth: first ? 0 : 1.8,
      fill: first ? "tag" : "var(--panel)",
      filter: (d) => d.first === first,
    });
  return figure(title, note.filter(Boolean).join("; "), (Plot, width) => ({
    ...groupAxis(width, groups),
    height: 46 + 34 * groups.length,
    marginRight: 20,
    x: factor === 100 ? { domain: [0, 100], label: null, ticks: 5, tickFormat: (v) => `${v} %` } : { label: null, ticks: 5, zero: true },
    color: groupColors(),
    marks: [Plot.gridX({ ticks: 5 }), line(Plot, false), line(Plot, true), dot(Plot, false), dot(Plot, true)],
  }));
};

// The measures of all benchmarks, those of one name in one column.
const ownMeasures = () => {
  const found = new Map();
  for (const { measures } of Object.values(report.benchmarks))
    for (const measure of measures) {
      const says = new Set([...(found.get(measure.name)?.says ?? []), measure.says]);
      found.set(measure.name, { ...measure, says });
    }
  return [...found.values()].map((measure) => ({ ...measure, says: [...measure.says].join(" ") }));
};

const measureTable = (all, counted = false) => {
  const measures = all.filter((measure) => known(measure));
  const episodes = number("episodes", (group) => el("a", { href: episodesOf(group) }, episodesText(group)));
  return table([groupColumn(), counted && episodes, ...measureColumns(measures, { explained: true })], report.groups);
};

// Figures over all modes of an agent in a run, which each of its groups carries.
const totalsSection = () => {
  const found = new Map();
  for (const group of report.groups)
    found.set(JSON.stringify([group.run, group.benchmark, group.agent, group.level, group.call_format]), group);
  const groups = [...found.values()].filter((group) => Object.keys(group.totals).length);
  if (!groups.length) return null;
  const measures = ownMeasures().filter(({ name }) =>
    groups.some((group) => Object.values(group.totals).some((total) => name in total)),
  );
  const rows = groups.flatMap((group) =>
    Object.entries(group.totals).map(([total, figures]) => ({ group, total, figures })),
  );
  const columns = [
    { name: "total", cell: ({ total }) => total },
    { name: "agent", cell: ({ group }) => oneLine(group.agent) },
    report.runs.length > 1 && { name: "run", cell: ({ group }) => oneLine(report.runs[group.run].label) },
    ...measureColumns(measures),
  ];
  const said = Object.assign({}, ...groups.map((group) => benchmarkOf(group).totals));
  return section("totals", "Totals", null, table(columns, rows), legend("What the totals say", Object.entries(said)));
};

// More rows than these are folded.
const MANY_ROWS = 12;

// The figures by each facet that a benchmark names, where it splits the episodes, and otherwise than
// one before it.
const facetSections = () => {
  const seen = new Set();
  return [...new Set(report.groups.flatMap((group) => Object.keys(group.facets)))].map((facet) => {
    const lines = report.groups.flatMap((group) =>
      (group.facets[facet] ?? []).map((part) => ({ group, ...part })),
    );
    const same = lines.map((one) => JSON.stringify([one.group.index, one.episodes, one.figures])).sort().join();
    const splits = lines.length > new Set(lines.map((one) => one.group)).size;
    if (!splits || seen.has(same)) return null;
    seen.add(same);
    const measures = ownMeasures().filter((measure) => measure.in_tables && known(measure, lines));
    // What is compared stands together: the groups of one value below each other.
    const values = [...new Set(lines.map((one) => one.value))];
    lines.sort((one, other) => values.indexOf(one.value) - values.indexOf(other.value));
    const columns = [
      { name: words(facet), cell: ({ value }) => oneLine(words(value)) },
      report.groups.length > 1 && groupColumn(({ group }) => group),
      number("episodes", ({ episodes }) => count(episodes)),
      ...measureColumns(measures),
    ];
    const shown = table(columns, lines);
    const content = lines.length > MANY_ROWS ? fold(plural(lines.length, "row"), {}, shown) : shown;
    return section(`by-${facet}`, `By ${words(facet)}`, null, content);
  });
};

const episodesText = (group) => {
  const extra = ["errored", "unfinished"].filter((name) => group[name]).map((name) => `${count(group[name])} ${name}`);
  return extra.length ? `${count(group.episodes)} (${extra.join(", ")})` : count(group.episodes);
};

const findingsSection = () =>
  report.findings.length
    ? section(
        "findings",
        "Diagnosis",
        "What may be wrong with the harness or the data, and not with the agent.",
        el("ul", { class: "findings" }, report.findings.map(finding)),
      )
    : null;

const finding = (one, index) => {
  const number = one.episodes.length;
  const text = one.count > number ? `${plural(one.count, "episode")}, ${count(number)} here` : plural(number, "episode");
  const link =
    number === 1
      ? episodeLink(rowOf.get(one.episodes[0]))
      : hashOf({ view: "episodes", filters: { finding: String(index) } });
  const links = one.count > 0 && el("p", { class: "links" }, number ? el("a", { href: link }, text) : text);
  return el(
    "li",
    { class: `finding-${one.severity}` },
    el("div", {}, el("b", {}, words(one.kind)), el("span", { class: "severity" }, one.severity)),
    el("div", {}, el("p", {}, readable(one.text)), links),
  );
};

const DIFFERING = 40;

// Items on which groups, or epochs, do not agree.
const differencesSection = () => {
  const items = new Map();
  for (const row of report.rows) {
    if (!row.counts || (row.verdict !== "right" && row.verdict !== "wrong")) continue;
    if (!items.has(row.item)) items.set(row.item, []);
    items.get(row.item).push(row);
  }
  const differing = [...items].filter(([, rows]) => new Set(rows.map((row) => row.verdict)).size > 1);
  const many = report.selection?.differing ?? differing.length;
  if (!many) return null;
  const mark = (group, row) => {
    const label = `${row.verdict}, ${row.item}, ${group.name}`;
    return el("a", { href: episodeLink(row), tabindex: -1, "aria-label": label }, verdictMark(row.verdict, true));
  };
  const marks = (group, rows) => {
    const found = rows.filter((row) => row.group === group.index).slice(0, 8);
    return found.length ? el("span", { class: "marks" }, found.map((row) => mark(group, row))) : "–";
  };
  const sideBySide = (rows) => {
    const pair = ["right", "wrong"].map((verdict) => rows.find((row) => row.verdict === verdict).key);
    return el("a", { href: hashOf({ compare: pair }) }, "side by side");
  };
  const columns = [
    { name: "item", cell: ([item]) => oneLine(item) },
    ...report.groups.map((group) => ({
      name: groupChip(group),
      label: group.name,
      cell: ([, rows]) => marks(group, rows),
    })),
    { name: "", label: "compare", cell: ([, rows]) => sideBySide(rows) },
  ];
  const place = el("div", { class: "matrix" }, table(columns, differing.slice(0, DIFFERING)));
  const showAll = () => place.replaceChildren(table(columns, differing));
  const more = differing.length > DIFFERING && moreButton(`Show all ${count(differing.length)} items`, showAll);
  return section(
    "differences",
    "Where they differ",
    `${plural(many, "item")} of ${count(report.selection?.judged ?? items.size)} with right and wrong answers (${leadNames()}).` +
      (report.selection ? ` Of ${count(differing.length)} of them this page holds both, and some episodes of each.` : ""),
    report.groups.length > 1 && el("p", { class: "note" }, report.groups.map((group) => [groupBadge(group), " "])),
    place,
    more,
  );
};

const runsSection = () =>
  section(
    "runs",
    "Runs",
    null,
    report.runs.map((run, index) => {
      const state = run.status === "success" ? "ended" : run.status === "started" ? "not ended" : run.status;
      const note = el("span", { class: "note" }, ` ${state}, ${plural(allOf().runs[index] ?? 0, "episode")}`);
      return fold(
        [el("b", {}, oneLine(run.label)), note],
        { class: "run" },
        run.fault && remark(readable(run.fault)),
        run.unreadable.length ? remark(`Left out: ${run.unreadable.map(oneLine).join("; ")}`) : null,
        facts({
          agent: run.agent,
          data: run.data,
          "data digest": run.digest,
          "started at": run.started_at,
          "ended at": run.ended_at,
          ...run.settings,
          ...run.sandbox,
          ...run.versions,
        }),
      );
    }),
    el("p", { class: "note" }, `Made ${report.made_at.replace("T", " ")} by toolhop-env ${report.version}.`),
  );

// A setting of more characters has a line of its own.
const LONG_SETTING = 90;

const facts = (values) =>
  definitions(
    "settings",
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== "")
      .map(([name, value]) => [words(name), typeof value === "string" ? value : JSON.stringify(value)])
      .map(([name, text]) => [oneLine(name), oneLine(text), text.length > LONG_SETTING && "long"]),
  );
