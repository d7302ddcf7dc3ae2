// What runs in the background, in whatever process: how far it is, what it says, and its end.

import { post } from "./api.js";
import { receipt } from "./questions.js";
import { Screen, arrange, button, cut, el, oneLine, span } from "./text.js";

const list = document.getElementById("tasks");
const SURE = 4000; // milliseconds in which a second click confirms the first
const shownTasks = new Map(); // id: entry
let page = "";

/** The stream has begun anew, as this page: what is shown of output is asked for again. */
export function begin(name) {
  page = name;
  for (const entry of shownTasks.values()) if (entry.following) follow(entry);
}

/** Show the tasks that there are. */
export function setTasks(tasks) {
  for (const [id, entry] of shownTasks) if (!tasks.some((task) => task.id === id)) shownTasks.delete(id);
  for (const task of tasks) {
    const entry = shownTasks.get(task.id) ?? entryOf(task);
    Object.assign(entry, { task, since: performance.now() - task.duration * 1000 });
    update(entry);
  }
  arrange(list, tasks.map((task) => shownTasks.get(task.id).card));
  document.getElementById("no-tasks").hidden = tasks.length > 0;
  dispatchEvent(new CustomEvent("counted", { detail: { running: tasks.filter((task) => !task.ended).length } }));
}

function entryOf(task) {
  const id = `t-${task.id}`;
  const entry = { task, screen: new Screen(), offset: 0, following: false };
  entry.state = el("span.chip");
  entry.time = el("span.took");
  entry.more = el("p.hint");
  entry.progress = el("progress", { "aria-label": `how far ${task.tool} is`, max: "1" });
  entry.pre = el("pre.output", { tabindex: "0", role: "log", "aria-label": `output of ${task.tool}` });
  entry.opener = button("Output", () => toggle(entry), { class: "quiet", "aria-expanded": "false" });
  entry.stop = button("Cancel", () => cancel(entry), { class: "quiet.deny" });
  entry.out = el("div", { hidden: true }, entry.pre);
  entry.card = el("article.card.task", { "aria-labelledby": id, data: { id: task.id } },
    el("div.top", {}, el("h3", { id }, el("code", {}, oneLine(task.tool))), entry.state, entry.time),
    entry.progress, entry.more,
    el("p.who", {}, el("code", {}, task.id), ` of process ${task.owner}`),
    el("div.answers", {}, entry.opener, entry.stop), entry.out);
  shownTasks.set(task.id, entry);
  return entry;
}

function update(entry) {
  const { task } = entry;
  const kind = task.ended ? (task.status === "completed" ? "ok" : "no") : task.waiting_for ? "ask" : "run";
  entry.state.className = `chip ${kind}`;
  entry.state.textContent = !task.ended && task.waiting_for ? "waits" : task.status;
  const [done, total, message] = task.progress ?? [null, null, null];
  entry.progress.hidden = task.ended || done === null;
  if (total) entry.progress.value = Math.min(1, done / total);
  else entry.progress.removeAttribute("value");
  const steps = done !== null && !task.ended ? (total ? `${done} of ${total}` : `${done}`) : "";
  const told = [task.waiting_for && !task.ended ? `waits for ${task.waiting_for}` : "", steps, message, task.error].filter(Boolean);
  entry.more.textContent = oneLine(cut(told.join(" · "), 600));
  entry.more.hidden = !told.length;
  entry.stop.hidden = task.ended;
  tick(entry);
}

const tick = (entry) => {
  entry.time.textContent = span(entry.task.ended ? entry.task.duration : (performance.now() - entry.since) / 1000);
};
setInterval(() => { for (const entry of shownTasks.values()) if (!entry.task.ended) tick(entry); }, 1000);

function toggle(entry) {
  entry.out.hidden = entry.following;
  entry.opener.setAttribute("aria-expanded", String(!entry.following));
  entry.following = !entry.following;
  follow(entry);
}

async function follow(entry) {
  const { task, following: on, offset } = entry;
  await post("follow", { page, id: task.id, on, offset }).catch((error) => receipt(error.message, "no"));
}

/** More of a task's output has come. */
export function output({ id, text, dropped, offset, over }) {
  const entry = shownTasks.get(id);
  if (!entry) return;
  entry.offset = offset;
  const { pre } = entry, atEnd = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24;
  if (dropped) entry.screen.write(`\n[${dropped} bytes were not kept]\n`);
  const now = entry.screen.write(text);
  pre.textContent = now || (over ? "(it has said nothing)" : "");
  if (atEnd) pre.scrollTop = pre.scrollHeight;
}

async function cancel(entry) {
  if (!entry.sure) {
    entry.sure = true;
    entry.stop.textContent = "Really cancel?";
    setTimeout(() => [(entry.sure = false), (entry.stop.textContent = "Cancel")], SURE);
    return;
  }
  entry.sure = false;
  entry.stop.disabled = true;
  try {
    const { cancelled } = await post("cancel", { id: entry.task.id });
    receipt(cancelled ? `Cancelled: ${entry.task.tool}` : `${entry.task.tool} was told to stop, or had ended`, cancelled ? "ok" : "no");
  } catch (error) {
    receipt(error.message, "no");
  }
  [entry.stop.disabled, entry.stop.textContent] = [false, "Cancel"];
}
