// What an ablation found: effects with intervals, what they are made of, and who turned.

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
    effectTable(one.rows.filter((row) => row.design === one.design)),
    separate(one),
    breakdown(one, "by_code", "By the code of the first failed call"),
    breakdown(one, "by_hop", "By the hop of the first failed call"),
    turnedPairs(one),
    savings(one),
  );
};

const effectName = (row) =>
  `${row.first} → ${row.second}${row.prefix ? `, after ${row.prefix}` : ""}${row.design === "independent" ? ", separate" : ""}`;

const population = (row) => (row.population === "failed" ? "with a failed call" : "all");

const effectChart = (one) => {
  const marks = one.rows
    .filter((row) => row.effect && row.rule === "strict" && row.design === one.design)
    .map((row, place) => ({
      ...row.effect,
      name: String(place + 1),
      label: `${effectName(row)} · ${population(row)}`,
    }));
  const level = `${Number((100 * one.confidence).toFixed(2))} %`;
  return differenceChart(
    "Difference in right answers, points of per cent",
    `strict rule; lines: ${level} intervals`,
    marks,
  );
};

const share = (value) => (100 * value).toFixed(1);

const separate = (one) => {
  const rows = one.rows.filter((row) => row.effect && row.design !== one.design);
  if (!rows.length) return null;
  const caveat =
    "Episodes with a failed call were chosen by what one level's own run did, which lets chance favour the other level there. Forked pairs are free of that.";
  return el(
    "details",
    { class: "turned" },
    el("summary", {}, "The same by separate episodes"),
    el("p", { class: "intro note" }, caveat),
    effectTable(rows),
  );
};

const effectTable = (found) => {
  const columns = [
    { name: "levels" },
    { name: "episodes" },
    { name: "rule" },
    { name: "pairs", number: true },
    { name: "first %", number: true },
    { name: "second %", number: true },
    { name: "right → wrong %", number: true },
    { name: "wrong → right %", number: true },
    { name: "difference", number: true },
    { name: "p", number: true, title: "Exact test" },
    { name: "p Holm", number: true, title: "Corrected for the tests of one table" },
    { name: "detectable", number: true, title: "Smallest difference that so many pairs would show" },
  ];
  const rows = found
    .filter((row) => row.effect)
    .map((row) => {
      const e = row.effect;
      return [
        effectName(row),
        population(row),
        row.rule,
        count(e.pairs),
        share(e.first),
        share(e.second),
        share(e.share_to_incorrect),
        share(e.share_to_correct),
        withInterval(e),
        chance(e.p_value),
        e.p_corrected === null ? "–" : chance(e.p_corrected),
        e.detectable === null ? "none" : share(e.detectable),
      ];
    });
  return table(null, columns, rows, { wide: true });
};

const withInterval = (e) => [
  signed(100 * e.difference),
  e.low === null
    ? null
    : el("span", { class: "error-of" }, ` ${signed(100 * e.low)} to ${signed(100 * e.high)}`),
];

const chance = (p) => (p < 0.001 ? "< 0.001" : p.toFixed(3));

const breakdown = (one, kind, title) => {
  const columns = [
    { name: kind === "by_hop" ? "hop" : "code" },
    { name: "levels" },
    { name: "rule" },
    { name: "pairs", number: true },
    { name: "first %", number: true },
    { name: "second %", number: true },
    { name: "right → wrong %", number: true },
    { name: "wrong → right %", number: true },
  ];
  const rows = one.rows.flatMap((row) =>
    Object.entries(row[kind]).map(([name, e]) => [
      words(name),
      effectName(row),
      row.rule,
      count(e.pairs),
      share(e.first),
      share(e.second),
      share(e.share_to_incorrect),
      share(e.share_to_correct),
    ]),
  );
  return rows.length
    ? el("details", { class: "turned" }, el("summary", {}, title), table(null, columns, rows))
    : null;
};

const turnedPairs = (one) => {
  const groups = new Map();
  for (const flip of one.flips)
    groups.set(effectName(flip), [...(groups.get(effectName(flip)) ?? []), flip.pair]);
  return [...groups].map(([name, pairs]) => flipList(name, pairs));
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
    { class: "turned" },
    el("summary", {}, "Model calls that forking saved"),
    table(null, columns, rows),
  );
};

// Differences with their intervals, one below the other. `marks` have name, label, difference, low, high.
const differenceChart = (title, note, marks) =>
  figure(title, note, (Plot, width) => {
    const narrow = width < 520;
    const label = new Map(marks.map((d) => [d.name, shorten(d.label, narrow ? 52 : 64)]));
    const above = Plot.text(marks, {
      y: "name",
      x: -100,
      text: (d) => label.get(d.name),
      textAnchor: "start",
      dy: -13,
      fill: "currentColor",
    });
    return {
      height: 46 + (narrow ? 42 : 28) * marks.length,
      marginLeft: narrow ? 12 : 16 + widest([...label.values()]),
      marginRight: 20,
      x: { domain: [-100, 100], ticks: 5, label: null, tickFormat: (v) => signed(v).replace(".0", "") },
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
          x1: (d) => 100 * d.low,
          x2: (d) => 100 * d.high,
          stroke: "var(--accent)",
          strokeWidth: 3,
          strokeOpacity: 0.45,
        }),
        Plot.dot(marks, { y: "name", x: (d) => 100 * d.difference, r: 5, fill: "var(--accent)" }),
        narrow ? above : null,
      ],
    };
  });

const flipList = (name, pairs) => {
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
    { class: "turned" },
    el("summary", {}, oneLine(`${plural(pairs.length, "pair")} turned: ${name}`)),
    el("ul", { class: "flips" }, items),
  );
};
