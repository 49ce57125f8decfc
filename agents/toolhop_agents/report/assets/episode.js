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
      el(
        "span",
        { class: "steps" },
        step(previous, "Previous", "↑", filters),
        step(next, "Next", "↓", filters),
      ),
      el(
        "button",
        {
          type: "button",
          class: "quiet",
          id: "raw",
          "aria-pressed": String(rawText),
          title: "Show texts exactly as they were sent",
          onclick: toggleRaw,
        },
        "Raw text",
      ),
      comparePicker(row),
    ),
    el("p", { class: "kicker" }, kicker(row, body)),
    el("h1", { id: "episode-title", tabindex: "-1" }, oneLine(row.item)),
    el("p", { class: "question", dir: "auto" }, ...readable(body.question)),
    outcome(row, body),
    parentNote(row),
    timeline(row, body, turns, here),
    milestones(row, body),
    prompt(body),
    el(
      "ol",
      { class: "turns" },
      turns.map((turn) => el("li", {}, turnView(turn, { row, here }))),
    ),
    ending(row, body),
  );
};

const toggleRaw = () => {
  rawText = !rawText;
  showRoute({ again: true });
};

const step = (row, label, sign, filters) =>
  row
    ? el(
        "a",
        { href: hashOf({ episode: row.key, filters }), "aria-label": `${label} episode, ${row.item}` },
        sign,
      )
    : el("span", { "aria-hidden": "true", class: "off" }, sign);

