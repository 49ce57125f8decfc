// Charts by Observable Plot, which is run when the first one is drawn.

let library = null;

const charts = () => {
  library ??= (async () => {
    const source = await unpackText("charts");
    const policy = window.trustedTypes?.createPolicy("toolhop-charts", { createScript: (text) => text });
    const script = document.createElement("script");
    // The content security policy knows this text's hash: nothing else could run here.
    script.text = policy ? policy.createScript(source) : source;
    document.head.append(script);
    return window.Plot;
  })();
  return library;
};

// A figure that is drawn anew when its width changes. `draw(Plot, width)` gives Plot's options.
const figure = (title, note, draw) => {
  const place = el("div", { class: "chart" });
  let width = 0;
  const paint = async () => {
    const Plot = await charts();
    const options = draw(Plot, width);
    const drawn = Plot.plot({
      width,
      style: { background: "transparent", fontFamily: "inherit", fontSize: "12px", overflow: "visible" },
      ...options,
    });
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", `Chart: ${title}. The table beside it has the figures.`);
    place.replaceChildren(drawn);
  };
  new ResizeObserver(([entry]) => {
    const wide = Math.floor(entry.contentRect.width);
    if (wide && wide !== width) {
      width = wide;
      paint();
    }
  }).observe(place);
  return el("figure", {}, el("figcaption", {}, title, note && el("span", { class: "note" }, note)), place);
};

// What each bar stands for, behind its end. `at` has its `x` and `y`.
const barTexts = (Plot, marks, at, text) =>
  Plot.text(marks, { ...at, text, textAnchor: "start", dx: 6, fill: "currentColor" });

const groupColors = () => ({
  domain: report.groups.map((group) => group.tag),
  range: report.groups.map((group) => group.color),
});

const groupAxis = (width, groups = report.groups) => {
  const narrow = width < 520;
  const name = new Map(groups.map((group) => [group.tag, shorten(group.name, 42)]));
  return {
    marginLeft: narrow ? 30 : 44 + widest([...name.values()]),
    y: {
      label: null,
      tickSize: 0,
      tickPadding: 10,
      domain: groups.map((group) => group.tag),
      tickFormat: (tag) => (narrow ? tag : `${name.get(tag)}   ${tag}`),
    },
  };
};

const ruler = document.createElement("canvas").getContext("2d");

const widest = (labels) => {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return Math.max(...labels.map((label) => ruler.measureText(label).width));
};

const shorten = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
