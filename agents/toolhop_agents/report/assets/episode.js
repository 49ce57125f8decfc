// One episode as a conversation.

let rawText = false;

const pretty = (text, kind = "") =>
  rawText ? block(text, { kind }) : block(text, { nodes: jsonOrText, kind });

// `around` has the neighbours in the list, and the filters to keep in links.
const episodeView = (row, body, { previous, next, back, filters }) => {
  const turns = turnsOf(body);
  const here = (more) => hashOf({ episode: row.key, filters, ...more });
  return el(
    "article",
    { class: "episode", "aria-labelledby": "episode-title" },
    el(
      "div",
      { class: "bar" },
      el("a", { class: "back", href: back }, "← Episodes"),
      el("span", { class: "steps" }, step(previous, "Previous", "↑", filters), step(next, "Next", "↓", filters)),
      el(
        "button",
        { type: "button", class: "quiet", id: "raw", "aria-pressed": String(rawText), onclick: toggleRaw },
        "Texts exactly as sent",
      ),
      comparePicker(row),
    ),
    el("p", { class: "kicker" }, arm(row), kicker(row, body)),
    el("h1", { id: "episode-title", tabindex: "-1" }, oneLine(row.item)),
    el("p", { class: "question", dir: "auto" }, ...readable(body.question)),
    labels(body),
    outcome(row, body),
    parentNote(row),
    judged(body),
    timeline(row, body, turns, here),
    milestones(row, body),
    prompt(body),
    el("ol", { class: "turns" }, turns.map((turn) => el("li", {}, turnView(turn, { row, here })))),
    ending(row, body),
  );
};

const toggleRaw = () => {
  rawText = !rawText;
  showRoute({ again: true });
};

const step = (row, label, sign, filters) =>
  row
    ? el("a", { href: hashOf({ episode: row.key, filters }), "aria-label": `${label} episode, ${row.item}` }, sign)
    : el("span", { "aria-hidden": "true", class: "off" }, sign);

// An arm by name; of other groups the line says all that the name would.
const arm = (row) => {
  const group = report.groups[row.group];
  return report.groups.length > 1 && [report.runs[row.run].arm ? groupBadge(group) : groupChip(group), " "];
};

const kicker = (row, body) =>
  oneLine(
    [
      row.agent,
      row.mode,
      `${row.level} feedback`,
      row.call_format === "native" ? null : `${row.call_format} calls`,
      row.domain,
      report.rows.some((one) => one.epoch > 1) ? `epoch ${row.epoch}` : null,
      row.attempt > 1 ? `attempt ${row.attempt}` : null,
      row.counts || row.verdict === "unfinished" ? null : "not counted: another attempt is",
      `seed ${body.seed}`,
    ]
      .filter(Boolean)
      .join(" · "),
  );

const comparePicker = (row) => {
  const others = comparable(row);
  if (!others.length) return null;
  const choice = select(
    "compare-with",
    (key) => key && go({ compare: [row.key, key] }),
    el("option", { value: "" }, "Compare with …"),
    others.map(([label, rows]) => el("optgroup", { label }, rows.map((one) => episodeOption(one)))),
  );
  return picker("Compare with", choice);
};

const episodeOption = (row, selected = false) => el("option", { value: row.key, selected }, describeRow(row));

const describeRow = (row) => {
  const { tag, name } = report.groups[row.group];
  const branch = row.parent ? ` · branch at turn ${row.prefix_turns + 1}` : "";
  return oneLine(`${row.verdict} · ${tag} ${name} · epoch ${row.epoch}${branch} · ${row.name}`);
};

const related = (one, other) =>
  one.shared_prefix === other.key || other.shared_prefix === one.key || Boolean(one.shared_prefix && one.shared_prefix === other.shared_prefix);

// Branches of one shared prefix first, then other episodes of the item.
const comparable = (row) => {
  const same = report.rows.filter((one) => one !== row && one.item === row.item);
  const branches = same.filter((one) => related(one, row));
  const others = same.filter((one) => !related(one, row));
  return [
    ["Branches", branches],
    ["Same item", others],
  ].filter(([, rows]) => rows.length);
};

const sign = (value, text) =>
  el("span", { class: value ? "mark-right" : "mark-wrong" }, verdictMark(value ? "right" : "wrong", true), text);

