// What was answered for longer than one call: what it is about, for whom, until when, and its end.

import { post } from "./api.js";
import { receipt } from "./questions.js";
import { arrange, button, cut, el, kept, oneLine, short, span } from "./text.js";

const list = document.getElementById("grant-list");
let grants = [], number = 0;

/** Ask for the grants, and show them. */
export async function loadGrants() {
  const now = ++number;
  try {
    const told = await post("grants");
    if (now !== number) return;
    grants = told;
  } catch (error) {
    list.replaceChildren(el("p.bad", {}, error.message));
    return;
  }
  arrange(list, cardsOf(grants));
  document.getElementById("no-grants").hidden = grants.length > 0;
  dispatchEvent(new CustomEvent("counted", { detail: { grants: grants.length } }));
}

function scopeOf(grant) {
  if (grant.scope === "project") return `in ${short(grant.project)}`;
  return grant.scope === "user" ? "everywhere" : "in a terminal’s session";
}

function rowOf(grant) {
  const id = `g-${grant.id}`;
  const ends = [scopeOf(grant), grant.agent ? `asked by ${grant.agent}` : "", grant.confine ? `in the box ${grant.confine}` : ""];
  if (grant.uses_left !== null) ends.push(`${grant.uses_left} ${grant.uses_left === 1 ? "call" : "calls"} left`);
  const until = el("span.until", { data: grant.expires === null ? {} : { expires: grant.expires } });
  return el("article.card.grant", { "aria-labelledby": id, data: { id: grant.id } },
    el("div.top", {}, el("h3", { id }, el("code", {}, oneLine(cut(grant.rule, 400)))),
      el(`span.chip.${grant.verdict === "allow" ? "ok" : "no"}`, {}, grant.verdict === "allow" ? "always" : "never")),
    el("p.who", {}, el("code", {}, oneLine(grant.tool)), ` ${ends.filter(Boolean).map(oneLine).join(" · ")}`, until),
    el("div.answers", {}, button("Revoke", () => revoke(grant), { class: "quiet.deny", "aria-label": `Revoke ${grant.rule}` })));
}

const cardsOf = kept(rowOf);

function tick() {
  for (const until of list.querySelectorAll(".until[data-expires]")) {
    const left = Number(until.dataset.expires) - Date.now() / 1000;
    until.textContent = left > 0 ? ` · ends in ${span(left)}` : " · has ended";
  }
}
new MutationObserver(tick).observe(list, { childList: true });
setInterval(tick, 1000);

async function revoke(grant) {
  try {
    await post("revoke", { id: grant.id });
    receipt(`Revoked: ${grant.rule}`);
  } catch (error) {
    receipt(error.message, "no");
  }
  await loadGrants();
}
