// Two episodes side by side; the turns that they share are folded away.

const signature = (turn) =>
  JSON.stringify([
    turn.reply.text,
    turn.reply.left,
    turn.calls.map((call) => [call.name, call.args, call.error, call.feedback]),
  ]);

const sharedTurns = (one, other) => {
  let shared = 0;
  while (shared < one.length && shared < other.length && signature(one[shared]) === signature(other[shared]))
    shared += 1;
  return shared;
};

const compareView = (rows, bodies) => {
  const turns = bodies.map(turnsOf);
  const shared = sharedTurns(...turns);
  const longest = Math.max(...turns.map((one) => one.length));
  const context = rows.map((row, side) => ({
    row,
    here: (more) => hashOf({ episode: row.key, ...more }),
    at: `${"ab"[side]}-`,
  }));
  const prompts = bodies.map((body) => JSON.stringify([body.messages, body.tools]));
  const lines = Array.from({ length: longest - shared }, (_, offset) => turns.map((one) => one[shared + offset]));
  const both = (parts) => el("div", { class: "sides" }, parts.map((part, side) => el("div", sideOf(rows, side), part)));
  const absent = () => el("p", { class: "note" }, "no such turn");
  return el(
    "article",
    { class: "compare", "aria-labelledby": "compare-title" },
    el("div", { class: "bar" }, el("a", { class: "back", href: hashOf({ episode: rows[0].key }) }, "← Episode")),
    el(
      "h1",
      { id: "compare-title", tabindex: "-1" },
      [...new Set(rows.map((row) => oneLine(row.item)))].join(" and "),
    ),
    el("p", { class: "question", dir: "auto" }, readable(bodies[0].question)),
    prompts[0] === prompts[1] ? null : remark("Their prompts or tools differ."),
    el("div", { class: "sides heads" }, rows.map((_, side) => sideHead(rows, bodies, side))),
    shared
      ? fold(
          `${plural(shared, "turn")} alike`,
          { class: "fold shared", id: "shared" },
          turns[0].slice(0, shared).map((turn) => turnView(turn, { ...context[0], at: "s-" })),
        )
      : el("p", { class: "note" }, "They differ from the first turn on."),
    lines.map((pair) => both(pair.map((turn, side) => turn ? turnView(turn, context[side]) : absent()))),
    both(rows.map((row, side) => ending(row, bodies[side]))),
  );
};

// One below the other, the badges of their groups, or numbers, distinguish the sides.
const sideOf = (rows, side) => {
  const [group, other] = [rows[side], rows[1 - side]].map((row) => report.groups[row.group]);
  return group === other
    ? { class: "side", "data-side": side + 1 }
    : { class: "side of-group", "data-side": group.tag, style: `--color: ${group.color}` };
};

const sideHead = (rows, bodies, side) => {
  const row = rows[side];
  const choice = select(
    `side-${"ab"[side]}`,
    (key) => go({ compare: side ? [rows[0].key, key] : [key, rows[1].key] }),
    report.rows.filter((one) => one.item === row.item).map((one) => episodeOption(one, one === row)),
  );
  return el(
    "div",
    sideOf(rows, side),
    picker(["First episode", "Second episode"][side], choice),
    el("p", {}, groupBadge(report.groups[row.group])),
    outcome(row, bodies[side]),
    parentNote(row, rows[1 - side]),
  );
};
