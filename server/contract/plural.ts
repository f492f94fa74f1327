/** English texts that count: one of a thing is written in the singular. */
import type { Language } from './enum.ts';
import { textIn } from './language.ts';

const things = [
  'second|minute|hour|day|byte|character|request|attempt|token|access token|filter|passkey|prompt|subagent',
  'change|charge|secret|channel|entr(?=ies)|difference|decimal|trade|standby|row|node|version|model',
].join('|');
const counted = new RegExp(`(?<![\\d.,])1 (${things})(?:s|ies)\\b`, 'g');

/** @param text with its numbers filled in. */
export const singular = (text: string): string =>
  text.replace(counted, (_, thing: string) => `1 ${thing === 'entr' ? 'entry' : thing}`);

/** @returns what picks the text of a pair, filled in already, that a reader of this language understands. */
export const localizer =
  (language: Language) =>
  (zh: string, en: string): string =>
    language === 'en' ? singular(en) : textIn({ zh, en }, language);
