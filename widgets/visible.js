// Characters that change what a reader sees without being seen, made visible (the same as hitl_nb/cards/_text.py).

const VISIBLE_HIDDEN =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}\p{Surrogate}]/gu;
// An emoji's own joiners are part of a visible sign, not a disguise.
const VISIBLE_EMOJI = /[\u2190-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}\ufe0f]$/u;

/** `text` with every invisible character written as its escape. */
export function reveal(text) {
  return text.replace(VISIBLE_HIDDEN, (sign, at) => {
    if ((sign === "\u200d" || sign === "\ufe0f") && VISIBLE_EMOJI.test(text.slice(0, at))) return sign;
    const code = sign.codePointAt(0);
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
