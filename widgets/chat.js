// A conversation: its head with Stop, the log that follows its end and folds its beginning, the box to write in.
//
// What a person writes is the browser's until the kernel has taken it: nothing from there writes into the box.

import { explain, h, keyedRows, link, uid, write, writeOrHide } from "./kit.js";

/** @typedef {{ el: HTMLElement, update: () => void }} ChatPart */

const CHAT_DRAWN = 60; // of a conversation; the rest is folded
const CHAT_MORE = 60;
const CHAT_NEAR = 60; // pixels from the end, within which a reader follows it

/** @param {any} store @param {string} key @returns {ChatPart} */
export function drawChatHead(store, key) {
  const title = h("span", { class: "hitl-title", dir: "auto" });
  const status = h("span", { class: "hitl-chat-status", role: "status" });
  const stop = h("button", { type: "button", class: "hitl-button", text: "Stop" });
  const el = h("div", { class: "hitl-chat-head" }, title, status, stop);
  stop.addEventListener("click", () => store.ask(store.items.get(key), { do: "stop" }).catch(explain));
  const update = () => {
    const { title: words, status: far, busy } = store.items.get(key);
    write(title, words);
    write(status, far);
    stop.disabled = !busy;
  };
  return { el, update };
}

/** @param {any} store @param {string} key @returns {ChatPart} */
export function drawComposer(store, key) {
  const id = uid();
  const suggestions = h("div", { class: "hitl-chat-suggestions", role: "group", "aria-label": "Suggestions" });
  const attached = h("div", { class: "hitl-chat-attached", role: "group", "aria-label": "Attached" });
  const box = h("textarea", { id, class: "hitl-input", rows: "1", dir: "auto", "aria-label": "Message" });
  const send = h("button", { type: "button", class: "hitl-button hitl-primary", text: "Send" });
  const error = h("p", { class: "hitl-error", role: "alert", hidden: true });
  const hint = h("span", { class: "hitl-chat-hint", text: "Enter sends, Shift+Enter begins a new line" });
  const retry = link("Say it again", id, () => ask({ do: "retry" }));
  const edit = link("Say it otherwise", id, () => begin());
  const cancel = link("Keep it as it was", id, () => end());
  const line = h("div", { class: "hitl-chat-line" }, box, send);
  const foot = h("div", { class: "hitl-chat-foot" }, hint, retry, edit, cancel);
  const el = h("div", { class: "hitl-chat-composer" }, suggestions, attached, line, error, foot);
  let sending = false;
  // Beside the view: JupyterLab draws a view anew when what is stored of it changes, and what was begun is to stay.
  const held = store.held(key);
  /** @type {{ text: string, before: string, editing: boolean, focused: boolean, stamp: number }} */
  const kept = (held.chat ??= { text: "", before: "", editing: false, focused: false, stamp: 0 });
  let { stamp } = kept;
  /** Put a text into the box, in every view. @param {string} text */
  const fill = (text) => {
    kept.text = text;
    kept.stamp += 1;
    store.hold(key, {});
  };
  box.value = kept.text;
  if (kept.focused) requestAnimationFrame(() => chatTyping() || box.focus({ preventScroll: true }));
  box.addEventListener("focus", () => (kept.focused = true));
  box.addEventListener("blur", () => setTimeout(() => box.isConnected && (kept.focused = document.activeElement === box)));
  const item = () => store.items.get(key);
  const offer = chatButtons(suggestions, (at) => say(item().suggestions[at].message, "send"));
  const attach = chatButtons(attached, (at) => ask({ do: "detach", at }));

  const ask = async (/** @type {any} */ body) => {
    sending = true;
    update();
    try {
      await store.ask(item(), body);
      writeOrHide(error, "");
      return true;
    } catch (problem) {
      writeOrHide(error, explain(problem));
      return false;
    } finally {
      sending = false;
      update();
    }
  };
  const say = async (/** @type {string} */ text, /** @type {string} */ how) => {
    if (!text.trim() || sending || (item().busy && how === "send")) return;
    const sent = box.value;
    if (!(await ask({ do: how, text }))) return;
    if (how === "edit") kept.editing = false;
    if (kept.text === sent) fill("");
    update();
    box.focus();
  };
  const begin = () => {
    kept.before = box.value;
    kept.editing = true;
    fill(item().last);
    update();
    box.focus();
  };
  const end = () => {
    kept.editing = false;
    fill(kept.before);
    update();
    box.focus();
  };
  send.addEventListener("click", () => say(box.value, kept.editing ? "edit" : "send"));
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      say(box.value, kept.editing ? "edit" : "send");
    } else if (event.key === "ArrowUp" && !box.value && item().last && !kept.editing) {
      event.preventDefault();
      begin();
    } else if (event.key === "Escape" && kept.editing) {
      event.preventDefault();
      end();
    }
  });
  box.addEventListener("input", () => ((kept.text = box.value), update()));
  const update = () => {
    const { editing } = kept;
    if (stamp !== kept.stamp) box.value = kept.text;
    stamp = kept.stamp;
    const { busy, last, suggestions: words, attached: names } = item();
    write(send, editing ? "Send instead" : "Send");
    send.disabled = sending || (busy && !editing);
    retry.hidden = edit.hidden = editing || !last;
    retry.disabled = edit.disabled = sending;
    cancel.hidden = !editing;
    offer(busy || editing ? [] : words.map((/** @type {any} */ each) => each.title));
    attach(names.map((/** @type {string} */ name) => `${name} ✕`));
  };
  return { el, update };
}

