// Runs that are no ablation: the same items under two levels of feedback.

const levelsSection = () => {
  if (!report.pairs.length) return null;
  const columns = [
    { name: "levels" },
    { name: "episodes" },
    { name: "pairs", number: true },
    { name: "before %", number: true },
    { name: "after %", number: true },
    { name: "difference", number: true, title: "In points of per cent, with its 95 % interval" },
    { name: "p", number: true, title: "Exact test over items" },
    { name: "right → wrong", number: true },
    { name: "wrong → right", number: true },
  ];
  const line = (figures, name, which) => [
    name,
    which,
    count(figures.n),
    (100 * figures.before).toFixed(1),
    (100 * figures.after).toFixed(1),
    withInterval(figures),
    chance(figures.p),
    count(figures.lost),
    count(figures.gained),
  ];
  const rows = report.pairs.flatMap((one) => {
    const name = () => [
      el("b", {}, `${one.before} → ${one.after}`),
      oneLine(` ${one.player} · ${one.mode}`),
      el("span", { class: "note" }, ` ${one.how}`),
    ];
    return [
      one.all && line(one.all, name(), "all"),
      one.failed && line(one.failed, name(), "with a failed call"),
    ].filter(Boolean);
  });
  const turned = report.pairs.filter((one) => one.flips.length);
  return section(
    "levels",
    "Feedback levels, paired",
    "Right by the strict rule under two levels of feedback. Forked pairs share their turns up to the change; separate ones share the item and the epoch.",
    levelChart(),
    table(null, columns, rows, { wide: true }),
    turned.map((one) => flipList(`${one.before} → ${one.after}, ${one.player} · ${one.mode}`, one.flips)),
  );
};

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(1)}`;

const levelChart = () =>
  differenceChart(
    "Difference after − before, points of per cent",
    "lines: 95 % intervals",
    report.pairs
      .filter((one) => one.all)
      .map((one, index) => ({
        ...one.all,
        name: String(index + 1),
        label: `${one.player} · ${one.mode}: ${one.before} → ${one.after}`,
      })),
  );