const kicker = (row, body) =>
  oneLine(
    [
      row.agent,
      row.mode,
      `${row.level} feedback`,
      row.call_format === "native" ? null : `${row.call_format} calls`,
      row.domain,
      `epoch ${row.epoch}`,
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
  return el(
    "label",
    { class: "picker" },
    el("span", { class: "unseen" }, "Compare with"),
    el(
      "select",
      {
        id: "compare-with",
        onchange: (event) => event.target.value && go({ compare: [row.key, event.target.value] }),
      },
      el("option", { value: "" }, "Compare with …"),
      others.map(([label, rows]) =>
        el(
          "optgroup",
          { label },
          rows.map((one) => el("option", { value: one.key }, describeRow(one))),
        ),
      ),
    ),
  );
};

const describeRow = (row) =>
  oneLine(
    `${row.verdict} · ${report.groups[row.group].tag} ${report.groups[row.group].name} · epoch ${row.epoch}${row.parent ? ` · branch at turn ${row.prefix_turns + 1}` : ""} · ${row.name}`,
  );

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

// What each scorer says of the answer, then the benchmark's other measures that have something.
const scored = (row) => {
  const benchmark = benchmarkOf(row);
  const answers = answersOf(benchmark);
  const others = benchmark.measures.filter(
    (measure) => !answers.includes(measure) && (!measure.binary || row.values[measure.name]),
  );
  const right = (value) => (value ? sign(true, "right") : sign(false, "wrong"));
  const said = (measure) => {
    const value = row.values[measure.name];
    const judged = measure.binary && answers.includes(measure) && value !== null;
    return [measure.heading, judged ? right(value) : valueOf(measure, value)];
  };
  return [...answers, ...others].map(said);
};

const outcome = (row, body) => {
  const judged = row.verdict !== "errored" && row.verdict !== "unfinished";
  const facts = [
    ["gold", el("span", { dir: "auto" }, oneLine(body.gold))],
    [
      "answer",
      body.given === null
        ? "none"
        : el("span", { dir: "auto", class: "given" }, oneLine(shorten(body.given, 300))),
    ],
    ...(judged
      ? scored(row)
      : [["verdict", el("span", { class: `mark-${row.verdict}` }, verdictMark(row.verdict, true), row.verdict)]]),
    ["ended", row.ending ? words(row.ending) : "not yet"],
    [
      "turns",
      `${row.turns}, ${plural(row.calls, "call")}${failures(row) ? `, ${failures(row)} failed` : ""}`,
    ],
    row.tokens[0] + row.tokens[1] > 0 && [
      "tokens",
      `${count(row.tokens[0])} in, ${count(row.tokens[1])} out`,
    ],
    row.tokens[0] + row.tokens[1] > 0 && ["cost", money(row.cost)],
    ["time", seconds(row.wall)],
  ].filter(Boolean);
  return el(
    "dl",
    { class: "outcome" },
    facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
};

const parentNote = (row) => {
  if (!row.parent) return null;
  const parent = rowOf.get(row.shared_prefix);
  const name = oneLine(row.parent);
  return el(
    "p",
    { class: "remark" },
    `Branch of `,
    parent ? el("a", { href: episodeLink(parent) }, name) : name,
    ` from turn ${row.prefix_turns + 1}, ${row.last_level} feedback. `,
    parent && el("a", { href: hashOf({ compare: [parent.key, row.key] }) }, "Side by side"),
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
  if (!parts.length) return null;
  const replies = turns.reduce((sum, turn) => sum + turn.reply.wall, 0);
  const tools = turns.flatMap((turn) => turn.calls).reduce((sum, call) => sum + call.wall, 0);
  const total = replies + tools || 1;
  return el(
    "nav",
    { class: "timeline", "aria-label": "Time line of turns and calls" },
    el(
      "div",
      { class: "line", onkeydown: moveAlong },
      parts.map((part, index) =>
        el("a", {
          class: `part ${part.kind}`,
          tabindex: index ? -1 : 0,
          href: part.href,
          style: `flex-grow: ${((1000 * part.wall) / total).toFixed(3)}`,
          title: `${oneLine(part.label)}: ${seconds(part.wall)}`,
          "aria-label": `${oneLine(part.label)}, ${seconds(part.wall)}`,
        }),
      ),
    ),
    el(
      "p",
      { class: "note" },
      el("span", { class: "key reply" }),
      `replies ${seconds(replies)} `,
      el("span", { class: "key good" }),
      `calls ${seconds(tools)} `,
      turns.some((turn) => turn.calls.some((call) => call.error)) && [
        el("span", { class: "key bad" }),
        "failed",
      ],
    ),
  );
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

const milestones = (row, body) =>
  body.milestones.length
    ? el(
        "details",
        { class: "fold" },
        el("summary", {}, `${plural(body.milestones.length, benchmarkOf(row).milestone)}, ${row.milestones[0]} reached`),
        el(
          "ol",
          { class: "chain" },
          body.milestones.map(([label, expected, reached]) =>
            el(
              "li",
              {},
              verdictMark(reached ? "right" : "wrong"),
              el("code", {}, oneLine(label)),
              expected && [" → ", el("span", { dir: "auto" }, oneLine(expected))],
            ),
          ),
        ),
      )
    : null;

const prompt = (body) =>
  el(
    "details",
    { class: "fold", id: "prompt" },
    el(
      "summary",
      {},
      `Prompt`,
      el(
        "span",
        { class: "note" },
        ` ${plural(body.messages.length, "message")}, ${plural(body.tools.length, "tool")} on offer`,
      ),
    ),
    body.messages.map((message) =>
      el("div", { class: "message" }, el("div", { class: "role" }, message.role), block(message.text)),
    ),
    body.tools.length ? el("p", { class: "note" }, `Tools: ${body.tools.map(oneLine).join(", ")}`) : null,
  );

const ending = (row, body) => {
  if (!body.end)
    return el(
      "p",
      { class: "ending remark" },
      "No end was written: the episode is under way, or was cut off.",
    );
  const reason = body.end.reason ? [": ", ...readable(body.end.reason)] : [];
  return el(
    "p",
    { class: "ending" },
    verdictMark(row.verdict),
    ` ${words(body.end.ending)} after ${seconds(body.end.wall)}`,
    ...reason,
  );
};
