// "Always" and "never": the rule that would be stored, shown and to be changed, how far it reaches, and when it ends.

import { post } from "./api.js";
import { button, el, escaped, fitsALine, oneLine } from "./text.js";

const SCOPES = { session: "its session", project: "its project", user: "you, in every project" };
const ENDS = { "": "without end", 3600: "for 1 hour", 28800: "for 8 hours", 86400: "for a day", 604800: "for a week" };
const PAUSE = 250; // milliseconds without a key after which a rule is read

let made = 0;

function choice(label, options, chosen) {
  const id = `choice-${++made}`;
  const select = el("select", { id }, Object.entries(options).map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  return [select, el("div.field", {}, el("label", { for: id }, label), select)];
}

/** What is asked before such an answer is given. */
export function lastingPanel(word, question, act) {
  const rules = question.rules[word] ?? [];
  const offered = question.details["always is for"];
  const [scope, scopeField] = choice("It holds for", { "": offered ? `as usual: ${offered}` : "as usual", ...SCOPES }, "");
  const [end, endField] = choice("It ends", ENDS, "");
  const times = el("input", { type: "number", min: "1", max: "999999", id: `times-${++made}`, placeholder: "any number" });
  const timesField = el("div.field", {}, el("label", { for: times.id }, "For how many calls"), times);
  const [told, chosen] = rules.length ? editedRules(word, rules, question) : wholeOrExact(word, question);
  const confirm = button(word === "always" ? "Always allow" : "Never allow", () => {
    const value = { ...chosen() };
    if (scope.value) value.scope = scope.value;
    if (end.value) value.for = Number(end.value);
    if (times.value) value.times = Number(times.value);
    act(word, Object.keys(value).length ? value : null);
  }, { class: `confirm.${word === "always" ? "allow" : "deny"}` });
  return el("fieldset", {}, el("legend", {}, word === "always" ? "Always allow" : "Never allow"),
    told, el("div.fields", {}, scopeField, endField, timesField), el("div.answers", {}, confirm));
}

function editedRules(word, rules, question) {
  const inputs = rules.map((rule, place) => {
    const id = `rule-${++made}`, free = fitsALine(rule);
    const input = free ? el("input.rule", { type: "text", id, value: rule, spellcheck: "false", autocapitalize: "off", autocomplete: "off" })
      : el("input.rule", { type: "text", id, value: escaped(rule), readonly: true });
    return { id, input, free, rule, label: rules.length > 1 ? `Rule ${place + 1} of ${rules.length}` : "The rule that is stored" };
  });
  const reading = el("div.reading", { "aria-live": "polite" });
  let timer, number = 0;
  const read = async () => {
    const now = ++number;
    const texts = inputs.map(({ input, free, rule }) => (free ? input.value : rule));
    const told = await Promise.all(texts.map((rule) => post("rule", { rule, question: texts.length === 1 ? question.id : null }).catch((error) => ({ problems: [error.message] }))));
    if (now === number) reading.replaceChildren(...told.flatMap((each) => readingOf(each, word)));
  };
  for (const { input } of inputs) input.addEventListener("input", () => [clearTimeout(timer), (timer = setTimeout(read, PAUSE))]);
  read();
  const told = el("div", {}, inputs.map(({ id, input, label }) => el("div.field.wide", {}, el("label", { for: id }, label), input)), reading);
  return [told, () => {
    const now = inputs.map(({ input, free, rule }) => (free ? input.value.trim() : rule));
    return now.every((rule, place) => rule === rules[place]) ? {} : { rules: now };
  }];
}

/** What a rule is said to be about. */
export function readingOf(told, word = "always") {
  const meant = told.means && word === "never" ? told.means.replace(/^allows/, "forbids") : told.means;
  return [
    meant && el("p", {}, `It ${oneLine(meant)}.`),
    told.decides === false && word === "always" && el("p.bad", {}, "It does not cover this call."),
    told.decides === true && word === "always" && el("p.good", {}, "It covers this call."),
    word === "always" && told.covers && el("p.warn", {}, told.covers),
    ...(told.problems ?? []).map((problem) => el("p.warn", {}, problem)),
  ].filter(Boolean);
}

function wholeOrExact(word, question) {
  const lasts = question.offered_rule !== null, name = `reach-${++made}`;
  const radio = (value, label, checked) => {
    const id = `${name}-${value}`;
    return el("div.radio", {}, el("input", { type: "radio", name, id, value, checked }), el("label", { for: id }, label));
  };
  const runs = Object.keys(question.arguments).some((key) => ["command", "argv", "cmd"].includes(key));
  const exact = lasts ? question.offered_rule : "this very call";
  const told = runs ? el("p", {}, exact) : el("div", {}, radio("exact", exact, true), radio("tool", `every call of ${question.tool}`, false));
  return [told, () => (told.querySelector("input[value=tool]")?.checked ? { whole_tool: true } : {})];
}
