// Requests, and the stream of what happens. The session is in the tab alone: it lives as long as the tab, and the console.

import { parsed } from "./text.js";

const KEPT = "toolexec-session";
const CALLS = new Set(["hello", "asked"]); // the events in which somebody else's arguments are
let session = sessionStorage.getItem(KEPT) ?? "";

export class ApiError extends Error {
  constructor(status, message) {
    super(message || `the console has answered with HTTP ${status}`);
    this.status = status;
  }
}

/** Exchange the code of the link, if there is one, for a session. Throws ApiError for a link that is used up. */
export async function enter() {
  const code = location.hash.slice(1);
  if (code.length > 30) {
    history.replaceState(null, "", "/"); // it is of no use to anybody who reads it later
    try {
      session = (await post("session", { code })).session;
    } catch (error) {
      if (!session || !(error instanceof ApiError)) throw error; // a tab that has a session keeps it
    }
    sessionStorage.setItem(KEPT, session);
  }
  if (!session) throw new ApiError(401, "this page is opened by 'toolexec console'");
}

/** Ask for something. Throws ApiError. */
export async function post(name, body = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(session && { Authorization: `Bearer ${session}` }) },
      body: JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "the console cannot be reached");
  }
  const told = await answer.text().then(parsed).catch(() => ({ error: answer.statusText }));
  if (!answer.ok) throw new ApiError(answer.status, told.error);
  return told;
}

/** Calls `hear(kind, value)` for each event until the stream ends. Throws ApiError when there is none to be had. */
export async function listen(hear) {
  let answer;
  try {
    answer = await fetch("/api/events", { headers: { Authorization: `Bearer ${session}` } });
  } catch {
    throw new ApiError(0, "the console cannot be reached");
  }
  if (!answer.ok) throw new ApiError(answer.status, (await answer.json().catch(() => ({}))).error);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, kind, data] = /^event: (.*)\ndata: (.*)$/s.exec(block) ?? [];
      try {
        if (kind) hear(kind, (CALLS.has(kind) ? parsed : JSON.parse)(data));
      } catch (error) { // one event that cannot be shown ends neither the stream nor those that come after it
        reportError(error);
      }
    }
  }
}

export const forget = () => sessionStorage.removeItem(KEPT);
