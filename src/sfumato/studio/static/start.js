// Takes a file that is dropped or chosen: says its size first, then sends it to the studio on this computer.
import { _, say } from "./live.js";

const at = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
/** @type {File | null} */
let chosen = null;

/** @param {number} size */
function inBytes(size) {
  for (const [unit, step] of /** @type {[string, number][]} */ ([["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])) {
    if (size >= step) return `${(size / step).toFixed(1)} ${unit}`;
  }
  return `${size} bytes`;
}

/** @param {File | undefined} file */
function choose(file) {
  if (!file || !at("drop")) return;
  chosen = file;
  at("file-name").textContent = file.name;
  at("file-size").textContent = inBytes(file.size);
  at("chosen-file").hidden = false;
  at("take").disabled = false;
  at("take").focus();
}

/** Sheets of a workbook that was refused, as buttons. @param {string[]} sheets @param {() => void} again */
function offer(sheets, again) {
  at("sheets").replaceChildren(...sheets.map((name) => {
    const button = document.createElement("button");
    button.textContent = name;
    button.addEventListener("click", () => { at("sheet").value = name; again(); });
    return button;
  }));
  at("sheets").firstElementChild?.focus();
}
document.addEventListener("refused", (event) => offer(/** @type {CustomEvent} */ (event).detail, () => at("open-here").click()));

function take() {
  if (!chosen) return;
  const request = new XMLHttpRequest(), bar = at("sent");
  at("take").disabled = true;
  bar.hidden = false;
  request.upload.onprogress = (event) => { bar.value = event.total ? event.loaded / event.total : 0; };
  const failed = (/** @type {string[]} */ lines) => { bar.hidden = true; at("take").disabled = false; say(lines, true); };
  request.onerror = () => failed([_("The file did not arrive. Is the studio still running in the terminal?")]);
  request.onload = () => {
    /** @type {any} */ let told = { problems: [request.responseText.trim()] };
    try { told = JSON.parse(request.responseText); } catch { /* not ours */ }
    if (told.problems) {
      offer(told.sheets || [], take);
      return failed(told.problems);
    }
    location.href = "/";
  };
  const asked = new URLSearchParams({ name: chosen.name });
  for (const id of ["sheet", "range", "hidden"]) asked.set(id, at(id).value);
  request.open("POST", `${at("drop").dataset.to}?${asked}`);
  request.setRequestHeader("X-Sfumato", "1");
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.send(chosen);
}

document.addEventListener("change", (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (field.id === "file") choose(field.files?.[0]);
});
document.addEventListener("click", (event) => { if (/** @type {HTMLElement} */ (event.target).id === "take") take(); });
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    // The browser would leave the page for the file.
    event.preventDefault();
    at("drop")?.classList.toggle("over", name === "dragover");
    if (name === "drop") choose(/** @type {DragEvent} */ (event).dataTransfer?.files[0]);
  });
}
