// No answer is taken that may have been meant for something else: not before a question has stood still for a moment,
// and by no key that was on its way to a field that is gone.

export const STILL = 700; // milliseconds
const FIELDS = "input, textarea, select";
let cutOff = -Infinity; // when a field went that was typed into, or the last key since then

const since = new WeakMap(); // card: when it appeared or moved
const places = new WeakMap(); // card: where it was

/** The card has appeared or moved: what it offers is dead for a moment. */
export function disturb(card) {
  since.set(card, performance.now());
  card.classList.add("dead");
  clearTimeout(card.wake);
  card.wake = setTimeout(() => card.classList.remove("dead"), STILL);
}

/** Whether an answer on the card may be taken. */
export const still = (card) => card.isConnected && performance.now() - (since.get(card) ?? Infinity) >= STILL;

/** Disturb every card of the list that is not where it was. */
export function lookForMoves(list) {
  for (const card of list.children) {
    const box = card.getBoundingClientRect();
    const place = `${Math.round(box.top + scrollY)} ${Math.round(box.left + scrollX)} ${Math.round(box.height)}`;
    if (places.get(card) !== place) {
      places.set(card, place);
      disturb(card);
    }
  }
}

/**
 * Watch the cards of a list for whatever moves them, or has them appear: that of a page that was hidden, too, or that
 * was behind another window, which may have closed under the first half of a double click.
 */
export function watch(list) {
  const disturbAll = () => [...list.children].forEach(disturb);
  document.addEventListener("visibilitychange", () => document.hidden || disturbAll());
  addEventListener("focus", disturbAll);
  let scrolled = scrollY;
  const lookForPull = () => {
    // Nobody scrolls to where the page has just ended: what is seen was pulled down as the page became shorter.
    if (scrolled > document.documentElement.scrollHeight - innerHeight + 1) disturbAll();
    scrolled = scrollY;
  };
  addEventListener("scroll", lookForPull, { passive: true });
  const sizes = new ResizeObserver(() => [lookForPull(), lookForMoves(list)]);
  sizes.observe(document.body);
  new MutationObserver((changes) => {
    for (const change of changes)
      for (const card of change.addedNodes) if (card instanceof Element) sizes.observe(card);
    lookForMoves(list);
  }).observe(list, { childList: true });
}

/** Take something away; keys that were on their way to a field in it mean nothing else, until they pause. */
export function takeAway(node) {
  if (node.contains(document.activeElement) && document.activeElement.matches(FIELDS)) cutOff = performance.now();
  node.remove();
}

addEventListener("keydown", (event) => {
  if (performance.now() - cutOff >= STILL || event.ctrlKey || event.metaKey || event.target.closest(FIELDS)) return;
  cutOff = performance.now();
  event.stopPropagation();
  event.preventDefault();
}, true);
