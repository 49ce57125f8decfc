// From the address to the page.

let list = null;
let split = null;
let shownEpisode = null;
let turnOfView = 0;
// The search field gets the focus as soon as it is there.
let searchNext = false;

const main = byId("main");

const mark = (view) => {
  for (const name of ["overview", "episodes"]) {
    const current = name === view || (name === "episodes" && view === "compare");
    if (current) byId(`to-${name}`).setAttribute("aria-current", "page");
    else byId(`to-${name}`).removeAttribute("aria-current");
  }
  document.body.dataset.view = view;
};

const showRoute = async ({ again = false } = {}) => {
  const route = readRoute();
  turnOfView += 1;
  const mine = turnOfView;
  mark(route.view);
  if (route.view !== "episodes") [split, shownEpisode] = [null, null];
  try {
    if (route.view === "overview") {
      main.replaceChildren(overview());
      window.scrollTo(0, 0);
    } else if (route.view === "compare") await showCompare(route, mine);
    else await showEpisodes(route, mine, again);
  } catch (error) {
    [split, shownEpisode] = [null, null];
    main.replaceChildren(wait(`This part of the report cannot be read: ${error.message}`));
    throw error;
  }
};

const showCompare = async (route, mine) => {
  const rows = route.compare.map((key) => rowOf.get(key));
  if (rows.some((row) => !row)) {
    main.replaceChildren(missing(route.compare[rows.findIndex((row) => !row)]));
    return;
  }
  const bodies = await Promise.all(rows.map(bodyOf));
  if (mine !== turnOfView) return;
  main.replaceChildren(compareView(rows, bodies));
  window.scrollTo(0, 0);
  byId("compare-title").focus({ preventScroll: true });
};

const wait = (...content) => el("p", { class: "wait" }, content);

const missing = (key) =>
  wait(
    `This report has no episode “${oneLine(key)}”. `,
    report.selection && "It holds a part of the run; toolhop show RUN ITEM reads any other. ",
    el("a", { href: hashOf({ view: "episodes" }) }, "All episodes"),
  );

const showEpisodes = async (route, mine, again) => {
  if (!split || split.filters !== JSON.stringify(route.filters)) await listEpisodes(route, mine);
  if (mine !== turnOfView) return;
  document.body.classList.toggle("reading", Boolean(route.episode));
  if (searchNext) byId("search").focus();
  searchNext = false;
  if (!route.episode) {
    shownEpisode = null;
    list.open(null);
    split.detail.replaceChildren(wait("Choose an episode."));
    return;
  }
  const row = rowOf.get(route.episode);
  if (!row) {
    split.detail.replaceChildren(missing(route.episode));
    return;
  }
  if (shownEpisode !== row || again) {
    const body = await bodyOf(row);
    if (mine !== turnOfView) return;
    list.open(row);
    shownEpisode = row;
    const around = {
      previous: list.neighbour(row, -1),
      next: list.neighbour(row, 1),
      back: hashOf({ view: "episodes", filters: route.filters }),
      filters: route.filters,
    };
    split.detail.replaceChildren(episodeView(row, body, around));
    split.detail.scrollTop = 0;
    if (!again) window.scrollTo(0, 0);
    markFound(route.filters.q);
  }
  focusPart(route, again);
};

// To the call or turn that the address names, else to the head of the episode.
const focusPart = (route, again) => {
  for (const old of document.querySelectorAll(".linked")) old.classList.remove("linked");
  const part = route.call ? byId(`call-${route.call}`) : route.turn ? byId(`turn-${route.turn}`) : null;
  if (part) {
    part.classList.add("linked");
    part.scrollIntoView({ block: "start" });
    part.focus({ preventScroll: true });
  } else if (route.call) say(`This episode has no call ${route.call}.`);
  else if (!again) byId("episode-title").focus({ preventScroll: true });
};

