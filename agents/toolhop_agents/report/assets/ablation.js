// What an ablation found: effects with intervals, what they are made of, and discordant pairs.

const ablationSection = (one, index) => {
  if (!one.rows.some((row) => row.effect))
    return section(`ablation-${index}`, `Ablation of ${one.factor}`, "There is nothing to compare yet.");
  return section(
    `ablation-${index}`,
    `Ablation of ${words(one.factor)}`,
    one.design === "forked"
      ? "Episodes were forked at their first failed call: the same turns before it, another level after it."
      : "Each level was played in episodes of its own, paired by item and epoch.",
    effectChart(one),
    effectTable(one, one.rows.filter((row) => row.design === one.design)),
    separate(one),
    breakdown(one, "by_code", "code"),
    breakdown(one, "by_hop", benchmarkOf(one).milestone),
    discordantPairs(one),
    savings(one),
  );
};

const effectName = (row) =>
  `${row.first} → ${row.second}${row.prefix ? `, after ${row.prefix}` : ""}${row.design === "independent" ? ", separate" : ""}`;

const population = (row) => (row.population === "failed" ? "with a failed call" : "all");

const scorerOf = (one, row) => measureOf(benchmarkOf(one), row.rule);

const effectChart = (one) => {
  const lead = leadOf(benchmarkOf(one));
  const marks = one.rows
    .filter((row) => row.effect && row.rule === lead.name && row.design === one.design)
    .map((row, place) => ({
      ...row.effect,
      name: String(place + 1),
      label: `${effectName(row)} · ${population(row)}`,
    }));
  const level = `${Number((100 * one.confidence).toFixed(2))} %`;
  return differenceChart(`Difference: ${lead.heading}`, `lines: ${level} intervals`, lead, marks);
};

// A value of a table of effects, in the measure's unit; none where the measure has no such figure.
const cellOf = (measure, value) => (value === null ? "–" : inUnit(measure, value));

const separate = (one) => {
  const rows = one.rows.filter((row) => row.effect && row.design !== one.design);
  if (!rows.length) return null;
  const caveat =
    "Episodes with a failed call were chosen by what one level's own run did, which lets chance favour the other level there. Forked pairs are free of that.";
  return el(
    "details",
    { class: "further" },
    el("summary", {}, "The same by separate episodes"),
    el("p", { class: "intro note" }, caveat),
    effectTable(one, rows),
  );
};

// Columns of any table of effects, and what stands in them.
const EFFECT = [
  { name: "scorer" },
  { name: "pairs", number: true },
  { name: "first", number: true },
  { name: "second", number: true },
  { name: "right → wrong %", number: true },
  { name: "wrong → right %", number: true },
];

const effectCells = (one, row, e) => [
  headingOf(scorerOf(one, row)),
  count(e.pairs),
  ...[e.first, e.second, e.share_to_incorrect, e.share_to_correct].map((v) => cellOf(scorerOf(one, row), v)),
];

const effectTable = (one, found) => {
  const columns = [
    { name: "levels" },
    { name: "episodes" },
    ...EFFECT,
    { name: "difference", number: true },
    { name: "p", number: true, title: "Exact test" },
    { name: "p (Holm)", number: true, title: "Corrected for the tests of one table" },
    { name: "minimum detectable", number: true, title: "Minimum detectable difference (80 % power)" },
  ];
  const rows = found
    .filter((row) => row.effect)
    .map((row) => [
      effectName(row),
      population(row),
      ...effectCells(one, row, row.effect),
      withInterval(scorerOf(one, row), row.effect),
      chance(row.effect.p_value),
      row.effect.p_corrected === null ? "–" : chance(row.effect.p_corrected),
      cellOf(scorerOf(one, row), row.effect.detectable),
    ]);
  return [table(null, columns, rows, { wide: true }), disagreements(found.map((row) => [effectName(row), row.effect]))];
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

const chance = (p) => (p === null ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3));

const breakdown = (one, kind, word) => {
  const rows = one.rows.flatMap((row) =>
    Object.entries(row[kind]).map(([name, e]) => [words(name), effectName(row), ...effectCells(one, row, e)]),
  );
  return rows.length
    ? el(
        "details",
        { class: "further" },
        el("summary", {}, `By the ${word} of the first failed call`),
        table(null, [{ name: word }, { name: "levels" }, ...EFFECT], rows),
      )
    : null;
};

const discordantPairs = (one) => {
  const groups = new Map();
  for (const found of one.discordant)
    groups.set(effectName(found), [...(groups.get(effectName(found)) ?? []), found.pair]);
  return [...groups].map(([name, pairs]) => discordantList(name, pairs));
};

const savings = (one) => {
  if (!one.savings.length) return null;
  const columns = [
    { name: "after" },
    { name: "to" },
    { name: "branches", number: true },
    { name: "model calls asked", number: true },
    { name: "saved", number: true },
    { name: "independent", number: true },
    { name: "tokens saved", number: true },
  ];
  const rows = one.savings.map((s) => [
    s.prefix,
    s.level,
    count(s.branches),
    count(s.asked.model_calls),
    count(s.saved.model_calls),
    count(s.independent.model_calls),
    count(s.saved.tokens),
  ]);
  return el(
    "details",
    { class: "further" },
    el("summary", {}, "Model calls that forking saved"),
    table(null, columns, rows),
  );
};

// Differences with their intervals, one below the other. `marks` have name, label, difference, low, high.
const differenceChart = (title, note, measure, marks) =>
  figure(measure.unit === "share" ? `${title}, percentage points` : title, note, (Plot, width) => {
    const factor = measure.unit === "share" ? 100 : 1;
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
  return el(
    "details",
    { class: "further" },
    el("summary", {}, oneLine(`${plural(pairs.length, "discordant pair")}: ${name}`)),
    el("ul", { class: "discordant" }, items),
  );
};
