// Writes by fetch, with the header that only this page sends; afterwards the page is asked for again and swapped in,
// with the focus where it was. So there is one way in which a page is made: on the server.

/** Messages of the scripts in the reader's language; none in English. @type {Record<string, string>} */
const words = JSON.parse(document.documentElement.dataset.words || "{}");

/** @param {string} message @param {...(string | number)} given what stands for {1}, {2} … @returns {string} */
export function _(message, ...given) {
  return (words[message] || message).replace(/{(\d+)}/g, (_whole, at) => String(given[Number(at) - 1]));
}

/** @type {AbortController | null} */
let asking = null;
let counted = 0;

const notice = () => /** @type {HTMLElement} */ (document.getElementById("notice"));

/** @param {string[]} lines @param {boolean} isProblem */
export function say(lines, isProblem) {
  const place = notice();
  place.classList.toggle("problem", isProblem);
  place.replaceChildren(...lines.filter(Boolean).map((line) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = line;
    return paragraph;
  }));
}

/** Names where the focus is, so that it can be found again in another page. @returns {string | null} */
function focused() {
  const active = document.activeElement;
  if (!active || active === document.body) return null;
  if (active.id) return `#${CSS.escape(active.id)}`;
  return null;
}

/** Fields that were sent: what stands in them is saved, or refused. @type {Set<string>} */
const sent = new Set();

/** @param {any} field */
function isChanged(field) {
  if (!(field instanceof HTMLSelectElement)) return field.value !== field.defaultValue;
  return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
}

/** What somebody has begun to fill in and not sent. @returns {[string, string][]} */
function unsent() {
  const fields = document.querySelectorAll("form[data-post]:not([data-at-once]) :is(input, select, textarea)[id]");
  const kept = /** @type {any[]} */ ([...fields]).filter((field) => !sent.has(field.id) && isChanged(field));
  return kept.map((field) => [field.id, field.value]);
}

/** Which columns are chosen, and what is searched for; both outlive a page that is swapped in. @type {Set<string>} */
const picked = new Set();
let sought = "";

/** @returns {HTMLInputElement[]} */
const picks = () => [...document.querySelectorAll("[data-pick]")].map((one) => /** @type {HTMLInputElement} */ (one));

function showFound() {
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("find"));
  if (!field) return;
  field.value = sought;
  const part = sought.trim().toLowerCase();
  let isShown = true, many = 0;
  for (const row of document.querySelectorAll(".columns tbody tr")) {
    const pick = /** @type {HTMLInputElement | null} */ (row.querySelector("[data-pick]"));
    if (pick) {
      isShown = pick.value.toLowerCase().includes(part);
      many += isShown ? 1 : 0;
      pick.checked = picked.has(pick.value);
    }
    /** @type {HTMLElement} */ (row).hidden = !isShown;
  }
  const found = document.getElementById("found"), all = picks().length;
  if (found) found.textContent = [part && _("{1} of {2} shown", many, all), picked.size && _("{1} chosen", picked.size)].filter(Boolean).join(" · ");
}
document.addEventListener("input", (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (field.id === "find") sought = field.value;
  else if (field.dataset.pick !== undefined) field.checked ? picked.add(field.value) : picked.delete(field.value);
  else if (field.id === "pick-all") {
    for (const pick of picks()) {
      if (!pick.closest("tr")?.hidden) field.checked ? picked.add(pick.value) : picked.delete(pick.value);
    }
  } else return;
  showFound();
});
document.addEventListener("keydown", (event) => {
  const field = /** @type {HTMLElement} */ (event.target);
  if (field.id === "find" && event.key === "Enter") event.preventDefault();
  if (!(event.ctrlKey || event.metaKey) || field.matches("input:not([type=checkbox]), textarea")) return;
  const name = event.key.toLowerCase() === "y" || (event.shiftKey && event.key.toLowerCase() === "z") ? "redo" : "undo";
  if (!["y", "z"].includes(event.key.toLowerCase())) return;
  event.preventDefault();
  /** @type {HTMLButtonElement | null} */ (document.getElementById(name))?.click();
});

/** @param {string} [address] */
export async function refresh(address = location.href) {
  const answer = await fetch(address, { headers: { "X-Sfumato": "1" } });
  const text = await answer.text();
  if (!(answer.headers.get("content-type") || "").startsWith("text/html")) return say([text.trim()], true);
  // What was changed meanwhile would be put back for a moment.
  if (pending || typing) return;
  const made = new DOMParser().parseFromString(text, "text/html");
  const place = focused(), begun = unsent();
  const opened = new Set([...document.querySelectorAll("details[open][id]")].map((one) => one.id));
  for (const part of ["top", "main"]) {
    const fresh = made.getElementById(part), old = document.getElementById(part);
    if (fresh && old) old.replaceWith(document.adoptNode(fresh));
  }
  entry = /** @type {HTMLElement | null} */ (document.getElementById("main"))?.dataset.entry;
  document.title = made.title;
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, value] of begun) {
    const field = /** @type {any} */ (document.getElementById(id));
    if (field) field.value = value;
  }
  sent.clear();
  if (place) document.querySelector(place)?.focus();
  document.dispatchEvent(new CustomEvent("swapped"));
}