// The value of the benchmark's leading measure.
const leadValue = (row) => {
  const lead = leadOf(benchmarkOf(row));
  return valueOf(lead, row.values[lead.name]);
};

// Measures beyond these are folded.
const SHOWN_MEASURES = 4;

// What each scorer says of the answer, and the benchmark's other measures that have something.
const scored = (row) => {
  const benchmark = benchmarkOf(row);
  const answers = answersOf(benchmark);
  const value = (measure) => row.values[measure.name] ?? null;
  const has = (measure) => value(measure) !== null;
  const others = benchmark.measures.filter(
    (measure) => !answers.includes(measure) && has(measure) && (!measure.binary || value(measure)),
  );
  const right = (said) => (said ? sign(true, "right") : sign(false, "wrong"));
  const said = (measure) => [
    measure.heading,
    measure.binary && answers.includes(measure) && has(measure)
      ? right(value(measure))
      : valueOf(measure, value(measure)),
  ];
  const first = others.filter((measure) => measure.in_tables).slice(0, SHOWN_MEASURES);
  return {
    shown: [...answers.filter((one) => has(one) || one === leadOf(benchmark)), ...first].map(said),
    folded: others.filter((measure) => !first.includes(measure)).map(said),
  };
};

const outcome = (row, body) => {
  const judged = row.verdict !== "errored" && row.verdict !== "unfinished";
  const { shown, folded } = judged
    ? scored(row)
    : {
        shown: [["verdict", el("span", { class: `mark-${row.verdict}` }, verdictMark(row.verdict, true), row.verdict)]],
        folded: [],
      };
  const tokens = row.tokens[0] + row.tokens[1];
  const facts = [
    ["gold", el("span", { dir: "auto" }, oneLine(body.gold))],
    ["answer", body.given === null ? "none" : el("span", { dir: "auto" }, oneLine(shorten(body.given, 300)))],
    ...shown,
    ["ended", row.ending ? words(row.ending) : "not yet"],
    [
      "turns",
      [row.turns, row.calls && plural(row.calls, "call"), failures(row) && `${failures(row)} failed`]
        .filter(Boolean)
        .join(", ") || "0",
    ],
    tokens > 0 && ["tokens", `${count(row.tokens[0])} in, ${count(row.tokens[1])} out`],
    tokens > 0 && ["cost", money(row.cost)],
    row.wall && ["time", seconds(row.wall)],
  ].filter(Boolean);
  return [
    definitions("outcome", facts),
    folded.length
      ? fold(plural(folded.length, "other measure"), { class: "fold" }, definitions("outcome", folded))
      : null,
  ];
};

// The groups that the item belongs to, such as its scenario.
const labels = (body) => {
  const tags = Object.entries(body.facets).map(([name, value]) => [
    el("span", { class: "tag" }, `${oneLine(words(name))}: `, el("b", {}, oneLine(words(value)))),
    " ",
  ]);
  return tags.length ? el("p", { class: "labels" }, tags) : null;
};

// What judges were asked, what they said, and why.
const judged = (body) => {
  if (!body.judged.length) return null;
  const judges = [...new Set(body.judged.map((one) => one.judge).filter(Boolean))].join(", ");
  const line = (one) =>
    el(
      "li",
      { dir: "auto" },
      el("span", { class: "note" }, `${oneLine(words(one.about))} `),
      one.to
        ? [oneLine(one.text), alike(one.to)]
        : el("b", {}, one.verdict === null ? "no answer" : oneLine(one.verdict)),
      one.why ? oneLine(`: ${one.why}`) : null,
    );
  return fold(
    `${plural(body.judged.length, "question")} to the judge${judges ? `: ${oneLine(judges)}` : ""}`,
    { class: "fold", open: true },
    el("ul", { class: "judged" }, body.judged.map(line)),
  );
};

const alike = (texts) =>
  el(
    "ul",
    {},
    texts.map(([text, value]) =>
      el("li", {}, el("b", {}, typeof value === "number" ? value.toFixed(2) : "no answer"), ` ${oneLine(text)}`),
    ),
  );

