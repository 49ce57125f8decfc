// Runs that are not an ablation: the same items under two levels of feedback.

const levelsSection = () => {
  if (!report.pairs.length) return null;
  const columns = [
    { name: "levels" },
    { name: "episodes" },
    ...EFFECT(report.pairs.map(({ before, after }) => [before, after])),
    { name: "difference", number: true, says: "Second level minus first, with its 95 % interval." },
    { name: "p", number: true, says: "Exact test over items." },
  ];
  const line = (one, effect, which) => {
    const lead = leadOf(benchmarkOf(one));
    const name = [
      el("b", {}, `${one.before} → ${one.after}`),
      oneLine(` ${one.agent} · ${one.mode}`),
      el("span", { class: "note" }, ` ${one.how}`),
    ];
    return [name, which, ...effectCells(lead, effect), withInterval(lead, effect), chance(effect.p_value)];
  };
  const rows = report.pairs.flatMap((one) =>
    [one.all && line(one, one.all, "all"), one.failed && line(one, one.failed, "with a failed call")].filter(Boolean),
  );
  const discordant = report.pairs.filter((one) => one.discordant.length);
  return section(
    "levels",
    "Feedback levels, paired",
    "Answers under two levels of feedback. Forked pairs share their turns up to the change; separate ones share the item and the epoch.",
    Object.entries(report.benchmarks).map(([name, benchmark]) => levelChart(name, leadOf(benchmark))),
    table(null, columns, rows),
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
