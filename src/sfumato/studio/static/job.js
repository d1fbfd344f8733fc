// Follows jobs that are under way, by server-sent events, and asks for the page again when one ends.
import { _, refresh, say } from "./live.js";

/** @type {Map<string, EventSource>} */
const followed = new Map();

/** @param {HTMLElement} place */
function follow(place) {
  const address = /** @type {string} */ (place.dataset.events);
  if (followed.has(address)) return;
  const source = new EventSource(address);
  followed.set(address, source);
  let said = -1;
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    const shown = document.querySelector(`[data-events="${CSS.escape(address)}"]`);
    if (["done", "failed", "cancelled", "interrupted"].includes(told.state)) {
      source.close();
      followed.delete(address);
      const live = document.getElementById("spoken");
      if (live) live.textContent = _("The run has ended: {1}.", told.said || told.state);
      say([], false);
      refresh();
      return;
    }
    if (!shown) return;
    const bar = shown.querySelector("progress");
    const share = told.total ? told.done / told.total : 0;
    if (bar) told.total ? (bar.value = share) : bar.removeAttribute("value");
    const what = shown.querySelector("[data-what]"), seconds = shown.querySelector("[data-seconds]");
    if (what) what.textContent = told.what;
    if (seconds) seconds.textContent = `${told.seconds.toFixed(0)} s`;
    const step = Math.floor(share * 10);
    if (step !== said && told.total) {
      said = step;
      const live = document.getElementById("spoken");
      if (live) live.textContent = `${told.what}, ${step * 10} %`;
    }
  };
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) followed.delete(address); };
}

function followAll() {
  for (const place of document.querySelectorAll("[data-events]")) follow(/** @type {HTMLElement} */ (place));
}
document.addEventListener("swapped", followAll);
// A browser that leaves a page would say that the stream broke.
window.addEventListener("pagehide", () => { for (const source of followed.values()) source.close(); followed.clear(); });
window.addEventListener("pageshow", followAll);
followAll();

/** @param {HTMLInputElement} dial @returns {HTMLElement | undefined} */
function stopOf(dial) {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#dial-table [data-k]")])[Number(dial.value)];
}

/** The dial says what the k costs that it stands at. */
function turn() {
  const dial = /** @type {HTMLInputElement | null} */ (document.getElementById("dial"));
  const stop = dial && stopOf(dial), take = /** @type {HTMLButtonElement | null} */ (document.getElementById("dial-take"));
  if (!dial || !stop || !take) return;
  const told = `k = ${stop.dataset.k}: ${stop.dataset.said}`, line = document.getElementById("dial-line");
  /** @type {HTMLElement} */ (document.getElementById("dial-said")).textContent = told;
  dial.setAttribute("aria-valuetext", told);
  for (const end of ["x1", "x2"]) line?.setAttribute(end, stop.dataset.x || "0");
  take.value = stop.dataset.k || "";
  take.disabled = dial.value === dial.defaultValue;
}
document.addEventListener("input", (event) => { if (/** @type {HTMLElement} */ (event.target).id === "dial") turn(); });
// Once it is let go at a k of which nothing is known, that is found out.
document.addEventListener("change", (event) => {
  const dial = /** @type {HTMLInputElement} */ (event.target);
  if (dial.id !== "dial" || stopOf(dial)?.dataset.known !== undefined) return;
  const more = /** @type {HTMLButtonElement | null} */ (document.getElementById("dial-more"));
  if (more && !more.disabled) more.click();
});
document.addEventListener("swapped", turn);
