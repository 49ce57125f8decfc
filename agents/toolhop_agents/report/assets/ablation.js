// What an ablation found: effects with intervals, what they are made of, and discordant pairs.

const ablationSection = (one, index) => {
  const main = one.rows.filter((row) => row.design === one.design && row.population === one.main);
  if (!main.some((row) => row.effect))
    return section(`ablation-${index}`, `Ablation of ${words(one.factor)}`, "There is nothing to compare yet.");
  return section(
    `ablation-${index}`,
    `Ablation of ${words(one.factor)}`,
    one.design === "forked"
      ? "Episodes were forked at their first failed call: the same turns before it, another level after it."
      : "Each level was played in episodes of its own, paired by item and epoch.",
    effectChart(one, merged(main)),
    effectTable(one, merged(main)),
    el("p", { class: "note" }, oneLine(one.legend)),
    others(one, main),
    breakdown(one, "by_code", "code"),
    breakdown(one, "by_hop", benchmarkOf(one).milestone),
    discordantPairs(one),
  );
};

// Rows with their prefix levels: what is the same under several is one row.
const merged = (rows) => {
  const found = new Map();
  for (const row of rows.filter((one) => one.effect)) {
    const key = JSON.stringify([row.first, row.second, row.design, row.population, row.rule, row.effect]);
    const name = row.prefix ? [row.prefix] : [];
    if (found.has(key)) found.get(key).prefixes.push(...name);
    else found.set(key, { ...row, prefixes: name });
  }
  return [...found.values()];
};

const effectName = (row) =>
  `${row.first} → ${row.second}${row.prefix ? `, after ${row.prefix}` : ""}${row.design === "independent" && row.prefix ? ", separate" : ""}`;

// The levels with the badges of their arms.
const levelsCell = (row) => {
  const arm = (level) => {
    const forked = row.design === "forked" && row.prefix && row.prefix !== level;
    const name = forked ? `${row.prefix}-then-${level}` : level;
    return report.groups.find((group) => report.ablations.length === 1 && report.runs[group.run].arm === name);
  };
  const side = (level) => {
    const group = row.prefixes.length < 2 && arm(level);
    return group ? [groupChip(group), ` ${level}`] : level;
  };
  return [side(row.first), " → ", side(row.second)];
};

const population = (row) => (row.population === "failed" ? "with a failed call" : "all");

const scorerOf = (one, row) => measureOf(benchmarkOf(one), row.rule);

const effectChart = (one, rows) => {
  const lead = leadOf(benchmarkOf(one));
  const under = (row) => (row.prefixes.length ? `, forked under ${row.prefixes.join(", ")}` : "");
  const marks = rows
    .filter((row) => row.rule === lead.name)
    .map((row) => ({ ...row.effect, label: `${row.first} → ${row.second}${under(row)}` }));
  return differenceChart(`${Number((100 * one.confidence).toFixed(2))} %`, lead, marks);
};

// A value of a table of effects, in the measure's unit; none where the measure has no such figure.
const cellOf = (measure, value) => (value === null ? "–" : inUnit(measure, value));

// The other populations and designs, but for what says the same as the first table.
const others = (one, main) => {
  const same = (row) => JSON.stringify([row.second, row.prefix, row.rule, row.effect]);
  const said = new Set(main.map(same));
  const rows = one.rows.filter(
    (row) => row.effect && !main.includes(row) && !(row.design === one.design && said.has(same(row))),
  );
  if (!rows.length) return null;
  const caveat =
    "Independent episodes with a failed call were chosen by what one level's own run did, which lets chance favour the other level there. Forked pairs are free of that.";
  return fold(
    "Other episodes and designs",
    { class: "further" },
    rows.some((row) => row.design !== one.design) && el("p", { class: "intro note" }, caveat),
    effectTable(one, merged(rows)),
  );
};

// Columns of any table of effects; `of` gives the measure and the figures of a row.
const effectColumns = (levels, of) => {
  const [first, second] = levelNames(levels);
  const counted = (value) => (value === null ? "–" : count(value));
  return [
    { name: "measure", cell: (row) => headingOf(of(row)[0]) },
    number("pairs", (row) => count(of(row)[1].pairs)),
    number(first, (row) => cellOf(of(row)[0], of(row)[1].first)),
    number(second, (row) => cellOf(of(row)[0], of(row)[1].second)),
    number("right → wrong", (row) => counted(of(row)[1].to_incorrect)),
    number("wrong → right", (row) => counted(of(row)[1].to_correct)),
  ];
};

// Two levels by name where all rows compare the same two.
const levelNames = (levels) =>
  new Set(levels.map((two) => JSON.stringify(two))).size === 1 ? levels[0] : ["first level", "second level"];

