// Failed calls by code, calls by hop, and what they cost.

// More groups than this are not told apart by colour in a bar.
const MANY = 6;

const errorsSection = () => {
  const codes = new Map();
  for (const group of report.groups)
    for (const [code, number] of Object.entries(group.errors))
      codes.set(code, (codes.get(code) ?? 0) + number);
  if (!codes.size) return section("errors", "Failed calls by code", "No call failed.");
  const wide = report.groups.length <= MANY;
  const order = [...codes].sort((a, b) => b[1] - a[1]).map(([code]) => code);
  const marks = report.groups.flatMap((group) =>
    Object.entries(group.errors).map(([code, number]) => ({ code, number, tag: group.tag })),
  );
  const chart = figure(
    "Failed calls by code",
    wide && report.groups.length > 1 ? "colours as in the table of answers" : null,
    (Plot, width) => ({
      height: 40 + 26 * order.length,
      marginLeft: 150,
      marginRight: 44,
      x: { label: null, ticks: Math.max(2, Math.floor(width / 130)) },
      y: { label: null, tickSize: 0, domain: order, tickFormat: words, padding: 0.28 },
      color: groupColors(),
      marks: [
        Plot.gridX({ ticks: Math.max(2, Math.floor(width / 130)) }),
        wide
          ? Plot.barX(marks, {
              y: "code",
              x: "number",
              fill: "tag",
              order: report.groups.map((group) => group.tag),
              insetRight: 1,
            })
          : Plot.barX(order, { y: (d) => d, x: (d) => codes.get(d), fill: "var(--accent)" }),
        Plot.text(order, {
          y: (d) => d,
          x: (d) => codes.get(d),
          text: (d) => count(codes.get(d)),
          textAnchor: "start",
          dx: 6,
          fill: "currentColor",
        }),
      ],
    }),
  );
  const columns = [
    { name: "code" },
    ...(wide
      ? report.groups.map((group) => ({ name: groupChip(group), label: group.name, number: true }))
      : []),
    { name: "all", number: true },
  ];
  const cell = (group, code) =>
    group.errors[code]
      ? el("a", { href: episodesOf(group, { error: code }) }, count(group.errors[code]))
      : "–";
  const rows = order.map((code) => [
    words(code),
    ...(wide ? report.groups.map((group) => cell(group, code)) : []),
    el("a", { href: hashOf({ view: "episodes", filters: { error: code } }) }, count(codes.get(code))),
  ]);
  const failing = report.groups.filter((group) => Object.keys(group.errors).length);
  const more = wide
    ? null
    : el(
        "details",
        { class: "turned" },
        el("summary", {}, "By group"),
        table(
          null,
          [groupColumn, ...order.map((code) => ({ name: words(code), number: true }))],
          failing.map((group) => [groupCell(group), ...order.map((code) => cell(group, code))]),
          { wide: true },
        ),
      );
  return section("errors", "Failed calls by code", null, pair(chart, table(null, columns, rows)), more);
};

const hopsSection = () => {
  const groups = report.groups.filter((group) => group.hops.some(([, calls]) => calls));
  if (!groups.length) return section("hops", "Calls by hop", "No tool was called.");
  const marks = groups.flatMap((group) =>
    group.hops.map(([episodes, calls, failed, solved], index) => ({
      group,
      tag: group.tag,
      hop: index + 1,
      episodes,
      calls,
      failed,
      solved,
    })),
  );
  const places = [...new Set(marks.map((d) => d.hop))].sort((a, b) => a - b);
  const totals = places.map((hop) => {
    const sum = (name) => marks.filter((d) => d.hop === hop).reduce((all, d) => all + d[name], 0);
    return {
      hop,
      episodes: sum("episodes"),
      calls: sum("calls"),
      failed: sum("failed"),
      solved: sum("solved"),
    };
  });
  const columns = [
    { name: "hop" },
    { name: "episodes", number: true },
    { name: "solved %", number: true },
    { name: "calls", number: true },
    { name: "failed", number: true },
  ];
  const line = (d, name) => [
    name,
    count(d.episodes),
    ((100 * d.solved) / d.episodes).toFixed(1),
    count(d.calls),
    count(d.failed),
  ];
  const rows = totals.filter((d) => d.episodes).map((d) => line(d, `hop ${d.hop}`));
  const [called, failed] = groups.reduce(
    (sum, group) => [sum[0] + group.other[1], sum[1] + group.other[2]],
    [0, 0],
  );
  if (called) rows.push(["no hop's tool", "–", "–", count(called), count(failed)]);
  const details =
    groups.length > 1
      ? el(
          "details",
          { class: "turned" },
          el("summary", {}, "By group"),
          table(
            null,
            [{ name: "group" }, ...columns],
            marks
              .filter((d) => d.episodes)
              .map((d) => [[groupChip(d.group), " ", oneLine(d.group.name)], ...line(d, String(d.hop))]),
          ),
        )
      : null;
  return section(
    "hops",
    "Calls by hop",
    null,
    pair(el("div", {}, hopShares(groups, marks, places), hopCalls(totals)), table(null, columns, rows)),
    details,
  );
};

