/** Long texts are searched for the operator's words in pieces: nothing is found less for it, and others have their turn in between. */
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { checkWords } from '../../server/relay/admission/blocked-words.ts';
import type { Prompt } from '../../server/relay/intake/prompt.ts';
import { wordCase } from '../../server/relay/state/settings.ts';
import { randomOf } from '../support/random.ts';

const promptOf = (lists: Partial<Pick<Prompt, 'texts' | 'frame' | 'objectTexts' | 'objectFrame'>>): Prompt =>
  ({ texts: [], frame: [], objectTexts: [], objectFrame: [], ...lists }) as unknown as Prompt;
const blockedWords = ['secret', 'ΟΔΟΣ', '密码'].map(wordCase);
/** Pieces of 64 characters. */
const most = 64 * 23;

async function isRefused(prompt: Prompt, bound?: number): Promise<boolean> {
  try {
    await checkWords({ blockedWords }, prompt, bound);
    return false;
  } catch (error) {
    if (error instanceof AppError && error.code === 'sensitive_words') return true;
    throw error;
  }
}

const hidings = {
  plain: 'SeCret',
  'another script': '密码',
  'letters that depend on their neighbours': 'ΟΔΟΣ',
  'such letters before another': 'ΟΔΟΣα',
  'unseen characters between': `se\u200b${'\u{e0041}'.repeat(40)}cret`,
  'escaped characters': '\\u0073e\\u0063ret',
  'unseen characters, escaped': `sec${'\\u200b'.repeat(30)}ret`,
};

test.each(Object.entries(hidings))('%s: found wherever it stands in a long text', async (_, word) => {
  for (const filler of ['x ', '界', '\\', 'Σ', '😀'])
    for (let before = 40; before < 72; before++) {
      const text = `${filler.repeat(before)} ${word}${filler.repeat(200)}`;
      expect(await isRefused(promptOf({ texts: [text] })), 'at once').toBe(true);
      expect(await isRefused(promptOf({ texts: [text] }), most), `${filler} × ${before}`).toBe(true);
    }
});

test.each(['texts', 'frame', 'objectTexts', 'objectFrame'] as const)(
  '%s are searched, each by itself',
  async (list) => {
    const texts = [...Array<string>(50).fill('words of a turn'), 'a secret', 'more'];
    expect(await isRefused(promptOf({ [list]: texts }), most)).toBe(true);
    expect(await isRefused(promptOf({ [list]: texts.map((text) => text.replace('secret', 'sec')) }), most)).toBe(false);
    expect(await isRefused(promptOf({ [list]: ['x'.repeat(500), 'sec', 'ret', 'x'.repeat(500)] }), most)).toBe(false);
  },
);

test('pieces find what one search finds', async () => {
  const random = randomOf(20261129);
  const signs = [
    'se',
    'cret',
    'secre',
    't',
    '\u200b',
    '\\u',
    '0073',
    '\\',
    '密',
    '码',
    'Σ',
    'σ',
    'οδο',
    '\ud83d',
    '😀',
    ' ',
  ];
  for (let times = 0; times < 300; times++) {
    const texts = [Array.from({ length: 120 }, () => signs[Math.floor(random() * signs.length)]).join('')];
    const whole = await isRefused(promptOf({ texts }));
    const inPieces = await isRefused(promptOf({ texts }), most);
    expect(inPieces, JSON.stringify(texts)).toBe(whole);
  }
});

test('a long text lets others have their turn, a short one is searched at once', async () => {
  let turns = 0;
  let isOver = false;
  const others = () => {
    turns++;
    if (!isOver) setImmediate(others);
  };
  setImmediate(others);
  await checkWords({ blockedWords }, promptOf({ texts: ['x'.repeat(6400)] }), most);
  isOver = true;
  expect(turns).toBeGreaterThan(90);
  expect(checkWords({ blockedWords }, promptOf({ texts: ['x'] }))).toBeUndefined();
  expect(checkWords({ blockedWords: [] }, promptOf({ texts: ['x'.repeat(6400)] }), most)).toBeUndefined();
});
