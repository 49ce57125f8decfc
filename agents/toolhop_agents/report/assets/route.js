// The address says what is shown, so that any view can be linked to, and back goes back.

const FILTERS = ["verdict", "benchmark", "run", "mode", "level", "domain", "error", "group", "finding", "item", "q", "sort"];

const readRoute = () => {
  const given = new URLSearchParams(location.hash.slice(1));
  const filters = {};
  for (const name of FILTERS) if (given.get(name)) filters[name] = given.get(name);
  const episode = given.get("episode");
  const compare =
    given.get("compare") && given.get("with") ? [given.get("compare"), given.get("with")] : null;
  const view = compare ? "compare" : episode || given.get("view") === "episodes" ? "episodes" : "overview";
  return {
    view,
    episode,
    compare,
    call: Number(given.get("call")) || 0,
    turn: Number(given.get("turn")) || 0,
    filters,
  };
};

const hashOf = ({ view, episode, compare, call, turn, filters = {} }) => {
  const made = new URLSearchParams();
  if (compare) {
    made.set("compare", compare[0]);
    made.set("with", compare[1]);
  } else if (!episode) made.set("view", view ?? "episodes");
  for (const name of FILTERS) if (filters[name]) made.set(name, filters[name]);
  if (episode) made.set("episode", episode);
  if (call) made.set("call", call);
  if (turn) made.set("turn", turn);
  return `#${made}`;
};

// Typing in a filter replaces the entry; opening something adds one.
const go = (route, { replace = false } = {}) => {
  const hash = hashOf(route);
  if (hash === location.hash) return showRoute();
  if (!replace) {
    location.hash = hash;
    return undefined;
  }
  history.replaceState(null, "", hash);
  return showRoute();
};

const episodeLink = (row, call) => hashOf({ episode: row.key, call });
