// Failed calls by code, calls by milestone, and what they cost.

// More groups than this are not distinguished by colour in a bar.
const MANY = 6;

const errorsSection = () => {
  const codes = new Map();
  for (const group of report.groups)
    for (const [code, number] of Object.entries(group.errors))
      codes.set(code, (codes.get(code) ?? 0) + number);
  if (!codes.size) return null;
  const wide = report.groups.length <= MANY;
  const order = [...codes].sort((a, b) => b[1] - a[1]).map(([code]) => code);
  const marks = report.groups.flatMap((group) =>
    Object.entries(group.errors).map(([code, number]) => ({ code, number, tag: group.tag })),
  );
  const at = { y: (d) => d, x: (d) => codes.get(d) };
  const chart = figure(
    "Number of failed calls",
    wide && report.groups.length > 1 ? "colours as in the table of answers" : null,
    (Plot, width) => ({
      height: 40 + 26 * order.length,
      marginLeft: 150,
      marginRight: 44,
      x: { label: null, ticks: Math.max(2, Math.floor(width / 130)), tickFormat: (n) => (Number.isInteger(n) ? count(n) : "") },
      y: { label: null, tickSize: 0, domain: order, tickFormat: words, padding: 0.28 },
      color: groupColors(),
      marks: [
        Plot.gridX({ ticks: Math.max(2, Math.floor(width / 130)) }),
        wide
          ? Plot.barX(marks, { y: "code", x: "number", fill: "tag", order: groupColors().domain, insetRight: 1 })
          : Plot.barX(order, { ...at, fill: "var(--accent)" }),
        barTexts(Plot, order, at, (d) => count(codes.get(d))),
      ],
    }),
  );
  const shown = wide && report.groups.length > 1 ? report.groups : [];
  const cell = (group, code) => (group.errors[code] ? count(group.errors[code]) : "–");
  const link = (code) => hashOf({ view: "episodes", filters: { error: code } });
  const columns = [
    { name: "code", cell: words },
    ...shown.map((group) => number(groupChip(group), (code) => cell(group, code), { label: group.name })),
    number("all", (code) => el("a", { href: link(code) }, count(codes.get(code)))),
  ];
  const failing = report.groups.filter((group) => Object.keys(group.errors).length);
  const ofGroup = [groupColumn(), ...order.map((code) => number(words(code), (group) => cell(group, code)))];
  const more = wide ? null : fold("By group", { class: "further" }, table(ofGroup, failing));
  return section("errors", "Failed calls by code", null, pair(chart, table(columns, order)), more);
};

const milestoneSections = () =>
  Object.entries(report.benchmarks).map(([name, benchmark]) => milestoneSection(name, benchmark));

const milestoneSection = (name, { milestone, title }) => {
  const having = report.groups.filter((group) => group.benchmark === name && group.milestones.length);
  if (!having.length) return null;
  const several = Object.keys(report.benchmarks).length > 1;
  const head = [`milestones-${name}`, `${several ? `${title}: calls` : "Calls"} by ${milestone}`];
  const groups = having.filter((group) => group.milestones.some(([, calls]) => calls));
  if (!groups.length) return null;
  const marks = groups.flatMap((group) =>
    group.milestones.map(([episodes, calls, failed, reached], index) => {
      const place = `${milestone} ${index + 1}`;
      return { group, tag: group.tag, place, episodes, calls, failed, reached };
    }),
  );
  const longest = Math.max(...groups.map((group) => group.milestones.length));
  const places = Array.from({ length: longest }, (_, index) => `${milestone} ${index + 1}`);
  const totals = places.map((place) => {
    const sum = (key) => marks.filter((d) => d.place === place).reduce((all, d) => all + d[key], 0);
    return { place, episodes: sum("episodes"), calls: sum("calls"), failed: sum("failed"), reached: sum("reached") };
  });
  const columns = [
    { name: milestone, cell: (d) => d.place },
    number("episodes", (d) => (d.episodes ? count(d.episodes) : "–")),
    number("reached %", (d) => (d.episodes ? reachedShare(d).toFixed(1) : "–")),
    number("calls", (d) => count(d.calls)),
    number("failed", (d) => count(d.failed)),
  ];
  const rows = totals.filter((d) => d.episodes);
  const [calls, failed] = [1, 2].map((place) => groups.reduce((sum, { other }) => sum + other[place], 0));
  if (calls) rows.push({ place: `no ${milestone}'s tool`, calls, failed });
  const ofGroup = [{ name: "group", cell: (d) => groupCell(d.group) }, ...columns];
  const details =
    groups.length > 1 && fold("By group", { class: "further" }, table(ofGroup, marks.filter((d) => d.episodes)));
  const shares = reachedChart(`Reached ${milestone}s, per cent`, groups, marks, places);
  const byPlace = placeCalls(`Calls by ${milestone}, an episode`, totals);
  return section(...head, null, pair(el("div", {}, shares, byPlace), table(columns, rows)), details);
};

