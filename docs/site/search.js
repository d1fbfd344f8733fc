"use strict";
// The search of the site: `rank` is all of the ranking, and the tests run it as it stands here.

/** Return [number of a page, score] of an index (searching.py makes it), the best first. */
function rank(index, query) {
  const asked = wordsOf(query).filter((word) => !index.silent.includes(word));
  const typed = asked.length ? asked : wordsOf(query);
  const sought = typed.map((word, place) => meanings(index, word, place === typed.length - 1));
  const pairs = sought.slice(1).map((next, place) => paired(sought[place], next));
  const scores = new Map();
  const reached = new Map();
  let all = 0;
  for (const stems of sought) {
    const pages = best(index, stems);
    const most = Math.max(0, ...pages.values());
    all += most;
    for (const [page, score] of pages) {
      scores.set(page, (scores.get(page) || 0) + score);
      reached.set(page, (reached.get(page) || 0) + most);
    }
  }
  for (const stems of pairs)
    for (const [page, score] of best(index, stems)) scores.set(page, (scores.get(page) || 0) + score);
  const called = alike(index, sought);
  const found = [...scores].map(([page, score]) => [
    page,
    score * index.standing[page] * ((reached.get(page) || 0) / all) ** 1.4 * bonus(index, query, page, called),
  ]);
  return found.sort((one, other) => other[1] - one[1] || one[0] - other[0]);
}

/** A page that is called what is typed comes before those that say more; a name of the API is typed letter by letter. */
function bonus(index, query, page, called) {
  if (/_|[a-z][A-Z]|^[A-Z]{2}[a-z]/.test(query) && index.pages[page][1] === query.trim()) return 12;
  const likeness = called.get(page) || 0;
  return 1 + 2 * likeness ** 2 + (likeness > 0.97 ? 3 : 0);
}

/** Return page → how much its title, a heading or something asked of it is like what is typed: 1 is the same. */
function alike(index, sought) {
  const rare = (stem) => Math.log(1 + index.pages.length / (1 + (index.weights[stem] || []).length / 2));
  const weights = sought.map((stems) => Math.max(...[...stems.keys()].map((stem) => stems.get(stem) * rare(stem))));
  const found = new Map();
  for (const [page, ...line] of index.lines) {
    const shared = sought.map((stems) => Math.max(0, ...line.map((stem) => (stems.get(stem) || 0) * rare(stem))));
    const both = shared.reduce((sum, share, place) => sum + share * weights[place], 0);
    const likeness = both && both / Math.hypot(...weights) / Math.hypot(...line.map(rare));
    if (likeness > (found.get(page) || 0)) found.set(page, likeness);
  }
  return found;
}

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
}

/** Return stem → how surely it is meant: the word itself, what means the same, what it begins, what is a slip away. */
function meanings(index, typed, isLast) {
  const found = new Map();
  const american = typed.replace(/is(?=ation|e[drs]?$|ing$)/, "iz");
  const word = typed in index.words ? typed : american;
  const own = index.words[word];
  if (own !== undefined) found.set(own, 1);
  for (const other of index.meant[own || word] || []) if (!found.has(other)) found.set(other, 0.3);
  if (own === undefined || (isLast && word.length > 2 && word.length < 5))
    for (const other of Object.keys(index.words)) {
      const sureness = likeness(word, other, own !== undefined);
      const stem = index.words[other];
      if (sureness > (found.get(stem) || 0)) found.set(stem, sureness);
    }
  return found;
}

function likeness(word, other, isKnown) {
  if (word.length > 1 && other.startsWith(word)) return isKnown ? 0.4 : 0.8;
  if (isKnown || word.length < 4) return 0;
  if (other.length > 3 && word.startsWith(other) && word.length - other.length < 4) return 0.6;
  return slips(word, other, word.length < 8 ? 1 : 2) ? 0.7 : 0;
}