const effectTable = (one, rows) => {
  const differ = (read) => new Set(rows.map(read)).size > 1;
  const of = (row) => [scorerOf(one, row), row.effect];
  const design = (row) => row.design;
  // Only what tells rows apart has a column.
  const columns = [
    { name: "levels", cell: levelsCell },
    rows.some((row) => row.prefixes.length) && { name: "forked under", cell: (row) => row.prefixes.join(", ") },
    differ(population) && { name: "episodes", cell: population },
    differ(design) && { name: "design", cell: design },
    ...effectColumns(rows.map(({ first, second }) => [first, second]), of),
    number("difference", (row) => withInterval(...of(row))),
    number("p", ({ effect }) => chance(effect.p_value)),
    number("p (Holm)", ({ effect }) => chance(effect.p_corrected)),
    number("minimum detectable", (row) => cellOf(scorerOf(one, row), row.effect.detectable)),
  ];
  return [table(columns, rows), disagreements(rows.map((row) => [effectName(row), row.effect]))];
};

// Why an interval and its p seem to contradict each other, where they do.
const disagreements = (named) =>
  named
    .filter(([, e]) => e?.disagreement)
    .map(([name, e]) => el("p", { class: "note" }, oneLine(name), `: ${e.disagreement}`));

const withInterval = (measure, e) => [
  signed(measure, e.difference),
  e.low === null
    ? null
    : el("span", { class: "error-of" }, ` ${signed(measure, e.low)} to ${signed(measure, e.high)}`),
];

const chance = (p) => (p === null ? "–" : p < 0.0001 ? "< 0.0001" : p.toFixed(4));

const breakdown = (one, kind, word) => {
  const rows = one.rows
    .filter(({ design }) => design === one.design)
    .flatMap((row) => Object.entries(row[kind]).map(([name, e]) => ({ row, name, e })));
  if (!rows.length) return null;
  const levels = one.rows.map(({ first, second }) => [first, second]);
  const columns = [
    { name: word, cell: ({ name }) => (kind === "by_hop" && name !== "none" ? `${word} ${name}` : words(name)) },
    { name: "levels", cell: ({ row }) => effectName(row) },
    ...effectColumns(levels, ({ row, e }) => [scorerOf(one, row), e]),
  ];
  return fold(`By the ${word} of the first failed call`, { class: "further" }, table(columns, rows));
};

const discordantPairs = (one) => {
  const groups = new Map();
  for (const found of one.discordant.filter(({ design }) => design === one.design))
    groups.set(effectName(found), [...(groups.get(effectName(found)) ?? []), found.pair]);
  return [...groups].map(([name, pairs]) => discordantList(name, pairs));
};

// Differences with their intervals, one below the other. `rows` have label, difference, low, high.
const differenceChart = (level, measure, rows) => {
  const points = measure.unit === "share" ? ", percentage points" : "";
  const marks = rows.map((row, place) => ({ ...row, name: String(place + 1) }));
  return figure(`Difference: ${measure.heading}${points}`, `lines: ${level} intervals`, (Plot, width) => {
    const factor = points ? 100 : 1;
    const most = factor === 100 ? 1 : Math.max(...marks.flatMap((d) => [d.low, d.high, d.difference]).map(Math.abs)) || 1;
    const narrow = width < 520;
    const label = new Map(marks.map((d) => [d.name, shorten(d.label, narrow ? 52 : 64)]));
    const above = Plot.text(marks, {
      y: "name",
      x: -factor * most,
      text: (d) => label.get(d.name),
      textAnchor: "start",
      dy: -13,
      fill: "currentColor",
    });
    return {
      height: 46 + (narrow ? 42 : 28) * marks.length,
      marginLeft: narrow ? 12 : 16 + widest([...label.values()]),
      marginRight: 20,
      x: { domain: [-factor * most, factor * most], ticks: 5, label: null, tickFormat: (v) => signed(measure, v / factor).replace(/\.0+$/u, "") },
      y: {
        label: null,
        tickSize: 0,
        domain: marks.map((d) => d.name),
        tickFormat: (d) => label.get(d),
        axis: narrow ? null : "left",
      },
      marks: [
        Plot.gridX({ ticks: 5 }),
        Plot.ruleX([0], { strokeOpacity: 0.5 }),
        Plot.ruleY(marks.filter((d) => d.low !== null), {
          y: "name",
          x1: (d) => factor * d.low,
          x2: (d) => factor * d.high,
          stroke: "var(--accent)",
          strokeWidth: 3,
          strokeOpacity: 0.45,
        }),
        Plot.dot(marks, { y: "name", x: (d) => factor * d.difference, r: 5, fill: "var(--accent)" }),
        narrow ? above : null,
      ],
    };
  });
};

const discordantList = (name, pairs) => {
  const items = pairs.map(([a, b]) => {
    const [before, after] = [rowOf.get(a), rowOf.get(b)];
    return el(
      "li",
      {},
      el("a", { href: hashOf({ compare: [a, b] }) }, oneLine(after.item)),
      " ",
      verdictMark(before.verdict),
      " → ",
      verdictMark(after.verdict),
    );
  });
  const summary = oneLine(`${plural(pairs.length, "discordant pair")}: ${name}`);
  return fold(summary, { class: "further" }, el("ul", { class: "discordant" }, items));
};
