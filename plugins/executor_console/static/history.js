// What was decided, and what came of it: filtered, explained, and tried with another rule.

import { post } from "./api.js";
import { readingOf } from "./lasting.js";
import { arrange, button, cut, el, kept, oneLine, short, shown, span } from "./text.js";

const body = document.getElementById("history-body");
const STEP = 30; // rows that are shown at once
const BY = {
  user_approved: "you allowed it", user_denied: "you denied it", user_comment: "you denied it, with a word",
  whitelist: "a rule allows it", blacklist: "a rule forbids it", grant: "you always allow it",
  session_whitelist: "you always allow it", session_blacklist: "you never allow it", timeout: "nobody answered",
  no_channel: "there was nobody to ask", default: "no rule is about it", client_approved: "the client allowed it",
};
const filter = el("input", { type: "search", id: "filter", autocomplete: "off", placeholder: "tool, argument, reason" });
const verdict = el("select", { id: "verdict" }, [["", "all"], ["allowed", "allowed"], ["denied", "denied"]].map(([value, text]) => el("option", { value }, text)));
const rule = el("input.rule", { type: "text", id: "try", spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: "git status *" });
const reading = el("div.reading", { "aria-live": "polite" });
const list = el("ol.rows");
const more = button("Show more", () => [(most += STEP), show()], { class: "quiet" });
const nothing = el("p.none");
let rows = [], fits = new Set(), most = STEP, loaded = false, number = 0, ledger = null, tried = "";

const field = (label, input) => el("div.field", {}, el("label", { for: input.id }, label), input);
body.append(
  el("div.fields", {}, field("Filter", filter), field("Decision", verdict)),
  el("form.tryout", { onsubmit: tryRule }, field("Would this rule have allowed it?", rule), el("button", { type: "submit" }, "Try")),
  reading, nothing, list, more);
filter.addEventListener("input", () => [(most = STEP), show()]);
verdict.addEventListener("change", () => [(most = STEP), show()]);

/** Ask for the history, and show it. */
export async function loadHistory() {
  const now = ++number;
  try {
    const told = await post("history");
    if (now !== number) return;
    ({ rows, ledger } = told);
    loaded = true;
  } catch (error) {
    nothing.textContent = error.message;
    return;
  }
  await replay(now);
}

async function tryRule(event) {
  event.preventDefault();
  tried = rule.value.trim();
  await replay(++number);
}

/** Try the rule again on all that there is by now. */
async function replay(now) {
  let said = [];
  fits = new Set();
  try {
    const told = tried ? await post("replay", { rule: tried }) : null;
    if (now !== number) return;
    if (told) {
      rows = told.rows;
      fits = new Set(told.fits);
      const sum = fits.size === 1 ? "one call" : `${fits.size} calls`;
      said = [...readingOf(told), el("p", {}, told.means ? `It would have let ${sum} of ${rows.length} run unasked.` : "It is no rule."),
        ...(told.means ? [el("p.hint", {}, "To add it: ", el("code", {}, `toolexec permissions add ${quoted(tried)}`))] : [])];
    }
  } catch (error) {
    said = [el("p.bad", {}, error.message)];
  }
  reading.replaceChildren(...said);
  show();
}

const quoted = (text) => `'${text.replaceAll("'", `'"'"'`)}'`;

function show() {
  const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.map((row, place) => [row, place]).filter(([row]) => {
    if (verdict.value && row.allowed !== (verdict.value === "allowed")) return false;
    const text = `${row.tool} ${JSON.stringify(row.arguments)} ${row.reason} ${row.method}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  arrange(list, rowsOf(found.slice(0, most).map(([row, place]) => [row, fits.has(place)])));
  more.hidden = found.length <= most;
  nothing.hidden = found.length > 0;
  nothing.textContent = !loaded ? "…" : ledger === null ? "No ledger is kept: write ledger = \"calls.jsonl\" in the configuration (toolexec config path)."
    : rows.length ? "Nothing fits." : `Nothing has been recorded in ${short(ledger)} yet.`;
}

function summary(row) {
  const values = Object.entries(row.arguments);
  const [, first] = values.find(([name]) => ["command", "path", "url", "query"].includes(name)) ?? values[0] ?? ["", ""];
  return oneLine(cut(typeof first === "string" ? first : shown(first), 160));
}

const explained = new Set(); // those whose "Why?" is open
const keyOf = (row) => JSON.stringify([row.time, row.tool, row.arguments]);
const rowsOf = kept(([row, fit]) => rowOf(row, fit));

function rowOf(row, fit) {
  const when = row.time ? new Date(row.time * 1000) : null;
  const took = typeof row.duration === "number" ? span(row.duration) : "";
  const end = !row.outcome || !row.allowed ? "" : row.outcome === "backgrounded" ? "goes on in the background" : `${row.outcome}${took ? ` after ${took}` : ""}`;
  const time = when && el("time", { datetime: when.toISOString(), title: when.toLocaleString() }, when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
  const out = el("div.why-body", { hidden: true });
  const why = button("Why?", () => explain(row, out, why), { class: "quiet", "aria-expanded": "false", "aria-label": `Why? ${row.tool} ${summary(row)}` });
  if (explained.has(keyOf(row))) explain(row, out, why);  // it is drawn anew, for more is known of it
  return el("li.row", {},
    el("div.top", {}, el(`span.chip.${row.allowed ? "ok" : "no"}`, {}, row.allowed ? "allowed" : "denied"),
      el("code.tool", {}, oneLine(row.tool)), el("span.what", {}, summary(row)),
      fit && el("span.chip.fit", {}, "the rule allows it"), why),
    el("p.hint", {}, time, time && " · ", oneLine([BY[row.method] ?? row.method, end, row.error].filter(Boolean).join(" · "))), out);
}

async function explain(row, out, opener) {
  const opened = !out.hidden;
  opener.setAttribute("aria-expanded", String(!opened));
  out.hidden = opened;
  explained[opened ? "delete" : "add"](keyOf(row));
  if (opened) return;
  out.replaceChildren(el("p", {}, `Then: ${row.allowed ? "allowed" : "denied"}, because ${row.reason || "nobody said why"} (${row.method}).`),
    el("pre", { tabindex: "0", role: "group", "aria-label": "arguments" }, cut(shown(row.arguments), 4000)));
  try {
    const told = await post("why", { tool: row.tool, arguments: row.arguments });
    const verb = { allow: "would run unasked", ask: "would be asked about", deny: "would be denied" }[told.decision];
    out.append(el("p", {}, `By the rules alone it ${verb} now: ${told.reason}${told.where ? ` (${short(told.where)})` : ""}.`),
      el("ul.parts", {}, told.parts.map((part) => el("li", {},
        el(`span.chip.${{ allow: "ok", ask: "ask", deny: "no" }[part.decision]}`, {}, part.decision), el("code", {}, oneLine(cut(part.text, 400))),
        el("span.because", {}, `${part.reason}${part.where ? ` (${short(part.where)})` : ""}`),
        part.mend && el("p.hint", {}, part.mend)))));
  } catch (error) {
    out.append(el("p.bad", {}, error.message));
  }
}
