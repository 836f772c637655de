// Puts the page together: the header, the tabs, the theme, the keys.

document.getElementById("title").textContent = doc.title;
document.getElementById("signature").textContent = doc.signature.replace(/^func @\S+?\(/, "(");
document.getElementById("signature").title = doc.signature;

const order = ["summary", "stages", "passes", "graph", "kernels"];
for (const id of order) {
  const view = views[id];
  view.element = el("section", { class: `view ${id}`, id: `view-${id}`, role: "tabpanel", hidden: "" });
  view.tab = el("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `view-${id}`, onclick: () => showView(id) }, view.title);
  document.getElementById("tabs").append(view.tab);
  document.getElementById("views").append(view.element);
}

// -- the theme: as the system has it, until somebody chooses -----------------------------------------

const THEMES = { auto: "◐ auto", light: "☀ light", dark: "☾ dark" };

/** What was chosen before; in a notebook's frame there is no storage. */
function rememberedTheme() {
  try {
    return localStorage.getItem("tracejit-theme");
  } catch {
    return null;
  }
}

function setTheme(theme) {
  const button = document.getElementById("theme");
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.dataset.theme = theme;
  button.textContent = THEMES[theme];
  button.title = "light, dark, or as the system has it";
  try {
    localStorage.setItem("tracejit-theme", theme);
  } catch {
    // it holds for this page alone
  }
}

document.getElementById("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(document.getElementById("theme").dataset.theme) + 1) % names.length]);
});
const remembered = rememberedTheme();
setTheme(remembered in THEMES ? remembered : "auto");

// -- keys ---------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") lit.pin([]);
  if (event.target.closest("input, select")) return;
  if (event.key === "/") {
    const input = document.querySelector(".view:not([hidden]) input[type=search]");
    if (input) {
      event.preventDefault();
      input.focus();
    }
  }
  const number = Number(event.key);
  if (number >= 1 && number <= order.length && !event.ctrlKey && !event.metaKey && !event.altKey) showView(order[number - 1]);
});

describe([]);
showView(order.includes(location.hash.slice(1)) ? location.hash.slice(1) : "summary");
document.documentElement.dataset.ready = Math.round(performance.now());
