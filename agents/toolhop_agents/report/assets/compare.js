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
  const lines = Array.from({ length: longest - shared }, (_, offset) =>
    turns.map((one) => one[shared + offset]),
  );
  return el(
    "article",
    { class: "compare", "aria-labelledby": "compare-title" },
    el(
      "div",
      { class: "bar" },
      el("a", { class: "back", href: hashOf({ episode: rows[0].key }) }, "← Episode"),
    ),
    el(
      "h1",
      { id: "compare-title", tabindex: "-1" },
      rows[0].item === rows[1].item
        ? oneLine(rows[0].item)
        : `${oneLine(rows[0].item)} and ${oneLine(rows[1].item)}`,
    ),
    el("p", { class: "question", dir: "auto" }, ...readable(bodies[0].question)),
    prompts[0] === prompts[1] ? null : el("p", { class: "remark" }, "Their prompts or tools differ."),
    el(
      "div",
      { class: "sides heads" },
      rows.map((row, side) => sideHead(rows, bodies, side)),
    ),
    shared
      ? el(
          "details",
          { class: "fold shared", id: "shared" },
          el("summary", {}, `${plural(shared, "turn")} alike`),
          foldedTurns(turns[0].slice(0, shared), context[0]),
        )
      : el("p", { class: "note" }, "They differ from the first turn on."),
    lines.map((pair) =>
      el(
        "div",
        { class: "sides" },
        pair.map((turn, side) =>
          el(
            "div",
            sideOf(rows, side),
            turn ? turnView(turn, context[side]) : el("p", { class: "note" }, "no such turn"),
          ),
        ),
      ),
    ),
    el(
      "div",
      { class: "sides" },
      rows.map((row, side) =>
        el("div", sideOf(rows, side), ending(row, bodies[side])),
      ),
    ),
  );
};

// One below the other, the badges of their groups, or numbers, distinguish the sides.
const sideOf = (rows, side) => {
  const [group, other] = [rows[side], rows[1 - side]].map((row) => report.groups[row.group]);
  return group === other
    ? { class: "side", "data-side": side + 1 }
    : { class: "side of-group", "data-side": group.tag, style: `--color: ${group.color}` };
};

const foldedTurns = (turns, context) => turns.map((turn) => turnView(turn, { ...context, at: "s-" }));

const sideHead = (rows, bodies, side) => {
  const row = rows[side];
  const choices = report.rows.filter((one) => one.item === row.item);
  return el(
    "div",
    sideOf(rows, side),
    el(
      "label",
      { class: "picker" },
      el("span", { class: "unseen" }, ["First episode", "Second episode"][side]),
      el(
        "select",
        {
          id: `side-${"ab"[side]}`,
          onchange: (event) =>
            go({ compare: side ? [rows[0].key, event.target.value] : [event.target.value, rows[1].key] }),
        },
        choices.map((one) => el("option", { value: one.key, selected: one === row }, describeRow(one))),
      ),
    ),
    el("p", {}, groupBadge(report.groups[row.group])),
    outcome(row, bodies[side]),
    parentNote(row, rows[1 - side]),
  );
};