/** The entry of the history that this page knows; what is sent stands on it. */
let entry = /** @type {HTMLElement | null} */ (document.getElementById("main"))?.dataset.entry;
/** Writes go one after the other, so that quick changes follow each other instead of branching off. */
let queue = Promise.resolve();
let pending = 0;

/** @param {HTMLFormElement} form @param {HTMLElement | null} [button] */
function send(form, button) {
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  const submitter = /** @type {HTMLButtonElement | null} */ (button);
  if (submitter?.name) body.set(submitter.name, submitter.value);
  const { action } = form, then = form.dataset.then, isAtOnce = form.dataset.atOnce !== undefined;
  for (const field of form.elements) if (field.id) sent.add(field.id);
  if (form.id === "bulk") picked.clear();
  pending += 1;
  document.getElementById("main")?.setAttribute("aria-busy", "true");
  queue = queue.then(() => write(action, body, then, isAtOnce)).finally(() => {
    if (!pending) document.getElementById("main")?.removeAttribute("aria-busy");
  });
}

/**
 * @param {string} action @param {URLSearchParams} body @param {string | undefined} then
 * @param {boolean} isAtOnce a choice that was refused is shown as it stands; what was typed stays to be mended
 */
async function write(action, body, then, isAtOnce) {
  if (body.has("entry") && entry) body.set("entry", entry);
  try {
    const answer = await fetch(action, { method: "POST", body, headers: { "X-Sfumato": "1" } });
    const isJson = (answer.headers.get("content-type") || "").startsWith("application/json");
    const told = isJson ? await answer.json() : { problems: [(await answer.text()).trim()] };
    pending -= 1;
    if (told.problems) {
      say(told.problems, true);
      document.dispatchEvent(new CustomEvent("refused", { detail: told.sheets || [] }));
      if (isAtOnce && !pending && !typing) await refresh();
      return;
    }
    entry = String(told.entry);
    say([told.said], false);
    if (new URL(action).pathname === "/quit") return clearInterval(watch);
    if (pending || typing) return;
    await refresh(then || location.href);
    if (then) history.pushState({}, "", then);
  } catch {
    pending = 0;
    say([_("The studio does not answer. Is it still running in the terminal? Nothing that was saved is lost.")], true);
  }
}

/** Fills in what a page leaves open; the newest question wins. @param {HTMLElement} place */
async function fill(place) {
  const address = new URL(/** @type {string} */ (place.dataset.fetch), location.href);
  if (place.dataset.newest !== undefined) {
    asking?.abort();
    asking = new AbortController();
    address.searchParams.set("n", String(++counted + Math.floor(performance.timeOrigin / 1000) % 1e6 * 1000));
  }
  try {
    const answer = await fetch(address, { signal: place.dataset.newest !== undefined ? asking?.signal : undefined });
    if (answer.status === 204) return;
    const made = new DOMParser().parseFromString(await answer.text(), "text/html");
    const content = made.getElementById("main") || made.body;
    place.replaceChildren(...[...content.childNodes].map((node) => document.adoptNode(node)));
    delete place.dataset.fetch;
    announce(place);
    fillAll();
  } catch (error) {
    if (!(error instanceof DOMException)) say([_("The studio does not answer.")], true);
  }
}

// What takes a while is asked for when it is opened.
document.addEventListener("toggle", (event) => {
  const place = /** @type {HTMLElement} */ (event.target).querySelector("[data-later]");
  if (!(place instanceof HTMLElement)) return;
  place.dataset.fetch = place.dataset.later;
  delete place.dataset.later;
  fill(place);
}, true);

// A choice of levels that is clicked stands in the form, and is shown.
document.addEventListener("click", (event) => {
  const levels = /** @type {HTMLElement} */ (event.target).closest("[data-levels]")?.getAttribute("data-levels");
  const form = /** @type {HTMLFormElement | null} */ (document.getElementById("walk"));
  if (!levels || !form) return;
  const fields = [...form.querySelectorAll("select")];
  levels.split(",").forEach((level, at) => { fields[at].value = level; });
  form.requestSubmit();
});

let waiting = 0;
/** Says a count aloud once it has stood for a moment. @param {HTMLElement} place */
function announce(place) {
  const spoken = place.querySelector("[data-spoken]") || document.querySelector("[data-spoken]");
  clearTimeout(waiting);
  waiting = window.setTimeout(() => {
    const live = document.getElementById("spoken");
    if (live && spoken) live.textContent = spoken.getAttribute("data-spoken");
  }, 800);
}

// What a rule would make is shown while it is typed.
let previewing = 0;
/** @param {HTMLFormElement | null | undefined} form */
function preview(form) {
  const place = document.getElementById(form?.dataset.previewInto || "");
  if (!form || !place) return;
  clearTimeout(previewing);
  previewing = window.setTimeout(() => {
    place.dataset.fetch = `${form.dataset.preview}?${new URLSearchParams(/** @type {any} */ (new FormData(form)))}`;
    fill(place);
  }, 250);
}
document.addEventListener("input", (event) => preview(/** @type {HTMLInputElement} */ (event.target).form));

