// Changing the arguments of a call before it runs, with what that changes.

import { diff } from "./diff.js";
import { button, el, escaped, oneLine, parsed, plain, shown } from "./text.js";

let made = 0;

/** The fields of the arguments, and what has changed. */
export function editPanel(question, act) {
  const before = question.draft ?? question.arguments;
  const fields = Object.entries(before).map(([name, value]) => fieldOf(name, value));
  const changes = el("div.changes", { "aria-live": "polite" }, el("p.hint", {}, "Nothing is changed yet."));
  const confirm = button("Run it so", () => act("edit", read(fields)), { class: "confirm.allow", disabled: true });
  const look = () => {
    const told = fields.flatMap((field) => changeOf(field));
    changes.replaceChildren(...(told.length ? told : [el("p.hint", {}, "Nothing is changed yet.")]));
    confirm.disabled = !told.length || fields.some((field) => field.problem);
  };
  for (const field of fields) field.input.addEventListener("input", look);
  return el("fieldset", {}, el("legend", {}, "Change the arguments"),
    fields.map(({ name, input, asJson }) => el("div.field.wide", {},
      el("label", { for: input.id }, asJson ? `${oneLine(name)} (JSON)` : oneLine(name)), input)),
    changes, el("div.answers", {}, confirm));
}

function fieldOf(name, value) {
  const asJson = typeof value !== "string" || !plain(value);
  const text = asJson ? escaped(value) : value;
  const rows = String(Math.min(14, Math.max(1, text.split("\n").length + (text.length > 70 ? 1 : 0))));
  const input = el("textarea", { id: `edit-${++made}`, rows, spellcheck: "false", autocapitalize: "off", value: text });
  return { name, value, asJson, text, input, problem: "" };
}

function changeOf(field) {
  field.problem = "";
  if (field.input.value === field.text) return [];
  if (!field.asJson) return [el("p.hint", {}, `${oneLine(field.name)}:`), diff(field.value, field.input.value)];
  try {
    return [el("p.hint", {}, `${oneLine(field.name)}:`), diff(shown(field.value), shown(parsed(field.input.value)))];
  } catch (error) {
    field.problem = error.message;
    return [el("p.bad", {}, `${oneLine(field.name)} is not JSON: ${error.message}`)];
  }
}

const read = (fields) => Object.fromEntries(fields.map((field) =>
  [field.name, field.input.value === field.text ? field.value : field.asJson ? parsed(field.input.value) : field.input.value]));
