// Runs that are not an ablation: the same items under two levels of feedback.

const levelsSection = () => {
  if (!report.pairs.length) return null;
  const rows = report.pairs
    .flatMap((one) => [{ one, e: one.all, which: "all" }, { one, e: one.failed, which: "with a failed call" }])
    .filter(({ e }) => e);
  const name = ({ one }) => [
    el("b", {}, `${one.before} → ${one.after}`),
    oneLine(` ${one.agent} · ${one.mode}`),
    el("span", { class: "note" }, ` ${one.how}`),
  ];
  const of = ({ one, e }) => [leadOf(benchmarkOf(one)), e];
  const columns = [
    { name: "levels", cell: name },
    { name: "episodes", cell: ({ which }) => which },
    ...effectColumns(report.pairs.map(({ before, after }) => [before, after]), of),
    number("difference", (row) => withInterval(...of(row)), {
      says: "Second level minus first, with its 95 % interval.",
    }),
    number("p", ({ e }) => chance(e.p_value), { says: "Exact test over items." }),
  ];
  const discordant = report.pairs.filter((one) => one.discordant.length);
  return section(
    "levels",
    "Feedback levels, paired",
    "Answers under two levels of feedback. Forked pairs share their turns up to the change; separate ones share the item and the epoch.",
    Object.entries(report.benchmarks).map(([name, benchmark]) => levelChart(name, leadOf(benchmark))),
    table(columns, rows),
    disagreements(
      report.pairs.flatMap((one) =>
        [one.all, one.failed].map((e) => [`${one.before} → ${one.after}, ${one.agent}`, e]),
      ),
    ),
    discordant.map((one) =>
      discordantList(`${one.before} → ${one.after}, ${one.agent} · ${one.mode}`, one.discordant),
    ),
  );
};

const signed = (measure, value) =>
  `${value > 0 ? "+" : value < 0 ? "−" : ""}${inUnit(measure, Math.abs(value))}`;

const levelChart = (name, lead) => {
  const marks = report.pairs
    .filter((one) => one.all && one.benchmark === name)
    .map((one) => ({ ...one.all, label: `${one.agent} · ${one.mode}: ${one.before} → ${one.after}` }));
  return marks.length ? differenceChart("95 %", lead, marks) : null;
};
