// One item at a time: what is asked, how it is solved, and the verdict. What others say is not here.

let state = null;
let shown = -1;
let loading = 0;

const main = byId("main");
const reason = byId("reason");
const RULINGS = { accept: "accepted", reject: "rejected", skip: "skipped" };

const ask = async (path, body) => {
  const options = body && { method: "POST", body: JSON.stringify(body) };
  const reply = await fetch(path, { cache: "no-store", ...options });
  const value = await reply.json();
  if (!reply.ok) throw new Error(value.error ?? reply.statusText);
  return value;
};

const rowOfId = (id) => state.items.find((row) => row.id === id);
const judged = (row) => row.ruling === "accept" || row.ruling === "reject";

// The next item in the queue that waits: never shown ones first, then those that were skipped.
const nextOpen = (after) => {
  const at = state.queue.indexOf(after);
  const order = [...state.queue.slice(at + 1), ...state.queue.slice(0, at + 1)];
  return (
    order.find((id) => rowOfId(id).ruling === null) ??
    order.find((id) => rowOfId(id).ruling === "skip" && id !== after) ??
    order.find((id) => !judged(rowOfId(id)))
  );
};

const progress = () => {
  const done = state.queue.filter((id) => judged(rowOfId(id))).length;
  byId("who").textContent = `${state.folder} · ${state.reviewer}${state.settling ? " settles" : ""}`;
  byId("done").textContent = `${count(done)} of ${count(state.queue.length)} judged`;
};

const callText = (hop) => `${hop.tool}(${hop.arguments ?? ""})`;

const hopView = (hop) =>
  el(
    "li",
    {},
    el("p", { class: "asked" }, readable(hop.question)),
    el(
      "div",
      { class: "call" },
      hop.arguments === null
        ? el("p", { class: "note" }, `${hop.tool}: no gold call`)
        : el("pre", { class: "foreign", dir: "auto" }, readable(callText(hop))),
      hop.result !== null && el("div", { class: "result" }, block(hop.result, { nodes: jsonOrText })),
    ),
    el(
      "p",
      { class: "gives" },
      "answer: ",
      el("b", {}, readable(hop.answer)),
      el(
        "span",
        { class: "note" },
        hop.edges.length > 0 && ` · takes hop ${hop.edges.map((edge) => `${edge.hop} as ${edge.argument}`).join(", ")}`,
        hop.chance && ` · ${hop.chance[0]} of ${hop.chance[1]} other values give it too`,
      ),
    ),
  );

const folded = (title, content, kind) => el("details", { class: `fold ${kind ?? ""}` }, el("summary", {}, title), content());

const toolView = (tool) =>
  el(
    "div",
    { class: "tool-made" },
    el("h3", {}, readable(tool.name)),
    el("p", { dir: "auto" }, readable(tool.description)),
    table(
      null,
      [{ name: "parameter" }, { name: "type" }, { name: "what it says" }],
      tool.parameters.map(([name, kind, about]) => [el("code", {}, readable(name)), readable(kind), readable(about)]),
    ),
    folded("Schema", () => block(tool.schema, { nodes: jsonOrText })),
    folded("Code", () => el("pre", { class: "foreign code" }, readable(tool.code)), "of-code"),
  );

const criteriaView = (criteria) =>
  el(
    "ul",
    { class: "holds" },
    criteria.map((one) =>
      el("li", {}, verdictMark(one.holds ? "right" : "wrong"), ` ${one.name} `, el("code", {}, readable(one.figure))),
    ),
  );

const attemptsView = (steps) =>
  table(
    null,
    [{ name: "stage" }, { name: "replies", number: true }, { name: "went back" }, { name: "checks that spoke against it" }],
    steps.map((step) => [
      step.hop ? `${step.stage}, hop ${step.hop}` : step.stage,
      String(step.replies),
      step.returned ? "yes" : "no",
      step.checks.join(", ") || "none",
    ]),
  );

const picker = (id) => {
  const select = el(
    "select",
    { id: "pick", "aria-label": "Item" },
    state.queue.map((one) => {
      const { ruling } = rowOfId(one);
      return el("option", { value: one, selected: one === id }, `${oneLine(one)}${ruling ? ` (${RULINGS[ruling]})` : ""}`);
    }),
  );
  select.addEventListener("change", () => show(select.value));
  return select;
};

const step = (by) => {
  const at = state.queue.indexOf(state.items[shown]?.id);
  const to = state.queue[at + by];
  if (to !== undefined) show(to);
};

