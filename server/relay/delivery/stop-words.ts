/** Finds a word of the operator's list in a response, also where it is split over chunks. */
import type { DeliveredText } from '../shared/delivered-text.ts';
import { wordCase } from '../state/settings.ts';

/** @returns whether what came since the last call completes a word. */
export type WordWatch = (content: DeliveredText) => boolean;

/** @param words in `wordCase`. @returns null = there is nothing to look for. */
export function createWordWatch(words: readonly string[]): WordWatch | null {
  if (words.length === 0) return null;
  const maxLength = Math.max(...words.map((word) => word.length));
  let read = 0;
  /** The end of each choice's text, which may be the beginning of a word. */
  const tails = new Map<number, string>();
  return ({ texts, choices }) => {
    if (read === texts.length) return false;
    const fresh = new Map<number, string>();
    for (; read < texts.length; read++) {
      const choice = choices?.[read] ?? 0;
      fresh.set(choice, (fresh.get(choice) ?? tails.get(choice) ?? '') + (texts[read] ?? ''));
    }
    let found = false;
    for (const [choice, text] of fresh) {
      const content = wordCase(text);
      tails.set(choice, content.slice(Math.max(0, content.length - maxLength + 1)));
      found ||= words.some((word) => content.includes(word));
    }
    return found;
  };
}
