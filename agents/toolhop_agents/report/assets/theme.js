// Runs before anything is drawn: a page that was set to dark does not flash.
(() => {
  try {
    const kept = localStorage.getItem("toolhop-theme");
    if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  } catch {
    // Storage is closed to this page: the system's setting holds.
  }
})();
