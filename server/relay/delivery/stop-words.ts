/** Notices a word of the operator's list in what an answer says, also where it comes in pieces. */
import type { DeliveredText } from '../shared/delivered-text.ts';

/** @returns whether what came since the last call completes a word. */
export type WordWatch = (said: DeliveredText) => boolean;

/** @param words lower case. @returns null = there is nothing to look for. */
export function createWordWatch(words: readonly string[]): WordWatch | null {
  if (words.length === 0) return null;
  const longest = Math.max(...words.map((word) => word.length));
  let read = 0;
  let tail = '';
  return ({ texts }) => {
    if (read === texts.length) return false;
    const said = tail + texts.slice(read).join('').toLowerCase();
    read = texts.length;
    tail = said.slice(Math.max(0, said.length - longest + 1));
    return words.some((word) => said.includes(word));
  };
}
