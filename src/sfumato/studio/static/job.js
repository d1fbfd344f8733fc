// Follows jobs that are under way, by server-sent events, and asks for the page again when one ends.
import { refresh } from "./live.js";

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
      if (live) live.textContent = `The run is ${told.state}.`;
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
