// What waits for a person: a card for each question, and its answers.

import { post } from "./api.js";
import { disturb, still, takeAway, watch } from "./guard.js";
import { editPanel } from "./edit.js";
import { formPanel } from "./forms.js";
import { lastingPanel } from "./lasting.js";
import { button, cut, el, marked, oneLine, short, shown, span } from "./text.js";

const list = document.getElementById("questions");
const VERDICTS = { allow: "ok", ask: "ask", deny: "no" };
const SAID = {
  yes: "Allowed", once: "Allowed once", no: "Denied", comment: "Denied, and said why", always: "Allowed from now on",
  never: "Denied from now on", edit: "Allowed as edited", turn: "Allowed until the turn is over",
  idle: "Allowed until the assistant waits", all: "Allowed for the session",
};
const WIDE = { turn: "All until the turn is over", idle: "All until it waits for you", all: "All for this session" };
const HERE = "always is for"; // a detail that belongs to the panel of "always"
const open = new Map(); // id: {question, card, end, total}

watch(list);
setInterval(() => open.forEach(countDown), 1000);

/** Show the questions that there are, and no others. */
export function setQuestions(questions) {
  for (const id of [...open.keys()]) if (!questions.some((question) => question.id === id)) remove(id);
  for (const question of questions) add(question);
}

/** Show one more, behind those that are there: none of them moves. */
export function add(question) {
  if (open.has(question.id)) return;
  const end = question.left === null ? null : performance.now() + question.left * 1000;
  const entry = { question, end, total: Math.max(1, (question.left ?? 0) + question.age) };
  try {
    entry.card = cardOf(entry);
  } catch (error) { // a form can be anything: it must not hide the questions of others
    entry.end = null;
    entry.card = bareCardOf(entry, error);
    reportError(error);
  }
  open.set(question.id, entry);
  list.append(entry.card);
  disturb(entry.card);
  countDown(entry);
  count();
}

/** It needs no answer any more: it was answered elsewhere, or its asker has gone. */
export function close(id) {
  const entry = open.get(id);
  if (entry?.busy) entry.gone = true; // whether the answer that is on its way was the first is told with it
  else if (remove(id)) receipt(`No longer needed: ${entry.question.tool}`, "no");
}

function remove(id) {
  const entry = open.get(id);
  if (!entry) return null;
  open.delete(id);
  const focused = entry.card.contains(document.activeElement);
  if (entry.answered) entry.card.remove();
  else takeAway(entry.card);
  if (focused) document.getElementById("waiting").focus({ preventScroll: true });
  count();
  return entry;
}

export const waiting = () => open.size;

function count() {
  document.getElementById("no-questions").hidden = open.size > 0;
  dispatchEvent(new CustomEvent("counted", { detail: { waiting: open.size } }));
}

function countDown({ end, total, card }) {
  if (end === null) return;
  const left = Math.max(0, (end - performance.now()) / 1000);
  const told = card.querySelector(".left"), bar = card.querySelector(".bar-left");
  if (told.textContent !== span(left)) told.textContent = span(left);
  bar.value = left / total;
  card.classList.toggle("late", left < 30);
}

/** A question that cannot be shown as it is meant. */
const bareCardOf = (entry, { message }) => el("article.card.question", { tabindex: "0", data: { id: entry.question.id } },
  el("h3", {}, el("code", {}, oneLine(entry.question.tool))),
  el("p.bad", {}, `This page cannot show what is asked: ${message}. In a terminal, 'toolexec approvals show ${entry.question.id}' does.`),
  el("div.answers", {}, button("Deny", () => give(entry, "no", null), { class: "deny" })));

function cardOf(entry) {
  const { question } = entry;
  const heading = `q-${question.id}`;
  const form = question.form !== null && (question.options.includes("edit") || question.secret);
  const card = el("article.card.question", { tabindex: "0", "aria-labelledby": heading, data: { id: question.id } },
    el("div.top", {},
      el("h3", { id: heading }, el("code", {}, oneLine(question.tool)), form ? " asks you" : ""),
      question.left !== null && el("p.time", {}, el("span.left", { "aria-label": "time left" }, span(question.left)))),
    question.left !== null && el("progress.bar-left", { max: "1", value: 1, "aria-label": "time left to answer" }),
    form ? el("p.why", {}, question.arguments.message ?? question.text) : argumentsOf(question),
    form ? misfit(question) : question.reason && el("p.reason", {}, oneLine(question.reason)),
    form ? null : partsOf(question),
    detailsOf(question));
  const act = (word, value) => give(entry, word, value);
  const panel = el("div.panel", { hidden: true });
  card.append(...(form ? [formPanel(question, act)] : [...answersOf(entry, panel, act), panel]));
  card.addEventListener("keydown", (event) => onKey(event, card));
  return card;
}

/** Why the same is asked again, where the last answer did not fit. */
const misfit = (question) => question.text.includes("does not fit") && el("p.trouble", {}, oneLine(question.reason));

/** Who asks, without the folder where that is told beside. */
const origin = ({ origin: text, details }) => (details.folder && text.endsWith(` in ${details.folder}`) ? text.slice(0, -details.folder.length - 4) : text);

function argumentsOf(question) {
  const names = Object.keys(question.arguments);
  if (!names.length) return el("p.hint", {}, "without arguments");
  return el("dl.arguments", {}, names.map((name) => {
    const text = shown(question.arguments[name]);
    const block = el("pre", { tabindex: text.length > 600 || text.split("\n").length > 12 ? "0" : null,
      role: text.length > 600 ? "group" : null, "aria-label": text.length > 600 ? `the argument ${name}` : null }, marked(cut(text, 20_000)));
    return el("div", {}, el("dt", {}, oneLine(name)), el("dd", {}, block));
  }));
}

