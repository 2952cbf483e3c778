// SPDX-License-Identifier: Apache-2.0
// Light and dark: the reader's system decides until a button is pressed.

const THEMES = ["auto", "light", "dark"];

function remembered(key) {
  try { return localStorage.getItem(key); } catch { return null; } // storage may be forbidden
}

function remember(key, value) {
  try { localStorage.setItem(key, value); } catch { /* the choice lasts as long as the page */ }
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function button(text, label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  if (label) { made.title = label; made.setAttribute("aria-label", label); }
  made.addEventListener("click", act);
  return made;
}

function addThemeButton(place, changed) {
  let theme = THEMES.includes(remembered("lockyard-theme")) ? remembered("lockyard-theme") : "auto";
  const made = button("", "", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember("lockyard-theme", theme);
    show();
    changed();
  });
  const show = () => {
    setTheme(theme);
    made.textContent = `Theme: ${theme}`;
  };
  made.id = "theme";
  show();
  place.append(made);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (theme === "auto") changed();
  });
}
