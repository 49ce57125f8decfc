// The button that changes between light and dark colours.

const themes = () => {
  const button = byId("theme");
  const dark = () =>
    (document.documentElement.dataset.theme ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("toolhop-theme", document.documentElement.dataset.theme);
    } catch {
      // Not kept: this page has no storage.
    }
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
};
