/** Refuses prompts that contain a word of the operator's list. */
import { AppError } from '../../contract/errors.ts';
import type { Prompt } from '../intake/prompt.ts';
import { type RelaySettings, wordCase } from '../state/settings.ts';

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

/** Characters of the text times words: 2 to 3 ms. */
const atOnce = 20_000_000;
/** Steps that the text needs besides, as so many words. */
const besides = 20;
/** Characters that a text counts for at least, however short it is. */
const perText = 32;
/** An escaped character is so long. */
const escapeLength = 6;

/**
 * A long text is searched in pieces, between which others have their turn. Case does not matter.
 * @param most characters times words that are searched in one piece.
 * @returns when it was searched; undefined = it is done.
 * @throws AppError sensitive_words.
 */
export function checkWords(
  { blockedWords }: Pick<RelaySettings, 'blockedWords'>,
  prompt: Prompt,
  most = atOnce,
): void | Promise<void> {
  if (blockedWords.length === 0) return;
  const lists = [prompt.texts, prompt.frame, prompt.objectTexts, prompt.objectFrame];
  const piece = Math.ceil(most / (blockedWords.length + besides));
  let length = 0;
  for (const list of lists) for (const text of list) length += text.length + perText;
  if (length > piece) return checkInPieces(lists, blockedWords, piece);
  for (const list of lists) for (const text of list) if (holdsWord(text, blockedWords)) throw refusal();
}

const refusal = () => new AppError('sensitive_words');

function holdsWord(text: string, words: readonly string[]): boolean {
  const lower = wordCase(text);
  const plain = mayHide.test(lower) ? visible(lower) : lower;
  const isHiding = plain !== lower;
  for (const word of words) if (lower.includes(word) || (isHiding && plain.includes(word))) return true;
  return false;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function checkInPieces(
  lists: readonly (readonly string[])[],
  words: readonly string[],
  piece: number,
): Promise<void> {
  let left = piece;
  for (const list of lists)
    for (const text of list) {
      const search = new WordSearch(words);
      for (let at = 0; at < text.length; ) {
        const end = pieceEnd(text, at + Math.max(left, escapeLength * 2));
        if (search.finds(text.slice(at, end))) throw refusal();
        left -= end - at;
        at = end;
        if (left > 0) continue;
        await nextTurn();
        left = piece;
      }
      left -= perText;
    }
}

/** @returns `end`, or where what stands across it begins: an escaped character, or one of two units. */
function pieceEnd(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const tail = end - escapeLength + 1;
  const backslash = text.slice(tail, end).lastIndexOf('\\');
  if (backslash >= 0) return tail + backslash;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}

/** Looks for words in a text that comes in pieces. */
class WordSearch {
  /** Units before a piece that may be the beginning of a word. */
  private readonly kept: number;
  private lower = '';
  private plain = '';

  constructor(private readonly words: readonly string[]) {
    this.kept = Math.max(...words.map((word) => word.length)) - 1;
  }

  finds(piece: string): boolean {
    const own = wordCase(piece);
    const lower = this.lower + own;
    const plain = this.plain + (mayHide.test(own) ? visible(own) : own);
    this.lower = this.end(lower);
    this.plain = this.end(plain);
    return this.words.some((word) => lower.includes(word) || (plain !== lower && plain.includes(word)));
  }

  private end(text: string): string {
    return text.slice(Math.max(0, text.length - this.kept));
  }
}
