// The figures: a chart and a table each.

const overview = () =>
  report.rows.length
    ? figures()
    : el(
        "div",
        { class: "overview" },
        heading(),
        el("p", { class: "intro" }, "No episode has begun."),
        runsSection(),
      );

const figures = () =>
  el(
    "div",
    { class: "overview" },
    heading(),
    answersSection(),
    findingsSection(),
    report.ablations.map(ablationSection),
    levelsSection(),
    errorsSection(),
    hopsSection(),
    costSection(),
    differencesSection(),
    runsSection(),
  );

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
  const rows = report.rows;
  const tally = (verdict) => rows.filter((row) => row.verdict === verdict).length;
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  const facts = [
    [count(rows.length), rows.length === 1 ? "episode" : "episodes"],
    [count(new Set(rows.map((row) => row.item)).size), "items"],
    [count(calls), "calls"],
    [count(tally("void")), "void"],
    [count(tally("unfinished")), "unfinished"],
  ].filter(([value, name]) => value !== "0" || (name !== "void" && name !== "unfinished"));
  return el(
    "div",
    { class: "heading" },
    el("h1", {}, document.title),
    el(
      "ul",
      { class: "facts" },
      facts.map(([value, name]) => el("li", {}, el("b", {}, value), ` ${name}`)),
    ),
    underWay(),
  );
};

const underWay = () => {
  const open = report.runs.filter((run) => run.status === "started");
  if (!open.length) return null;
  const names = open.map((run) => run.label).join(", ");
  return el(
    "p",
    { class: "remark" },
    `Not ended when this page was made: ${names}. Unfinished episodes are in no figure.`,
  );
};

const groupColumn = { name: "", label: "" };

const groupCell = (group) => [groupChip(group), " ", oneLine(group.name)];

const episodesOf = (group, more = {}) => hashOf({ view: "episodes", filters: { group: group.tag, ...more } });

const answersSection = () => {
  const marks = report.groups.flatMap((group) =>
    ["strict", "official"].flatMap((rule) =>
      group[rule]
        ? [{ tag: group.tag, rule, value: 100 * group[rule][0], error: 100 * (group[rule][1] ?? 0) * 1.96 }]
        : [],
    ),
  );
  const chart = figure(
    "Right answers, per cent",
    "filled: strict rule, ring: ToolHop's official rule; lines: 95 % intervals",
    (Plot, width) => ({
      ...groupAxis(width),
      height: 46 + 34 * report.groups.length,
      marginRight: 20,
      x: { domain: [0, 100], label: null, ticks: 5, tickFormat: (v) => `${v} %` },
      color: groupColors(),
      marks: [
        Plot.gridX({ ticks: 5 }),
        Plot.ruleY(marks, {
          y: "tag",
          x1: (d) => Math.max(0, d.value - d.error),
          x2: (d) => Math.min(100, d.value + d.error),
          stroke: "tag",
          strokeWidth: 1.5,
          filter: (d) => d.rule === "official" && d.error,
          strokeOpacity: 0.45,
        }),
        Plot.ruleY(marks, {
          y: "tag",
          x1: (d) => Math.max(0, d.value - d.error),
          x2: (d) => Math.min(100, d.value + d.error),
          stroke: "tag",
          strokeWidth: 3,
          filter: (d) => d.rule === "strict" && d.error,
          strokeOpacity: 0.45,
        }),
        Plot.dot(marks, {
          y: "tag",
          x: "value",
          r: 5,
          stroke: "tag",
          strokeWidth: 1.8,
          fill: "var(--panel)",
          filter: (d) => d.rule === "official",
        }),
        Plot.dot(marks, { y: "tag", x: "value", r: 5, fill: "tag", filter: (d) => d.rule === "strict" }),
      ],
    }),
  );
  const columns = [
    groupColumn,
    { name: "episodes", number: true },
    { name: "strict %", number: true, title: "Share right by the strict rule, ± standard error" },
    { name: "official %", number: true, title: "Share right by ToolHop's own rule" },
    { name: "query err. %", number: true, title: "Share of episodes with a failed call" },
    { name: "call err. %", number: true, title: "Share of calls that failed" },
    { name: "hops %", number: true, title: "Share of hops solved" },
    { name: "turns", number: true, title: "Turns an episode" },
    { name: "calls", number: true, title: "Calls an episode" },
    { name: "tokens", number: true, title: "Tokens in and out, all episodes" },
    { name: "cost", number: true },
    { name: "time", number: true, title: "Mean time of an episode" },
  ];
  const rows = report.groups.map((group) => [
    groupCell(group),
    el("a", { href: episodesOf(group) }, episodesText(group)),
    percent(group.strict),
    percent(group.official),
    percent(group.query),
    percent(group.instance),
    percent(group.solved),
    meanOf(group.turns),
    meanOf(group.calls),
    group.tokens ? count(group.tokens[0] + group.tokens[1]) : "–",
    group.tokens ? money(group.cost) : "–",
    group.wall ? seconds(group.wall[0]) : "–",
  ]);
  return section("answers", "Answers", null, chart, table(null, columns, rows, { wide: true }));
};

