// A turn: what was said, and its calls.

// `at` is what ids begin with: two episodes may stand side by side.
const turnView = (turn, { row, here, at = "" }) => {
  const { reply, calls, changes } = turn;
  const left = reply.left.map((call) => `${oneLine(call.name)}(${oneLine(shorten(call.args, 120))})`);
  const tokens = reply.in + reply.out;
  const facts = [
    took(tokens, () => `${count(reply.in)} tokens in, ${count(reply.out)} out`),
    reply.thought ? `${count(reply.thought)} of thoughts` : null,
    took(reply.wall, seconds),
    tokens ? took(reply.cost ?? "unknown", () => money(reply.cost)) : null,
    reply.finish && reply.finish !== "stop" && reply.finish !== "tool_calls"
      ? `finish: ${oneLine(reply.finish)}`
      : null,
    reply.retries ? `sent ${reply.retries + 1} times` : null,
  ].filter(Boolean);
  return el(
    "section",
    { class: "turn", id: `${at}turn-${reply.turn}`, tabindex: "-1", "aria-label": `Turn ${reply.turn}` },
    changes.map((change) => remark(oneLine(change))),
    el(
      "div",
      { class: "turn-head" },
      el("a", { href: here({ turn: reply.turn }), tabindex: at ? null : -1 }, `Turn ${reply.turn}`),
      el("span", { class: "note" }, facts.join(" · ")),
    ),
    reply.thoughts ? fold("Thoughts", { class: "further" }, block(reply.thoughts, { kind: "said" })) : null,
    reply.text ? said(reply.text, calls.length === 0) : null,
    calls.map((call) => callView(call, { row, here, at })),
    left.length ? remark(`Not run, the episode ended before: ${left.join(", ")}`) : null,
  );
};

const TAG = /<answer>((?:(?!<answer>)[^])*?)<\/answer>/gu;

const said = (text, last) => {
  const place = block(text, { kind: "said" });
  if (!last || rawText) return place;
  const tag = [...text.matchAll(TAG)].at(-1);
  if (!tag || text.length > LONG) return place;
  const from = tag.index + "<answer>".length;
  return el(
    "pre",
    { class: "foreign said", dir: "auto" },
    readable(text.slice(0, from)),
    el("mark", { class: "answer" }, readable(tag[1])),
    readable(text.slice(from + tag[1].length)),
  );
};

const ACTIONS = {
  ask_user: "asks the user",
  change_tools: "asks for other tools",
  give_up: "gives up",
  finish: "finishes",
};

// Where a result came from that no program gave.
const ORIGINS = {
  earlier: "made up by a model earlier",
  simulated: "made up by a model",
  template: "made up by form",
  default: "default result",
  file: "from a file of answers",
  rule: "by rule",
  worded: "by rule, worded by a model",
};

// Detailed feedback names as many problems itself.
const NAMED_PROBLEMS = 5;

const callView = (call, { row, here, at }) =>
  el(
    "section",
    {
      class: `call ${call.error ? "bad" : call.action ? "action" : "good"}`,
      id: `${at}call-${call.n}`,
      tabindex: "-1",
      "aria-label": `Call ${call.n}, ${oneLine(call.name)}, ${call.error ? words(call.error) : "succeeded"}`,
    },
    el(
      "div",
      { class: "call-head" },
      el(
        "a",
        { class: "number", href: here({ call: call.n }), tabindex: -1, "aria-label": `Link to call ${call.n}` },
        `${call.n}`,
      ),
      el("code", { class: "tool" }, oneLine(shorten(call.name, 200)) || "(no name)"),
      call.hop !== null && el("span", { class: "tag" }, `${benchmarkOf(row).milestone} ${call.hop + 1}`),
      call.action && el("span", { class: "tag" }, ACTIONS[call.action] ?? words(call.action)),
      call.origin && el("span", { class: "tag" }, ORIGINS[call.origin] ?? words(call.origin)),
      call.error && el("span", { class: "tag code" }, words(call.error)),
      el("span", { class: "note time" }, call.outcome ? took(call.wall, seconds) : "not run"),
    ),
    call.args ? pretty(call.args, "args") : el("p", { class: "note" }, "no arguments"),
    labelled("feedback", spokenBy(call), pretty(call.feedback)),
    call.problems.length && (call.level !== "detailed" || call.problems.length > NAMED_PROBLEMS)
      ? problems(call.problems)
      : null,
    call.outcome && call.outcome.text !== null
      ? labelled("aside", `what happened: ${words(call.outcome.kind)}`, pretty(call.outcome.text))
      : null,
    call.repair
      ? labelled(
          "aside repair",
          `would have worked: ${call.repair.steps.map(words).join(", ")}`,
          block(call.repair.args, {
            nodes: (text) => [el("b", {}, oneLine(call.repair.tool)), " ", ...jsonOrText(text)],
          }),
        )
      : null,
  );

const labelled = (kind, label, content) => el("div", { class: kind }, el("div", { class: "label" }, label), content);

const spokenBy = ({ error, level, action }) => {
  if (error) return `feedback, ${level}`;
  return action === "ask_user" ? "the user" : action ? "answer" : "tool result";
};

const problems = (found) =>
  el(
    "ul",
    { class: "problems" },
    found.map((one) =>
      el(
        "li",
        {},
        el("b", {}, words(one.code)),
        one.path ? [" ", el("code", {}, oneLine(one.path))] : null,
        one.given ? [" given ", el("code", {}, oneLine(one.given))] : null,
        one.allowed ? [", allowed: ", el("span", {}, oneLine(one.allowed))] : null,
      ),
    ),
  );