/** Is somebody typing somewhere? In another view of this chat, perhaps. */
const chatTyping = () => document.activeElement?.matches("input, textarea, select");

/** A button for each of some words. @param {HTMLElement} el @param {(at: number) => void} press gets which it is by then */
function chatButtons(el, press) {
  const draw = keyedRows(el, (/** @type {string} */ words) => words, (text) => {
    const onclick = () => press([...el.children].indexOf(button));
    const button = h("button", { type: "button", class: "hitl-button", text, onclick });
    return { el: button, update: () => {} };
  });
  return (/** @type {string[]} */ words) => {
    draw(words);
    el.hidden = words.length === 0;
  };
}

/**
 * The log of a conversation, if `list` is one: it follows its end while its reader does, and draws the last part only.
 * @param {HTMLElement} list
 */
export function chatLog(list) {
  const more = h("button", { type: "button", class: "hitl-link hitl-chat-more", hidden: true });
  let drawn = CHAT_DRAWN;
  const log = () => /** @type {HTMLElement | null} */ (list.closest(".hitl-chat-log"));
  more.addEventListener("click", () => {
    drawn += CHAT_MORE;
    list.dispatchEvent(new CustomEvent("hitl-fold"));
  });
  return {
    el: more,
    /** Whether the reader follows the end. */
    follows: () => {
      const box = log();
      return box !== null && box.scrollHeight - box.scrollTop - box.clientHeight < CHAT_NEAR;
    },
    /** @param {boolean} follows */
    toEnd: (follows) => {
      const box = log();
      if (box && follows) box.scrollTop = box.scrollHeight;
    },
    /**
     * Fold the beginning; gives whether something has changed.
     * @param {{ el: HTMLElement, folded?: boolean }[]} nodes
     */
    fold: (nodes) => {
      if (!log()) return false;
      const first = Math.max(0, nodes.length - drawn);
      let changed = false;
      // Only around the edge: what is before it has been folded before.
      for (let at = first - 1; at >= 0 && !nodes[at].folded; at--) {
        if (nodes[at].el.dataset.state === "open") continue; // a question is never folded
        nodes[at].folded = changed = true;
      }
      for (let at = first; at < nodes.length && nodes[at].folded; at++) {
        nodes[at].folded = false;
        changed = true;
      }
      more.hidden = first === 0;
      write(more, `Show earlier (${first})`);
      return changed;
    },
  };
}
