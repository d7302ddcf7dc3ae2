// The page: from the link to the stream of what happens.

import { enter, forget, listen, post } from "./api.js";
import { loadGrants } from "./grants.js";
import { loadHistory } from "./history.js";
import { add, close, setQuestions, step, waiting } from "./questions.js";
import { begin, output, setTasks } from "./running.js";
import { oneLine, setHome, visible } from "./text.js";

const AGAIN = [0.2, 0.5, 1, 2]; // seconds before the stream is asked for again
const state = document.getElementById("state"), announce = document.getElementById("announce");
const notify = document.getElementById("notify"), help = document.getElementById("help");
const parts = ["waiting", "running", "grants", "history"];
let name = "", ended = false, trouble = false, timer;

function say(text, kind) {
  state.textContent = text;
  state.className = `state ${kind}`;
  document.body.classList.toggle("gone", kind === "bad");
}

const events = {
  hello({ page, questions, problem, home }) {
    name = page;
    setHome(home);
    say(problem ? oneLine(problem) : "connected", problem ? "bad" : "good");
    setQuestions(questions);
    begin(page);
    present();
    loadGrants();
    loadHistory();
  },
  asked(question) {
    add(question);
    announce.textContent = `New question: ${visible(question.tool)}`;
    tell(question);
  },
  closed: ({ id }) => close(id),
  tasks(tasks) {
    setTasks(tasks);
    if (trouble) say("connected", "good"); // the store can be read again
    trouble = false;
  },
  output,
  grants: loadGrants,
  history() {
    clearTimeout(timer);
    timer = setTimeout(loadHistory, 400);
  },
  problem({ error }) {
    trouble = true;
    say(oneLine(error), "bad");
  },
  end() {
    ended = true;
    over("The console has ended.");
  },
};

function over(text) {
  forget();
  setQuestions([]);
  setTasks([]);
  document.querySelector("main").inert = true;
  say(`${text} Run ‘toolexec console’ to open it anew.`, "bad");
}

async function run() {
  try {
    await enter();
    for (let tries = 0; !ended; tries++) {
      let busy = false; // it is there, and has too many connections for now
      try {
        await listen((kind, value) => [(tries = 0), events[kind]?.(value)]);
      } catch (error) {
        busy = error.status >= 500;
        if (error.status && !busy) throw error;
      }
      if (ended) return;
      if (!busy && tries >= AGAIN.length) return over("The console cannot be reached any more.");
      say(busy ? "The console has too many connections; trying again …" : "connecting again …", "warn");
      const pause = AGAIN[Math.min(tries, AGAIN.length - 1)];
      await new Promise((resume) => setTimeout(resume, pause * 1000));
    }
  } catch (error) {
    over(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`);
  }
}

// Being told ------------------------------------------------------------------------------------------------------

const permitted = () => "Notification" in window && Notification.permission === "granted";

function present() {
  notify.hidden = !("Notification" in window) || Notification.permission !== "default";
  if (name) post("presence", { page: name, hidden: document.hidden, notifies: permitted() }).catch(() => {});
}

function tell(question) {
  if (!document.hidden || !permitted()) return;
  const made = new Notification(`${visible(question.tool)} waits for you`, { body: visible(question.notice), tag: "toolexec", icon: "/icon.svg" });
  made.onclick = () => [window.focus(), made.close()];
}

document.addEventListener("visibilitychange", present);
notify.addEventListener("click", async () => [await Notification.requestPermission(), present()]);
addEventListener("counted", ({ detail }) => {
  for (const [part, count] of Object.entries(detail)) document.getElementById(`count-${part}`).textContent = count;
  const count = waiting();
  document.getElementById("count-waiting").classList.toggle("some", count > 0);
  document.title = count ? `(${count}) toolexec` : "toolexec";
});

// Keys ------------------------------------------------------------------------------------------------------------

document.getElementById("help-open").addEventListener("click", () => help.showModal());
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const part = parts[Number(event.key) - 1];
  if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key === "?") help.showModal();
  else if (part) document.getElementById(part).focus();
  else return;
  event.preventDefault();
});
for (const link of document.querySelectorAll("a[href^='#']"))
  link.addEventListener("click", (event) => {
    event.preventDefault(); // the fragment is for the code
    const target = document.querySelector(link.getAttribute("href"));
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  });

run();
