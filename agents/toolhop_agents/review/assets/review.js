// Keys press what is on the page: every form works without this script.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input, select, textarea")) return;
  const hit = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  const folds = event.key === "c" ? [...document.querySelectorAll("details")] : [];
  const open = folds.every((fold) => fold.open);
  for (const fold of folds) fold.open = !open;
  if (!hit || hit.disabled) return;
  event.preventDefault();
  // A rejection needs a reason, which Enter sends.
  const reason = document.getElementById("reason");
  if (event.key === "r" && !reason.value.trim()) reason.focus();
  else hit.click();
});