/** Tell whether at most so many letters were forgotten, added, exchanged or swapped. */
function slips(one, other, most) {
  if (Math.abs(one.length - other.length) > most || one[0] !== other[0]) return false;
  let before = [];
  let last = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let at = 1; at <= other.length; at++) {
      const same = one[row - 1] === other[at - 1] ? 0 : 1;
      next[at] = Math.min(last[at] + 1, next[at - 1] + 1, last[at - 1] + same);
      if (row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1])
        next[at] = Math.min(next[at], before[at - 2] + 1);
    }
    [before, last] = [last, next];
  }
  return last[other.length] <= most;
}

function paired(stems, next) {
  const found = new Map();
  for (const [one, sureness] of stems)
    for (const [other, also] of next) {
      found.set(`${one} ${other}`, sureness * also);
      found.set(`${one}${other}`, sureness * also);
    }
  return found;
}

/** Return page → the best score that one of some stems has there. */
function best(index, stems) {
  const found = new Map();
  for (const [stem, sureness] of stems) {
    const pages = index.weights[stem] || [];
    for (let place = 0; place < pages.length; place += 2) {
      const score = sureness * pages[place + 1];
      if (score > (found.get(pages[place]) || 0)) found.set(pages[place], score);
    }
  }
  return found;
}

// What follows draws the field in the header, and the list below it. Nothing is loaded but the index, when it is needed.

function start() {
  const header = document.querySelector(".md-header__inner");
  if (!header || header.querySelector(".sf-search")) return;
  const base = JSON.parse(document.getElementById("__config").textContent).base;
  const field = made("input", {
    type: "search", placeholder: "Search (press /)", autocomplete: "off", spellcheck: false, role: "combobox",
    "aria-label": "Search these pages", "aria-expanded": false, "aria-controls": "sf-found", "aria-autocomplete": "list",
  });
  const list = made("ul", { id: "sf-found", role: "listbox", "aria-label": "Pages found", hidden: "" });
  const box = made("div", { class: "sf-search" });
  box.append(field, list);
  header.append(box);
  let chosen = -1;

  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", false);
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (place) => {
    const items = [...list.querySelectorAll("[role=option]")];
    chosen = items.length ? (place + items.length) % items.length : -1;
    items.forEach((item, number) => item.setAttribute("aria-selected", number === chosen));
    if (chosen < 0) return;
    field.setAttribute("aria-activedescendant", items[chosen].id);
    items[chosen].scrollIntoView({ block: "nearest" });
  };
  const show = () => {
    if (typeof sfumatoIndex === "undefined") return loaded(base, show);
    const found = field.value.trim() ? rank(sfumatoIndex, field.value).slice(0, 10) : [];
    const items = found.map(([page], number) => entry(base, sfumatoIndex.pages[page], number, field.value));
    const nothing = made("li", { class: "sf-none" }, "No page has these words. Try fewer, or other ones.");
    list.replaceChildren(...(items.length ? items : [nothing]));
    list.hidden = !field.value.trim();
    field.setAttribute("aria-expanded", !list.hidden);
    choose(0);
  };
  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && chosen >= 0) list.querySelectorAll("a")[chosen].click();
    else if (event.key === "Escape") close();
  });
  document.addEventListener("click", (event) => box.contains(event.target) || close());
  document.addEventListener("focusin", (event) => box.contains(event.target) || close());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    field.focus();
  });
}

function entry(base, [place, title, first, headings], number, query) {
  const item = made("li", { id: `sf-found-${number}`, role: "option" });
  const link = made("a", { href: `${base}/${place}`, tabindex: -1 });
  link.append(made("strong", {}, title), made("small", {}, room(place)), made("span", {}, first));
  const asked = wordsOf(query).filter((word) => word.length > 3);
  const part = headings.find((heading) => asked.some((word) => heading.toLowerCase().includes(word)));
  if (part) link.append(made("em", {}, part));
  item.append(link);
  return item;
}

function room(place) {
  const [top, folder] = place.split("/");
  return top === "api" ? "Python" : top !== "docs" || folder.includes(".") ? "" : folder;
}

function loaded(base, then) {
  if (document.getElementById("sf-index")) return;
  const script = made("script", { id: "sf-index", src: `${base}/search-index.js` });
  script.onload = then;
  document.head.append(script);
}

function made(tag, attributes, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", start);