const hopShares = (groups, marks, places) =>
  figure("Hops solved, per cent", "of the episodes that have the hop", (Plot, width) => {
    const axis = groupAxis(width, groups);
    return {
      ...axis,
      y: { ...axis.y, padding: 0.06 },
      height: 34 + 25 * groups.length,
      marginRight: 4,
      x: {
        label: null,
        domain: places,
        type: "band",
        padding: 0.04,
        tickSize: 0,
        axis: "bottom",
        tickFormat: (hop) => `hop ${hop}`,
      },
      opacity: { domain: [0, 100], range: [0.03, 0.45] },
      marks: [
        Plot.cell(marks, {
          x: "hop",
          y: "tag",
          fill: "var(--accent)",
          fillOpacity: (d) => (d.episodes ? (100 * d.solved) / d.episodes : null),
        }),
        Plot.text(marks, {
          x: "hop",
          y: "tag",
          text: (d) => (d.episodes ? ((100 * d.solved) / d.episodes).toFixed(0) : ""),
          fill: "var(--ink)",
        }),
      ],
    };
  });

const hopCalls = (totals) => {
  const marks = totals.flatMap((d) => [
    { hop: d.hop, kind: "succeeded", value: (d.calls - d.failed) / (d.episodes || 1) },
    { hop: d.hop, kind: "failed", value: d.failed / (d.episodes || 1) },
  ]);
  return figure("Calls by hop, an episode", "red: failed", (Plot, width) => ({
    height: Math.min(200, 120 + width / 8),
    marginLeft: 34,
    x: { label: null, tickSize: 0, type: "band", padding: 0.45, tickFormat: (hop) => `hop ${hop}` },
    y: { label: null, ticks: 4 },
    color: { domain: ["succeeded", "failed"], range: ["var(--accent)", "var(--failed-bar)"] },
    marks: [
      Plot.gridY({ ticks: 4 }),
      Plot.barY(marks, { x: "hop", y: "value", fill: "kind", order: ["succeeded", "failed"] }),
      Plot.ruleY([0]),
    ],
  }));
};

const costSection = () => {
  const groups = report.groups.filter((group) => group.turns);
  if (!groups.length) return null;
  const per = (group, value) => value / Math.max(1, group.turns[2]);
  const priced = groups.some((group) => group.cost > 0);
  const counted = groups.some((group) => group.tokens[0] + group.tokens[1] > 0);
  const [title, value, note] = priced
    ? [
        "Cost an episode, dollars",
        (group) => (group.cost === null ? null : per(group, group.cost)),
        "groups with an unknown price have no bar",
      ]
    : counted
      ? ["Tokens an episode", (group) => per(group, group.tokens[0] + group.tokens[1]), "no price is known"]
      : ["Seconds an episode", (group) => group.wall[0], "no tokens were counted, as with scripted players"];
  const marks = groups
    .map((group) => ({ tag: group.tag, value: value(group) }))
    .filter((d) => d.value !== null);
  const chart = figure(title, note, (Plot, width) => ({
    ...groupAxis(width),
    height: 44 + 26 * report.groups.length,
    marginRight: 50,
    x: { label: null, ticks: Math.max(2, Math.floor(width / 160)) },
    color: groupColors(),
    marks: [
      Plot.gridX({ ticks: Math.max(2, Math.floor(width / 160)) }),
      Plot.barX(marks, { y: "tag", x: "value", fill: "tag", insetTop: 5, insetBottom: 5 }),
      Plot.text(marks, {
        y: "tag",
        x: "value",
        text: (d) =>
          priced || counted ? Number(d.value.toPrecision(3)).toLocaleString("en") : seconds(d.value),
        textAnchor: "start",
        dx: 6,
        fill: "currentColor",
      }),
    ],
  }));
  const columns = [
    groupColumn,
    { name: "tokens in", number: true },
    { name: "tokens out", number: true },
    { name: "tokens an episode", number: true },
    { name: "cost", number: true },
    { name: "cost a right answer", number: true },
    { name: "requests sent again", number: true },
  ];
  const rows = groups.map((group) => {
    const right = group.strict ? Math.round(group.strict[0] * group.strict[2]) : 0;
    return [
      groupCell(group),
      count(group.tokens[0]),
      count(group.tokens[1]),
      count(Math.round(per(group, group.tokens[0] + group.tokens[1]))),
      money(group.cost),
      group.cost === null || !right ? "–" : money(group.cost / right),
      count(group.retries),
    ];
  });
  return section("cost", "Cost", null, chart, table(null, columns, rows));
};
