// Writes by fetch, with the header that only this page sends; afterwards the page is asked for again and swapped in,
// with the focus where it was. So there is one way in which a page is made: on the server.

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

/** @param {string} [address] */
export async function refresh(address = location.href) {
  const answer = await fetch(address, { headers: { "X-Sfumato": "1" } });
  const text = await answer.text();
  if (!(answer.headers.get("content-type") || "").startsWith("text/html")) return say([text.trim()], true);
  const made = new DOMParser().parseFromString(text, "text/html");
  const place = focused();
  const opened = new Set([...document.querySelectorAll("details[open][id]")].map((one) => one.id));
  for (const part of ["top", "main"]) {
    const fresh = made.getElementById(part), old = document.getElementById(part);
    if (fresh && old) old.replaceWith(document.adoptNode(fresh));
  }
  document.title = made.title;
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  if (place) document.querySelector(place)?.focus();
  document.dispatchEvent(new CustomEvent("swapped"));
}

/** @param {HTMLFormElement} form @param {HTMLElement | null} [button] */
async function send(form, button) {
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  const submitter = /** @type {HTMLButtonElement | null} */ (button);
  if (submitter?.name) body.set(submitter.name, submitter.value);
  form.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { "X-Sfumato": "1" } });
    const isJson = (answer.headers.get("content-type") || "").startsWith("application/json");
    const told = isJson ? await answer.json() : { problems: [(await answer.text()).trim()] };
    if (told.problems) return say(told.problems, true);
    say([told.said], false);
    await refresh(form.dataset.then || location.href);
    if (form.dataset.then) history.pushState({}, "", form.dataset.then);
  } catch {
    say(["The studio does not answer. Is it still running in the terminal? Nothing that was saved is lost."], true);
  } finally {
    form.removeAttribute("aria-busy");
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
    if (!(error instanceof DOMException)) say(["The studio does not answer."], true);
  }
}

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

function fillAll() {
  for (const place of document.querySelectorAll("[data-fetch]:not([data-asked])")) {
    /** @type {HTMLElement} */ (place).dataset.asked = "";
    fill(/** @type {HTMLElement} */ (place)).finally(() => place.removeAttribute("data-asked"));
  }
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.matches("form[data-post]")) return;
  event.preventDefault();
  if (form.dataset.sure && !window.confirm(form.dataset.sure)) return;
  send(form, /** @type {SubmitEvent} */ (event).submitter);
});
document.addEventListener("change", (event) => {
  const input = /** @type {HTMLInputElement} */ (event.target);
  const form = input.form;
  if (form?.matches("form[data-post][data-at-once]")) send(form, null);
  if (form?.matches("form[data-go]")) location.href = input.value;
});
window.addEventListener("popstate", () => refresh());
document.addEventListener("swapped", () => { fillAll(); announce(document.body); });
document.documentElement.classList.add("scripted");
fillAll();
