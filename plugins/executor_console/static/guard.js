// No answer is taken that may have been meant for something else: not before a question has stood still for a moment.

export const STILL = 700; // milliseconds

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

/** Watch the cards of a list for whatever moves them, or has them appear: that of a page that was hidden, too. */
export function watch(list) {
  document.addEventListener("visibilitychange", () => document.hidden || [...list.children].forEach(disturb));
  const sizes = new ResizeObserver(() => lookForMoves(list));
  sizes.observe(document.body);
  new MutationObserver((changes) => {
    for (const change of changes)
      for (const card of change.addedNodes) if (card instanceof Element) sizes.observe(card);
    lookForMoves(list);
  }).observe(list, { childList: true });
}
