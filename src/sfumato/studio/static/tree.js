// A tree by keyboard, as the ARIA pattern has it: arrows move and open, Home and End, Space chooses one or several, M
// moves them into a group, as dragging does.
import { _ } from "./live.js";

/** @param {Element} tree */
const seen = (tree) => /** @type {HTMLElement[]} */ ([...tree.querySelectorAll('[role="treeitem"]')]
  .filter((one) => !one.parentElement?.closest('[aria-expanded="false"]')));

/** @param {HTMLElement} tree @param {HTMLElement | null | undefined} item */
function move(tree, item) {
  if (!item) return;
  for (const one of tree.querySelectorAll('[tabindex="0"]')) one.setAttribute("tabindex", "-1");
  item.tabIndex = 0;
  item.focus();
}

/** @param {HTMLElement} tree @param {HTMLElement} item */
function choose(tree, item) {
  const is = item.getAttribute("aria-selected") === "true";
  const level = item.dataset.node?.split(".")[0];
  for (const one of tree.querySelectorAll('[aria-selected="true"]')) {
    if (/** @type {HTMLElement} */ (one).dataset.node?.split(".")[0] !== level) one.setAttribute("aria-selected", "false");
  }
  item.setAttribute("aria-selected", String(!is));
  tell(tree);
}

/** Says which nodes are chosen, below the tree and in its form. @param {HTMLElement} tree */
function tell(tree) {
  const chosen = /** @type {HTMLElement[]} */ ([...tree.querySelectorAll('[aria-selected="true"]')]);
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("chosen-nodes"));
  if (field) field.value = chosen.map((one) => one.dataset.node).join(",");
  const told = document.getElementById("chosen");
  if (told) told.textContent = chosen.map((one) => one.querySelector("span")?.firstChild?.textContent?.trim()).join(", ") || _("nothing");
}

/** @param {Element | null} item */
const levelOf = (item) => Number(/** @type {HTMLElement | null} */ (item)?.dataset.node?.split(".")[0]);

/** The group into which chosen nodes would go at a place: of the next level, there or around it. @param {Element} place */
function groupAt(place) {
  const level = levelOf(place.closest('[role="tree"]')?.querySelector('[aria-selected="true"]') || null) + 1;
  let item = place.closest('[role="treeitem"]');
  while (item && levelOf(item) < level) item = item.parentElement?.closest('[role="treeitem"]') || null;
  return item && levelOf(item) === level ? /** @type {HTMLElement} */ (item) : null;
}

/** Moves the chosen nodes into a group. @param {HTMLElement | null} group */
function regroup(group) {
  const onto = /** @type {HTMLInputElement | null} */ (document.getElementById("onto"));
  if (!group || !onto) return;
  onto.value = group.dataset.node || "";
  onto.form?.requestSubmit(document.getElementById("how-onto"));
}

/** @param {HTMLElement} tree */
function drag(tree) {
  const clear = () => tree.querySelector(".over")?.classList.remove("over");
  tree.addEventListener("dragstart", (event) => {
    const item = /** @type {HTMLElement} */ (event.target).closest('[role="treeitem"]');
    if (item?.getAttribute("aria-selected") !== "true") {
      for (const one of tree.querySelectorAll('[aria-selected="true"]')) one.setAttribute("aria-selected", "false");
      item?.setAttribute("aria-selected", "true");
      tell(tree);
    }
    event.dataTransfer?.setData("text/plain", "");
  });
  tree.addEventListener("dragover", (event) => {
    const group = groupAt(/** @type {Element} */ (event.target));
    clear();
    if (!group) return;
    event.preventDefault();
    group.classList.add("over");
  });
  tree.addEventListener("drop", (event) => {
    event.preventDefault();
    clear();
    regroup(groupAt(/** @type {Element} */ (event.target)));
  });
  tree.addEventListener("dragend", clear);
}

/** @param {HTMLElement} tree */
function start(tree) {
  if (tree.dataset.started !== undefined) return;
  tree.dataset.started = "";
  const first = /** @type {HTMLElement | null} */ (tree.querySelector('[role="treeitem"]'));
  if (first) first.tabIndex = 0;
  drag(tree);
  tree.addEventListener("click", (event) => {
    const item = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest('[role="treeitem"]'));
    if (item) { move(tree, item); choose(tree, item); }
  });
  tree.addEventListener("dblclick", (event) => {
    const item = /** @type {HTMLElement} */ (event.target).closest("[aria-expanded]");
    item?.setAttribute("aria-expanded", String(item.getAttribute("aria-expanded") === "false"));
  });
  tree.addEventListener("keydown", (event) => {
    const item = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest('[role="treeitem"]'));
    if (!item) return;
    const rows = seen(tree), at = rows.indexOf(item), opened = item.getAttribute("aria-expanded");
    const actions = {
      ArrowDown: () => move(tree, rows[at + 1]),
      ArrowUp: () => move(tree, rows[at - 1]),
      Home: () => move(tree, rows[0]),
      End: () => move(tree, rows[rows.length - 1]),
      ArrowRight: () => opened === "false" ? item.setAttribute("aria-expanded", "true") : opened && move(tree, rows[at + 1]),
      ArrowLeft: () => opened === "true" ? item.setAttribute("aria-expanded", "false")
        : move(tree, item.parentElement?.closest('[role="treeitem"]')),
      " ": () => choose(tree, item),
      m: () => regroup(groupAt(item)),
      Enter: () => { choose(tree, item); document.getElementById("label")?.focus(); },
    };
    const action = actions[event.key === "M" ? "m" : event.key];
    if (action) { event.preventDefault(); action(); }
  });
}
// A file becomes the text of a form, and the form is sent: nothing else of it leaves the page.
document.addEventListener("change", async (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  const place = /** @type {HTMLInputElement | null} */ (document.getElementById(field.dataset?.textInto || ""));
  if (!place || !field.files?.length) return;
  place.value = (await field.files[0].text()).replace(/^\uFEFF/, "");
  field.value = "";
  place.form?.requestSubmit();
});
const all = () => { for (const tree of document.querySelectorAll("[data-tree]")) start(/** @type {HTMLElement} */ (tree)); };
document.addEventListener("swapped", all);
all();
