// A read-only view of a call's arguments, for tools without a card of their own. Nothing is shortened: a person
// approves exactly what stands here.

import { drawContext } from "./context.js";
import { h } from "./kit.js";

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({}),
  answer: () => ({}),
  draw(body) {
    const list = drawContext();
    const none = h("p", { class: "hitl-none", text: "No arguments" });
    body.append(list.el, none);
    return ({ rows }) => {
      none.hidden = rows.length > 0;
      list.update(rows);
    };
  },
};
