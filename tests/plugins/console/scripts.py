"""What the tests have the page do beside what a person does."""

# Presses "allow" on each question in the moment in which it appears.
PRESS_WHAT_APPEARS = """() => {
  new MutationObserver((changes) => {
    for (const change of changes)
      for (const card of change.addedNodes) card.querySelector?.(".answers > .allow")?.click();
  }).observe(document.getElementById("questions"), { childList: true });
}"""

# When a question has gone, presses "allow" on the one that has moved to its place.
PRESS_WHAT_MOVES = """() => {
  new MutationObserver((changes) => {
    if (!changes.some((change) => change.removedNodes.length)) return;
    requestAnimationFrame(() => {
      const card = document.querySelector("article.question");
      window.wasDead = card.classList.contains("dead");
      card.querySelector(".answers > .allow").click();
    });
  }).observe(document.getElementById("questions"), { childList: true });
}"""

# Notes when there first was each number of questions, in seconds since the epoch.
NOTE_TIMES = """() => {
  window.times = {};
  new MutationObserver(() => {
    const count = document.querySelectorAll("article.question").length;
    window.times[count] ??= Date.now() / 1000;
  }).observe(document.getElementById("questions"), { childList: true });
}"""

# Presses an answer of the only question at a time, in milliseconds since the epoch.
PRESS_AT = """([at, button]) => {
  setTimeout(() => document.querySelector(`.answers > .${button}`)?.click(), Math.max(0, at - Date.now()));
}"""

# Keeps what the page says of answers.
NOTE_RECEIPTS = """() => {
  window.said = [];
  new MutationObserver((changes) => {
    for (const change of changes) for (const told of change.addedNodes) window.said.push(told.textContent);
  }).observe(document.getElementById("receipts"), { childList: true });
}"""

# The page is hidden, as far as it can tell.
HIDE = """() => {
  Object.defineProperty(document, "hidden", { value: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""

# Notifications are permitted, and kept.
PERMIT_NOTIFICATIONS = """() => {
  window.told = [];
  window.Notification = class {
    static permission = "granted";
    constructor(title, more) { window.told.push([title, more.body]); }
  };
}"""

# All that is shown, or could be read out.
EVERY_TEXT = """(root) => [
  root.textContent,
  ...[...root.querySelectorAll("*")].flatMap((each) => [...each.attributes].map((attribute) => attribute.value)),
  ...[...root.querySelectorAll("input:not(#try, #filter), textarea")].map((each) => each.value),
].join("\\n")"""

# Where each of these texts is seen in an element, from the left on.
LEFT_OF_EACH = """
(element, texts) => texts.map((text) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.data.indexOf(text);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + text.length);
    return range.getBoundingClientRect().left;
  }
  return null;
})
"""

# How often something is looked for in the cards when one more question comes to so many others, whose time runs.
LOOKED_FOR = """async ([question, others]) => {
  const { add } = await import('/questions.js');
  for (let i = 0; i < others; i++) add({ ...question, id: `other-${i}` });
  const before = Element.prototype.querySelector;
  let looked = 0;
  Element.prototype.querySelector = function (...given) { looked++; return before.apply(this, given); };
  add({ ...question, id: 'one-more' });
  Element.prototype.querySelector = before;
  return looked;
}"""