function fillAll() {
  for (const place of document.querySelectorAll("[data-fetch]:not([data-asked])")) {
    /** @type {HTMLElement} */ (place).dataset.asked = "";
    fill(/** @type {HTMLElement} */ (place)).finally(() => place.removeAttribute("data-asked"));
  }
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.matches("form[data-into]")) {
    const place = document.getElementById(form.dataset.into || "");
    if (!place) return;
    event.preventDefault();
    const asked = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    place.dataset.fetch = `${new URL(form.action).pathname}?${asked}`;
    fill(place);
    return;
  }
  if (!form.matches("form[data-post]")) return;
  event.preventDefault();
  if (form.dataset.sure && !window.confirm(form.dataset.sure)) return;
  send(form, /** @type {SubmitEvent} */ (event).submitter);
});
/** Choices that are being typed: each letter chooses anew, and the page must not change under the keys. */
let typing = 0, typed = -Infinity;
/** @type {Map<HTMLFormElement, number>} */
const choices = new Map();

/** @param {HTMLFormElement} form */
function chosen(form) {
  if (!choices.has(form)) return;
  clearTimeout(choices.get(form));
  choices.delete(form);
  typing -= 1;
  send(form, null);
}
document.addEventListener("keydown", () => { typed = performance.now(); });
document.addEventListener("focusout", (event) => {
  const form = /** @type {HTMLInputElement} */ (event.target).form;
  if (form) chosen(form);
});
document.addEventListener("change", (event) => {
  const input = /** @type {HTMLInputElement} */ (event.target);
  const form = input.form;
  if (input.id === "language") {
    // What the scripts say changes as well, so that the page begins anew.
    fetch(`/language?value=${input.value}`, { method: "POST", headers: { "X-Sfumato": "1" } }).then(() => location.reload());
  }
  if (form?.matches("form[data-post][data-at-once]")) {
    if (choices.has(form)) clearTimeout(choices.get(form));
    else typing += 1;
    const wait = performance.now() - typed < 1000 ? 700 : 0;
    choices.set(form, window.setTimeout(() => chosen(form), wait));
  }
  if (form?.matches("form[data-go]")) location.href = input.value;
});
// Asks whether the studio is still there, and whether another tab has gone on. A server that was killed refuses at once.
const EVERY = 1500;
/** @param {string} line @param {string} [button] */
function link(line, button) {
  const place = document.getElementById("link");
  if (!place || place.dataset.line === line) return;
  place.dataset.line = line;
  const told = document.createElement("p"), again = document.createElement("button");
  told.textContent = line;
  again.textContent = button || "";
  again.addEventListener("click", () => refresh().then(() => link("")));
  place.replaceChildren(...(line ? [told] : []), ...(line && button ? [again] : []));
}
let lost = false, leaves = false;
window.addEventListener("pagehide", () => { leaves = true; });
window.addEventListener("pageshow", () => { leaves = false; });
async function ask() {
  const main = document.getElementById("main");
  if (!main?.dataset.entry) return clearInterval(watch);
  try {
    const answer = await fetch("/events", { headers: { "X-Sfumato": "1" } });
    if (!answer.ok) {
      lost = true;
      const why = (await answer.text()).trim();
      if (answer.status !== 401) return link(why);
      // Nobody is let in by asking again.
      clearInterval(watch);
      isOut = true;
      return link(`${why} ${_("This page waits until you come back to it.")}`);
    }
    const told = await answer.json();
    if (pending) return;
    if (lost) {
      lost = false;
      await refresh();
      say([_("The studio answers again; nothing that was saved is lost.")], false);
    } else if (String(told.entry) === entry && String(told.jobs) !== main.dataset.jobs && !unsent().length) {
      await refresh();
    }
    const isOld = String(told.entry) !== entry && !pending;
    link(isOld ? _("The setup has changed in another tab. What you change here would begin a branch.") : "", _("Show what stands"));
  } catch {
    if (leaves) return;
    lost = true;
    link(_("The studio does not answer. Start it again in the terminal; this page goes on by itself then. Nothing that was saved is lost."));
  }
}
let watch = window.setInterval(ask, EVERY), isOut = false;
function comeBack() {
  if (!isOut || document.hidden) return;
  isOut = false;
  watch = window.setInterval(ask, EVERY);
  ask();
}
window.addEventListener("focus", comeBack);
document.addEventListener("visibilitychange", comeBack);
window.addEventListener("popstate", () => refresh());
/** On a narrow screen the steps scroll sideways; the one that stands is in sight. */
function showStep() {
  const steps = document.querySelector(".steps"), step = steps?.querySelector("[aria-current]");
  if (!steps || !step) return;
  const its = step.getBoundingClientRect(), all = steps.getBoundingClientRect();
  steps.scrollLeft += its.left + its.width / 2 - all.left - all.width / 2;
}
document.addEventListener("swapped", () => { showFound(); fillAll(); announce(document.body); showStep(); });
document.documentElement.classList.add("scripted");
showStep();
showFound();
fillAll();
