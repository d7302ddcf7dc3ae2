// What a tool wants to know: a form of its schema.

import { button, el, escaped, fitsALine, oneLine, parsed, plain } from "./text.js";

let made = 0;

/** The fields of a question's form, and its answers. */
export function formPanel(question, act) {
  const schema = question.form, required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, told]) => fieldOf(name, told ?? {}, required.has(name), question));
  const trouble = el("p.bad", { role: "alert" });
  const send = () => {
    trouble.textContent = "";
    const content = new Map();
    for (const field of fields) {
      try {
        const value = field.read();
        if (value !== undefined) content.set(field.name, value);
        else if (field.required) throw new Error("is needed");
      } catch (error) {
        trouble.textContent = `${oneLine(field.label)} ${error.message}`;
        field.input.focus();
        return;
      }
    }
    act("edit", Object.fromEntries(content)); // whatever the fields are called
  };
  return el("fieldset", { "aria-label": "Your answer" },
    question.secret && el("p.hint", {}, "What you type goes to the tool alone: it is not shown, kept, or told to the model."),
    fields.map((field) => field.element), trouble,
    el("div.answers", {}, button("Deny", () => act("no", null), { class: "deny" }), button("Send", send, { class: "confirm.allow" })));
}

function fieldOf(name, told, required, question) {
  const id = `form-${++made}`, label = String(told.title ?? name), help = told.description ? `${id}-help` : null;
  const common = { id, "aria-describedby": help, "aria-required": required ? "true" : null };
  const [input, read] = inputOf(told, common, required, question);
  const element = el("div.field.wide", {}, el("label", { for: id }, `${oneLine(label)}${required ? "" : " (optional)"}`), input,
    help && el("p.hint", { id: help }, told.description));
  return { name, label, required, input, read, element };
}

function choicesOf(told) {
  if (Array.isArray(told.enum)) return told.enum.map((value, place) => [value, told.enumNames?.[place] ?? value]);
  return told.oneOf?.every((each) => each instanceof Object && "const" in each) ? told.oneOf.map((each) => [each.const, each.title ?? each.const]) : null;
}

function inputOf(told, common, required, question) {
  const start = told.default;
  const choices = choicesOf(told);
  if (choices) {
    const none = required && start !== undefined ? [] : [el("option", { value: "" }, "choose …")];
    const select = el("select", common, none, choices.map(([value, text], place) => el("option", { value: String(place), selected: value === start }, oneLine(text))));
    return [select, () => (select.value === "" ? undefined : choices[Number(select.value)][0])];
  }
  if (told.type === "boolean") {
    const box = el("input", { type: "checkbox", ...common, checked: start === true });
    return [box, () => box.checked];
  }
  if (told.type === "integer" || told.type === "number") {
    const input = el("input", { type: "number", step: told.type === "integer" ? "1" : "any", min: told.minimum ?? null, max: told.maximum ?? null, ...common, value: start ?? "" });
    return [input, () => {
      if (!input.validity.valid) throw new Error("is not a fitting number");
      return input.value === "" ? undefined : Number.isSafeInteger(Number(input.value)) ? Number(input.value) : parsed(input.value);
    }];
  }
  if (told.type === "string" || told.type === undefined) {
    const type = question.secret || told.format === "password" ? "password" : "text";
    const value = type === "password" || !plain(start ?? "") ? "" : start ?? "";
    const input = fitsALine(value) ? el("input", { type, autocomplete: "off", ...common, value }) : el("textarea", { rows: "3", spellcheck: "false", ...common, value });
    return [input, () => (input.value === "" ? undefined : input.value)];
  }
  const area = el("textarea", { rows: "3", spellcheck: "false", ...common, value: start === undefined ? "" : escaped(start) });
  return [area, () => {
    if (!area.value.trim()) return undefined;
    try {
      return parsed(area.value);
    } catch {
      throw new Error("is not JSON");
    }
  }];
}
