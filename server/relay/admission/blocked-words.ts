/** Refuses prompts that contain a word of the operator's list. */
import { AppError } from '../../contract/errors.ts';
import type { Prompt } from '../intake/prompt.ts';
import type { RelaySettings } from '../state/settings.ts';

/** Invisible characters: they hide a word from a search, and from no reader. */
const unseen = /\p{Default_Ignorable_Code_Point}/gu;
/** As JSON inside of a string writes a character. */
const escaped = /\\u([\da-f]{4})/gi;

/** Only what is no ASCII, or escaped, can hide a word. */
const mayHide = /[\x80-\uffff]|\\u/;

const visible = (text: string): string =>
  text
    .replace(escaped, (_whole, code: string) => String.fromCharCode(Number.parseInt(code, 16)).toLowerCase())
    .replace(unseen, '');

/** @throws AppError sensitive_words. Case does not matter. */
export function checkWords(settings: RelaySettings, prompt: Prompt): void {
  const { blockedWords } = settings;
  if (blockedWords.length === 0) return;
  for (const list of [prompt.texts, prompt.frame, prompt.objectTexts, prompt.objectFrame])
    for (const text of list) {
      const lower = text.toLowerCase();
      const plain = mayHide.test(lower) ? visible(lower) : lower;
      for (const word of blockedWords)
        if (lower.includes(word) || (plain !== lower && plain.includes(word))) throw new AppError('sensitive_words');
    }
}