function partsOf(question) {
  const parts = question.parts.filter((part) => part && typeof part === "object");
  if (parts.length < 2) return null;
  const worst = { deny: 0, ask: 1, allow: 2 };
  // What a loop runs is judged for each of its rounds, and read once.
  const once = new Map(parts.map((part) => [JSON.stringify([part.verdict, part.text, part.rule, part.reason]), part]));
  const sorted = [...once.values()].toSorted((one, other) => worst[one.verdict] - worst[other.verdict]);
  const items = sorted.map((part) => el("li", {},
    el(`span.chip.${VERDICTS[part.verdict] ?? "ask"}`, {}, VERDICTS[part.verdict] ?? "ask"),
    el("code", {}, oneLine(cut(part.text, 600))), el("span.because", {}, part.verdict === "allow" && part.rule ? part.rule : part.reason)));
  return el("div.parts", {}, el("h4", {}, "Part by part"), el("ul", {}, items));
}

function detailsOf(question) {
  const rows = Object.entries(question.details).filter(([name]) => name !== HERE);
  rows.push(["asked by", origin(question) || "this console"]);
  return el("dl.details", {}, rows.filter(([, text]) => text).map(([name, text]) =>
    el("div", {}, el("dt", {}, oneLine(name)), el("dd", {}, short(cut(text, 2000))))));
}

function answersOf(entry, panel, act) {
  const { question } = entry, has = (word) => question.options.includes(word);
  const said = el("input.said", { type: "text", id: `say-${question.id}`, autocomplete: "off", placeholder: "optional" });
  const yes = has("once") ? "once" : "yes";
  const text = () => said.value.trim();
  const deny = button("Deny", () => act(text() && has("comment") ? "comment" : "no", text() || null), { class: "deny", "aria-keyshortcuts": "d" });
  const once = button("Allow once", () => act(yes, text() || null), { class: "allow", "aria-keyshortcuts": "o" });
  said.addEventListener("input", () => {
    deny.textContent = text() ? "Deny, and say so" : "Deny";
    once.textContent = text() ? "Allow, but say so" : "Allow once";
  });
  said.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  const toggle = (word, label, make, key) => button(label, (event) => show(event.currentTarget, panel, make), {
    "aria-expanded": "false", "aria-keyshortcuts": key, data: { opens: word } });
  const wide = Object.keys(WIDE).filter(has);
  return [
    el("div.say", {}, el("label", { for: said.id }, "Tell the model with your answer"), said),
    el("div.answers", {}, deny, once,
      has("always") && toggle("always", "Always …", () => lastingPanel("always", question, act), "a"),
      has("never") && toggle("never", "Never …", () => lastingPanel("never", question, act), "n"),
      has("edit") && toggle("edit", "Edit …", () => editPanel(question, act), "e"),
      wide.length > 0 && toggle("more", "More …", () => el("div.answers", {}, wide.map((word) => button(WIDE[word], () => act(word, null)))), null)),
  ];
}

function show(opener, panel, make) {
  const opened = opener.getAttribute("aria-expanded") === "true";
  for (const each of opener.parentElement.querySelectorAll("[aria-expanded]")) each.setAttribute("aria-expanded", "false");
  panel.replaceChildren();
  panel.hidden = opened;
  if (opened) return;
  opener.setAttribute("aria-expanded", "true");
  panel.append(make());
  panel.querySelector("textarea, input, select")?.focus({ preventScroll: true });
}

async function give(entry, word, value) {
  const { question, card } = entry;
  if (!still(card) || entry.busy) return;
  entry.busy = true;
  card.setAttribute("aria-busy", "true");
  card.querySelector(".trouble")?.remove();
  let trouble;
  try {
    const told = await post("answer", { id: question.id, digest: question.digest, word, value });
    if (told.won) {
      entry.answered = true;
      remove(question.id);
      receipt(`${SAID[word] ?? word}: ${question.tool}`, word === "no" || word === "comment" || word === "never" ? "no" : "ok");
      return;
    }
    trouble = told.open && value?.rules
      ? "This was not taken: the rule has to decide this very call, and be about a single command."
      : "This answer came too late: it was answered elsewhere, or nobody waits for it any more.";
  } catch (error) {
    trouble = error.message;
  }
  entry.busy = false;
  card.removeAttribute("aria-busy");
  if (entry.gone) remove(question.id);
  if (card.isConnected) card.append(el("p.trouble", { role: "alert" }, trouble));
  else receipt(trouble, "no");
}

/** Say for a while what was done. */
export function receipt(text, kind = "ok") {
  const told = el(`p.receipt.${kind}`, {}, oneLine(cut(text, 200)));
  document.getElementById("receipts").append(told);
  setTimeout(() => told.remove(), 6000);
}

// Keys ------------------------------------------------------------------------------------------------------------

const KEYS = { d: ".answers > .deny", o: ".answers > .allow", a: "[data-opens=always]", n: "[data-opens=never]", e: "[data-opens=edit]" };

function onKey(event, card) {
  const confirm = (event.ctrlKey || event.metaKey) && event.key === "Enter";
  if (confirm) card.querySelector(".confirm")?.click();
  else if (event.key === "Escape") {
    card.querySelector("[aria-expanded=true]")?.click();
    card.focus({ preventScroll: true });
  } else if (event.target === card && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (event.key === "m") card.querySelector(".said")?.focus();
    else if (KEYS[event.key]) card.querySelector(KEYS[event.key])?.click();
    else return;
  } else return;
  event.preventDefault();
}

/** Select the next question, or the one before. */
export function step(by) {
  const cards = [...list.children];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(cards.length - 1, Math.max(0, at + by))];
  next?.focus();
}