const reachedShare = (d) => (100 * d.reached) / d.episodes;

const reachedChart = (title, groups, marks, places) =>
  figure(title, "of the episodes that have it", (Plot, width) => {
    const axis = groupAxis(width, groups);
    const at = { x: "place", y: "tag" };
    return {
      ...axis,
      y: { ...axis.y, padding: 0.06 },
      height: 48 + 25 * groups.length,
      marginRight: 4,
      x: { label: null, domain: places, type: "band", padding: 0.04, tickSize: 0, axis: "bottom" },
      opacity: { domain: [0, 100], range: [0.03, 0.45] },
      marks: [
        Plot.cell(marks, { ...at, fill: "var(--accent)", fillOpacity: (d) => (d.episodes ? reachedShare(d) : null) }),
        Plot.text(marks, { ...at, fill: "var(--ink)", text: (d) => (d.episodes ? reachedShare(d).toFixed(0) : "") }),
      ],
    };
  });

const placeCalls = (title, totals) => {
  const marks = totals.flatMap((d) => [
    { place: d.place, kind: "succeeded", value: (d.calls - d.failed) / (d.episodes || 1) },
    { place: d.place, kind: "failed", value: d.failed / (d.episodes || 1) },
  ]);
  return figure(title, "red: failed", (Plot, width) => ({
    height: Math.min(200, 120 + width / 8),
    marginLeft: 34,
    x: { label: null, tickSize: 0, type: "band", padding: 0.45, domain: totals.map((d) => d.place) },
    y: { label: null, ticks: 4 },
    color: { domain: ["succeeded", "failed"], range: ["var(--accent)", "var(--failed-bar)"] },
    marks: [
      Plot.gridY({ ticks: 4 }),
      Plot.barY(marks, { x: "place", y: "value", fill: "kind", order: ["succeeded", "failed"] }),
      Plot.ruleY([0]),
    ],
  }));
};

const costSection = () => {
  const groups = report.groups.filter((group) => group.figures.turns && group.tokens[0] + group.tokens[1] > 0);
  if (!groups.length) return null;
  const per = (group, value) => value / Math.max(1, group.figures.turns[2]);
  const priced = groups.some((group) => group.cost > 0);
  const [title, value, note] = priced
    ? [
        "Cost an episode, dollars",
        (group) => (group.cost === null ? null : per(group, group.cost)),
        "groups with an unknown price have no bar",
      ]
    : ["Tokens an episode", (group) => per(group, group.tokens[0] + group.tokens[1]), "no price is known"];
  const marks = groups
    .map((group) => ({ tag: group.tag, value: value(group) }))
    .filter((d) => d.value !== null);
  const chart = figure(title, note, (Plot, width) => ({
    ...groupAxis(width, groups),
    height: 44 + 26 * groups.length,
    marginRight: 50,
    x: { label: null, ticks: Math.max(2, Math.floor(width / 160)) },
    color: groupColors(),
    marks: [
      Plot.gridX({ ticks: Math.max(2, Math.floor(width / 160)) }),
      Plot.barX(marks, { y: "tag", x: "value", fill: "tag", insetTop: 5, insetBottom: 5 }),
      barTexts(Plot, marks, { y: "tag", x: "value" }, (d) => Number(d.value.toPrecision(3)).toLocaleString("en")),
    ],
  }));
  const rightOnes = (group) => {
    const lead = leadOf(benchmarkOf(group));
    const [share, , scored] = (lead.binary && group.figures[lead.name]) || [0, null, 0];
    return Math.round(share * scored);
  };
  const columns = [
    groupColumn(),
    number("tokens in", ({ tokens }) => count(tokens[0])),
    number("tokens out", ({ tokens }) => count(tokens[1])),
    number("cost", ({ cost }) => money(cost)),
    number("cost a right answer", (group) =>
      group.cost === null || !rightOnes(group) ? "–" : money(group.cost / rightOnes(group)),
    ),
    number("requests sent again", ({ retries }) => count(retries)),
  ];
  return section("cost", "Cost", null, chart, table(columns, groups));
};
