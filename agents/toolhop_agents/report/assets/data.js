// What the page carries: blocks of deflated JSON in base64, unpacked when they are needed.

const unpackText = async (id) => {
  const node = byId(id);
  const raw = atob(node.textContent);
  const bytes = Uint8Array.from(raw, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
};

const unpack = async (id) => JSON.parse(await unpackText(id));

const report = { rows: [], groups: [], runs: [], ablations: [], pairs: [], findings: [], benchmarks: {} };
const rowOf = new Map();

const loadReport = async () => {
  Object.assign(report, await unpack("report"));
  report.rows.forEach((row, index) => {
    row.index = index;
    rowOf.set(row.key, row);
  });
  // A link from a report on one run keeps its meaning in a report on several.
  for (const row of report.rows) if (!rowOf.has(row.name)) rowOf.set(row.name, row);
  nameGroups();
};

const RECENT = 6;
const chunks = new Map();

const chunkOf = (number) => {
  const kept = chunks.get(number) ?? unpack(`chunk-${number}`);
  chunks.delete(number);
  chunks.set(number, kept);
  if (chunks.size > RECENT) chunks.delete(chunks.keys().next().value);
  return kept;
};

const bodyOf = async (row) => (await chunkOf(row.at[0]))[row.at[1]];

// Turns with their calls, and what changed before them, in words.
const turnsOf = (body) => {
  const turns = [];
  let changes = [];
  let offered = body.tools;
  for (const event of body.events) {
    if (event.kind === "level") changes.push(`Feedback is ${event.level} from here on.`);
    else if (event.kind === "tools") {
      const added = event.tools.filter((name) => !offered.includes(name));
      const gone = offered.filter((name) => !event.tools.includes(name));
      if (added.length) changes.push(`New tools on offer from here on: ${added.join(", ")}.`);
      if (gone.length) changes.push(`No longer on offer: ${gone.join(", ")}.`);
      offered = event.tools;
    }
    else if (event.kind === "reply") {
      turns.push({ reply: event, calls: [], changes });
      changes = [];
    } else if (turns.length) turns.at(-1).calls.push(event);
  }
  return turns;
};

// Counts over all episodes, also where the page holds a selection of them.
const allOf = () => {
  if (report.selection) return report.selection;
  const tally = (values) => {
    const found = {};
    for (const value of values) found[value] = (found[value] ?? 0) + 1;
    return found;
  };
  return {
    episodes: report.rows.length,
    items: new Set(report.rows.map((row) => row.item)).size,
    calls: report.rows.reduce((sum, row) => sum + row.calls, 0),
    verdicts: tally(report.rows.map((row) => row.verdict)),
    runs: tally(report.rows.map((row) => row.run)),
  };
};

// What the page knows of a benchmark comes with the report: its measures, and which of them lead.
const benchmarkOf = (one) => report.benchmarks[one.benchmark];

const measureOf = (benchmark, name) => benchmark.measures.find((measure) => measure.name === name);

const leadOf = (benchmark) => measureOf(benchmark, benchmark.lead);

const answersOf = (benchmark) => benchmark.answers.map((name) => measureOf(benchmark, name));

const leadNames = () =>
  [...new Set(Object.values(report.benchmarks).map((one) => leadOf(one).heading))].join(", ");

// Whether scorers disagree about an episode's answer.
const scorersDiffer = (row) => {
  const said = answersOf(benchmarkOf(row)).filter((measure) => measure.binary);
  return new Set(said.map(({ name }) => row.values[name] ?? null).filter((one) => one !== null)).size > 1;
};

// Labels that say what tells groups apart, and no more.
const nameGroups = () => {
  const parts = ["benchmark", "agent", "mode", "level", "call_format"];
  const differ = parts.filter((part) => new Set(report.groups.map((group) => group[part])).size > 1);
  const shown = differ.length ? differ : ["agent", "mode"];
  // The arms of one ablation have names of their own.
  const arms = report.ablations.length === 1 && report.groups.length === report.runs.length;
  const names = report.groups.map((group) =>
    arms ? report.runs[group.run].arm : shown.map((part) => group[part]).join(" · "),
  );
  report.groups.forEach((group, index) => {
    const twice = names.filter((name) => name === names[index]).length > 1;
    group.index = index;
    group.name = twice ? `${names[index]} · ${runName(group.run)}` : names[index];
    group.tag = tagOf(index);
    group.color = `var(--group-${(index % 8) + 1})`;
  });
};

// An arm's name says enough where the report is about one ablation.
const runName = (index) =>
  report.ablations.length === 1 && report.runs.every((run) => run.arm)
    ? report.runs[index].arm
    : report.runs[index].label;

const tagOf = (index) =>
  (index < 26 ? "" : tagOf(Math.floor(index / 26) - 1)) + String.fromCharCode(65 + (index % 26));

const groupChip = (group) =>
  el("span", { class: "chip", style: `--color: ${group.color}` }, group.tag);

// The letter with the name: what was played differently, wherever one of several is shown.
const groupBadge = (group) =>
  report.groups.length > 1 &&
  el("span", { class: "badge" }, groupChip(group), el("span", {}, oneLine(group.name)));

// Full text: parts of each episode with the call they belong to, read once.
const texts = [];
let reading = null;

const readTexts = () => {
  reading ??= (async () => {
    const byChunk = new Map();
    for (const row of report.rows) byChunk.set(row.at[0], [...(byChunk.get(row.at[0]) ?? []), row]);
    for (const [number, rows] of byChunk) {
      const bodies = await unpack(`chunk-${number}`);
      for (const row of rows) texts[row.index] = searchable(row, bodies[row.at[1]]);
    }
  })();
  return reading;
};

const searchable = (row, body) => {
  const parts = [
    [0, row.item],
    [0, body.question],
    [0, body.gold],
  ];
  for (const event of body.events) {
    if (event.kind === "reply") parts.push([0, event.text, event.turn]);
    if (event.kind === "call") {
      parts.push([event.n, `${event.name} ${event.args}`], [event.n, event.feedback]);
      if (event.error) parts.push([event.n, event.error]);
      if (event.outcome?.text) parts.push([event.n, event.outcome.text]);
    }
  }
  if (body.end?.reason) parts.push([0, body.end.reason]);
  return parts;
};