// Words that were searched for are marked where the browser can do so without touching the text.
const markFound = (query) => {
  if (!CSS.highlights) return;
  CSS.highlights.delete("found");
  if (!query) return;
  const ranges = [];
  const sought = patterns(query).map((pattern) => new RegExp(pattern.source, "giu"));
  const walk = document.createTreeWalker(split.detail, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node && ranges.length < 2000; node = walk.nextNode())
    for (const pattern of sought)
      for (const found of node.data.matchAll(pattern)) {
        const range = new Range();
        range.setStart(node, found.index);
        range.setEnd(node, found.index + found[0].length);
        ranges.push(range);
      }
  CSS.highlights.set("found", new Highlight(...ranges));
};

const listEpisodes = async (route, mine) => {
  if (!split) layOut(route);
  if (route.filters.q) {
    if (texts.length < report.rows.length) split.total.textContent = "Reading all texts…";
    await readTexts();
    if (mine !== turnOfView) return;
  }
  const { rows, hits } = listed(route.filters);
  list.show(rows, hits, route.filters.q ?? "");
  const here =
    rows.length === report.rows.length
      ? plural(rows.length, "episode")
      : `${count(rows.length)} of ${plural(report.rows.length, "episode")}`;
  const total = report.selection ? `${here} here (${count(report.selection.episodes)} in all)` : here;
  split.total.textContent = total;
  say(total);
  split.filters = JSON.stringify(route.filters);
  split.bar.sync(route.filters);
};

const layOut = (route) => {
  list = episodeList((row, hit) =>
    go({ episode: row.key, call: hit?.call, turn: hit?.turn, filters: readRoute().filters }),
  );
  const total = el("p", { class: "total", id: "total" });
  const detail = el("div", { class: "detail", id: "detail" });
  let waiting = 0;
  const change = (name, value, later = 0) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const now = readRoute();
      go({ view: "episodes", filters: { ...now.filters, [name]: value } }, { replace: true });
    }, later);
  };
  const bar = filterBar(route.filters, change);
  // After going back, the fields show the filters of the address again.
  bar.sync = (filters) => {
    for (const field of bar.querySelectorAll("input, select")) {
      const name = field.id === "search" ? "q" : field.id.slice("filter-".length);
      if (field !== document.activeElement && field.value !== (filters[name] ?? ""))
        field.value = filters[name] ?? "";
    }
  };
  split = { detail, total, bar, filters: null };
  shownEpisode = null;
  main.replaceChildren(
    el("div", { class: "split" }, el("div", { class: "side-list" }, bar, total, list.node), detail),
  );
};

const onKey = (event) => {
  const field = event.target.closest("input, select, textarea");
  if (event.key === "/" && !field && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    if (byId("search")) byId("search").focus();
    else {
      searchNext = true;
      go({ view: "episodes" });
    }
  } else if (event.key === "ArrowDown" && event.target.id === "search") {
    event.preventDefault();
    byId("list").focus();
  } else if (event.key === "Escape") leave(field);
};

// Out of a field to the list, out of an episode to the list, out of a comparison to the episode.
const leave = (field) => {
  const route = readRoute();
  if (route.compare) go({ episode: route.compare[0] });
  else if (route.view === "episodes") {
    if (route.episode && !field) go({ view: "episodes", filters: route.filters });
    requestAnimationFrame(() => byId("list")?.focus());
  }
};

const start = async () => {
  themes();
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  if (typeof DecompressionStream === "undefined") {
    main.replaceChildren(wait("This browser cannot unpack the report. Browsers from 2023 on can."));
    return;
  }
  try {
    await loadReport();
  } catch (error) {
    main.replaceChildren(wait(`The report's data cannot be read: ${error.message}`));
    throw error;
  }
  byId("run-names").textContent = document.title;
  window.addEventListener("hashchange", () => showRoute());
  document.addEventListener("keydown", onKey);
  await showRoute();
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
};

start();