const itemView = (item) => [
  el(
    "div",
    { class: "where" },
    el("button", { type: "button", class: "quiet", id: "before", onclick: () => step(-1) }, "← Before"),
    picker(item.id),
    el("button", { type: "button", class: "quiet", id: "after", onclick: () => step(1) }, "After →"),
    el("span", { class: "note" }, readable(item.domain)),
  ),
  el("h1", { class: "question", id: "question", tabindex: "-1", dir: "auto" }, readable(item.question)),
  el("p", { class: "gold" }, "answer: ", el("b", {}, readable(item.answer))),
  item.marks.map((text) => el("p", { class: "remark" }, readable(text))),
  el("h2", {}, "Chain"),
  el("ol", { class: "hops" }, item.hops.map(hopView)),
  el("h2", {}, "Tools"),
  el("div", { class: "tools-made" }, item.tools.map(toolView)),
  el("h2", {}, "Criteria"),
  criteriaView(item.criteria),
  el("h2", {}, "Attempts"),
  attemptsView(item.steps),
  el(
    "p",
    { class: "note" },
    readable(
      Object.entries(item.facts)
        .filter(([, value]) => value !== "" && value !== null)
        .map(([name, value]) => `${words(name)}: ${value}`)
        .join(" · "),
    ),
  ),
];

const marked = (row) => {
  for (const name of ["accept", "reject"]) byId(name).setAttribute("aria-pressed", String(row.ruling === name));
  byId("now").classList.remove("failed");
  byId("now").textContent = row.ruling ? `You ${RULINGS[row.ruling]} it${row.reason ? `: ${oneLine(row.reason)}` : ""}` : "";
};

const finished = () => {
  shown = -1;
  byId("verdict").hidden = true;
  const rejected = state.queue.filter((id) => rowOfId(id).ruling === "reject").length;
  main.replaceChildren(
    el("p", { class: "wait", id: "finished" }, `All ${plural(state.queue.length, "item")} judged, ${rejected} rejected. You can close this page.`),
    el("div", { class: "where" }, picker(null)),
  );
  byId("pick").selectedIndex = -1;
  say("All items are judged.");
};

const show = async (id) => {
  if (id === undefined) {
    finished();
    return;
  }
  loading += 1;
  const mine = loading;
  const at = state.items.findIndex((row) => row.id === id);
  const item = await ask(`item/${at}`);
  if (mine !== loading) return;
  shown = at;
  history.replaceState(null, "", `#item=${encodeURIComponent(id)}`);
  main.replaceChildren(...itemView(item).flat(Infinity));
  byId("before").disabled = state.queue[0] === id;
  byId("after").disabled = state.queue.at(-1) === id;
  byId("verdict").hidden = false;
  reason.value = state.items[at].reason;
  delete reason.dataset.rejects;
  marked(state.items[at]);
  window.scrollTo(0, 0);
  byId("question").focus({ preventScroll: true });
  document.documentElement.dataset.item = id;
};

const rule = async (ruling) => {
  const row = state.items[shown];
  if (!row) return;
  if (ruling === "reject" && !reason.value.trim()) {
    byId("now").textContent = "A rejection needs a reason; Enter rejects.";
    reason.dataset.rejects = "yes";
    reason.focus();
    return;
  }
  const buttons = byId("verdict").querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  try {
    Object.assign(row, await ask("verdict", { item: row.id, ruling, reason: reason.value }));
    delete reason.dataset.rejects;
    progress();
    say(`${row.id} ${RULINGS[ruling]}`);
    await show(nextOpen(row.id));
  } catch (error) {
    byId("now").classList.add("failed");
    byId("now").textContent = `Not kept: ${error.message}`;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
};

const KEYS = {
  a: () => rule("accept"),
  r: () => rule("reject"),
  s: () => rule("skip"),
  j: () => step(1),
  k: () => step(-1),
  c: () => {
    const all = [...document.querySelectorAll("details.of-code")];
    const open = all.every((one) => one.open);
    for (const one of all) one.open = !open;
  },
};

const begin = async () => {
  themes();
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  for (const [id, ruling] of [["accept", "accept"], ["reject", "reject"], ["skip-item", "skip"]])
    byId(id).addEventListener("click", () => rule(ruling));
  byId("verdict").addEventListener("submit", (event) => {
    event.preventDefault();
    // Enter in the field rejects where a rejection asked for it, and else does nothing.
    if (reason.dataset.rejects && reason.value.trim()) rule("reject");
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "Escape" && event.target === reason) byId("question").focus();
    if (event.target.closest("input, select, textarea")) return;
    const act = KEYS[event.key];
    if (act && shown >= 0) {
      event.preventDefault();
      act();
    }
  });
  try {
    state = await ask("state");
    progress();
    const wanted = decodeURIComponent(location.hash.replace("#item=", ""));
    await show(state.queue.includes(wanted) ? wanted : nextOpen(null));
  } catch (error) {
    main.replaceChildren(el("p", { class: "wait" }, `The server does not answer: ${error.message}`));
  }
  document.documentElement.dataset.ready = "yes";
};

begin();