const episodesText = (group) => {
  const extra = [
    group.void && `${count(group.void)} void`,
    group.unfinished && `${count(group.unfinished)} unfinished`,
  ].filter(Boolean);
  return extra.length ? `${count(group.episodes)} (${extra.join(", ")})` : count(group.episodes);
};

const findingsSection = () =>
  report.findings.length
    ? section(
        "findings",
        "Diagnosis",
        "What may be wrong with the harness or the data, and not with the player.",
        el("ul", { class: "findings" }, report.findings.map(finding)),
      )
    : null;

const SHOWN_EPISODES = 8;

const finding = (one) => {
  const rows = one.episodes.map((key) => rowOf.get(key)).filter(Boolean);
  const links = rows
    .slice(0, SHOWN_EPISODES)
    .map((row) => [el("a", { href: episodeLink(row) }, oneLine(row.name)), " "]);
  const more = rows.length - SHOWN_EPISODES;
  return el(
    "li",
    { class: `finding-${one.severity}` },
    el("div", {}, el("b", {}, words(one.kind)), el("span", { class: "severity" }, one.severity)),
    el(
      "div",
      {},
      el("p", {}, ...readable(one.text)),
      links.length ? el("p", { class: "links" }, links, more > 0 && `and ${count(more)} more`) : null,
    ),
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
  if (!differing.length) return null;
  const columns = [
    { name: "item" },
    ...report.groups.map((group) => ({ name: groupChip(group), label: group.name })),
    { name: "", label: "compare" },
  ];
  const line = ([item, rows]) => {
    const right = rows.find((row) => row.verdict === "right");
    const wrong = rows.find((row) => row.verdict === "wrong");
    const cell = (group) => {
      const found = rows.filter((row) => row.group === group.index);
      return found.length
        ? el(
            "span",
            { class: "marks" },
            found
              .slice(0, 8)
              .map((row) =>
                el(
                  "a",
                  { href: episodeLink(row), "aria-label": `${row.verdict}, ${item}, ${group.name}` },
                  verdictMark(row.verdict, true),
                ),
              ),
          )
        : "–";
    };
    return [
      oneLine(item),
      ...report.groups.map(cell),
      el("a", { href: hashOf({ compare: [right.key, wrong.key] }) }, "side by side"),
    ];
  };
  const place = el("div", { class: "matrix" }, table(null, columns, differing.slice(0, DIFFERING).map(line)));
  const more =
    differing.length > DIFFERING &&
    el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: (event) => {
          place.replaceChildren(table(null, columns, differing.map(line)));
          event.target.remove();
        },
      },
      `Show all ${count(differing.length)} items`,
    );
  return section(
    "differences",
    "Where they differ",
    `${plural(differing.length, "item")} of ${count(items.size)} with right and wrong answers, by the strict rule.`,
    place,
    more,
  );
};

const runsSection = () =>
  section(
    "runs",
    "Runs",
    null,
    report.runs.map((run, index) =>
      el(
        "details",
        { class: "run" },
        el(
          "summary",
          {},
          el("b", {}, oneLine(run.label)),
          el(
            "span",
            { class: "note" },
            ` ${run.status === "success" ? "ended" : run.status === "started" ? "not ended" : run.status}, ${plural(report.rows.filter((row) => row.run === index).length, "episode")}`,
          ),
        ),
        run.fault && el("p", { class: "remark" }, ...readable(run.fault)),
        run.unreadable.length
          ? el("p", { class: "remark" }, `Left out: ${run.unreadable.map(oneLine).join("; ")}`)
          : null,
        facts({
          player: run.player,
          data: run.data,
          "data digest": run.digest,
          "started at": run.started_at,
          "ended at": run.ended_at,
          ...run.settings,
          ...run.sandbox,
          ...run.versions,
        }),
      ),
    ),
    el("p", { class: "note" }, `Made ${report.made_at} by toolhop-env ${report.version}.`),
  );

const facts = (values) =>
  el(
    "dl",
    { class: "settings" },
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== "")
      .map(([name, value]) =>
        el(
          "div",
          {},
          el("dt", {}, oneLine(words(name))),
          el("dd", {}, oneLine(typeof value === "string" ? value : JSON.stringify(value))),
        ),
      ),
  );