const parentNote = (row, beside) => {
  if (!row.parent) return null;
  const parent = rowOf.get(row.shared_prefix);
  const name = oneLine(row.parent);
  return remark(
    `Branch of `,
    parent ? el("a", { href: episodeLink(parent) }, name) : name,
    ` from turn ${row.prefix_turns + 1}, ${row.last_level} feedback. `,
    parent && parent !== beside && el("a", { href: hashOf({ compare: [parent.key, row.key] }) }, "Side by side"),
  );
};

// Parts as wide as their time, but never too narrow to be seen.
const timeline = (row, body, turns, here) => {
  const parts = turns.flatMap((turn) => [
    {
      kind: "reply",
      label: `turn ${turn.reply.turn}`,
      wall: turn.reply.wall,
      href: here({ turn: turn.reply.turn }),
    },
    ...turn.calls.map((call) => ({
      kind: call.error ? "bad" : "good",
      label: `call ${call.n}, ${call.name}${call.error ? `, ${words(call.error)}` : ""}`,
      wall: call.wall,
      href: here({ call: call.n }),
      n: call.n,
    })),
  ]);
  if (parts.length < 2) return null;
  const replies = turns.reduce((sum, turn) => sum + turn.reply.wall, 0);
  const tools = turns.flatMap((turn) => turn.calls).reduce((sum, call) => sum + call.wall, 0);
  const total = replies + tools || 1;
  return el(
    "nav",
    { class: "timeline", "aria-label": "Time line of turns and calls" },
    el(
      "div",
      { class: "line", onkeydown: moveAlong, onfocusin: sayPart, onpointerover: sayPart },
      parts.map((part, index) =>
        el("a", {
          class: `part ${part.kind}`,
          tabindex: index ? -1 : 0,
          href: part.href,
          style: `flex-grow: ${((1000 * part.wall) / total).toFixed(3)}`,
          "aria-label": [oneLine(part.label), took(part.wall, seconds)].filter(Boolean).join(", "),
        }),
      ),
    ),
    el(
      "p",
      { class: "note" },
      el("span", { class: "key reply" }),
      ["replies", took(replies, seconds), ""].filter((text) => text !== null).join(" "),
      el("span", { class: "key good" }),
      ["calls", took(tools, seconds), ""].filter((text) => text !== null).join(" "),
      parts.some((part) => part.kind === "bad") && [el("span", { class: "key bad" }), "failed"],
      el("span", { id: "part-said", "aria-hidden": "true" }),
    ),
  );
};

const sayPart = ({ target }) => {
  byId("part-said").textContent = target.ariaLabel ?? "";
};

// One stop for Tab, however many parts there are; arrow keys go along them.
const moveAlong = (event) => {
  const steps = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" };
  const next = steps[event.key] && event.target[steps[event.key]];
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
};

const milestones = (row, body) => {
  if (!body.milestones.length) return null;
  const summary = `${plural(body.milestones.length, benchmarkOf(row).milestone)}, ${row.milestones[0]} reached`;
  const line = ([label, expected, reached]) =>
    el(
      "li",
      {},
      verdictMark(reached ? "right" : "wrong"),
      el("code", {}, oneLine(label)),
      expected && [" → ", el("span", { dir: "auto" }, oneLine(expected))],
    );
  return fold(summary, { class: "fold" }, el("ol", { class: "chain" }, body.milestones.map(line)));
};

const prompt = (body) => {
  const offered = body.tools.length ? `, ${plural(body.tools.length, "tool")} on offer` : "";
  const note = el("span", { class: "note" }, ` ${plural(body.messages.length, "message")}${offered}`);
  return fold(
    ["Prompt", note],
    { class: "fold", id: "prompt" },
    body.messages.map((message) =>
      el("div", { class: "message" }, el("div", { class: "role" }, message.role), block(message.text)),
    ),
    body.tools.length ? el("p", { class: "note" }, `Tools: ${body.tools.map(oneLine).join(", ")}`) : null,
  );
};

const ending = (row, body) => {
  if (!body.end)
    return el("p", { class: "ending remark" }, "No end was written: the episode is under way, or was cut off.");
  const reason = body.end.reason ? [": ", ...readable(body.end.reason)] : [];
  return el(
    "p",
    { class: "ending" },
    verdictMark(row.verdict),
    ` ${words(body.end.ending)}${body.end.wall ? ` after ${seconds(body.end.wall)}` : ""}`,
    ...reason,
  );
};
