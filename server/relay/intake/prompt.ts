/** Reads the text out of a request body, whatever the dialect: for the size of a hold, for word checks, for counting when no usage comes. */
import type { CacheLife } from '../../contract/pricing-hold.ts';
import { type MediaBound, type MediaSums, mediaBound, noMedia, remoteKeys, remoteTokens } from './media-bound.ts';

/** A picture or sound without a known size; as in new-api (3 x 85 tiles, audio part 100), rounded up. */
const mediaTokens = 1000;
/** Strings that carry bytes, not words. */
const mediaKeys = new Set([
  'data',
  'audio',
  'file_data',
  'image_url',
  'url',
  'input_audio',
  'images',
  'inlineData',
  'inline_data',
]);
const skippedKeys = new Set([
  'model',
  'type',
  'role',
  'id',
  'tool_call_id',
  'call_id',
  'cache_control',
  'signature',
  'encrypted_content',
]);

export interface Prompt {
  /** All words of the request, in order. */
  readonly texts: readonly string[];
  readonly media: number;
  /** UTF-16 units of all names of members: those of tools' parameters are read by the model as well. */
  readonly nameUnits: number;
  /** What its media take at most. */
  readonly bound: MediaBound;
  /** Whether parts of it are to be written to a cache, as far as the dialects say it in the body. */
  readonly caches: CacheLife;
}

export const noPrompt: Prompt = {
  texts: [],
  media: 0,
  nameUnits: 0,
  bound: noMedia,
  caches: 'none',
};

type Members = Readonly<Record<string, unknown>>;

export function readPrompt(body: Members): Prompt {
  const texts: string[] = [];
  const bound: MediaSums = { units: 0, words: 0, media: {} };
  let media = 0;
  let nameUnits = 0;
  let caches: CacheLife = 'none';
  /** @param owner the object the value lies in, by arrays or directly. @param ownerKey its own name. */
  const walk = (value: unknown, key: string, owner: Members, ownerKey: string) => {
    if (typeof value === 'string') {
      const isData = value.startsWith('data:');
      if (isData || (mediaKeys.has(key) && value.length > 0)) {
        media++;
        mediaBound(bound, value, { key, owner, ownerKey });
      } else if (!skippedKeys.has(key)) {
        texts.push(value);
        if (remoteKeys.has(key)) bound.words += remoteTokens;
      }
      return;
    }
    if (Array.isArray(value)) {
      for (const item of value) walk(item, key, owner, ownerKey);
      return;
    }
    if (typeof value === 'object' && value !== null) {
      const members = value as Members;
      if (key === 'cache_control') caches = members.ttl === '1h' || caches === '1h' ? '1h' : '5m';
      for (const name in members) {
        nameUnits += name.length;
        walk(members[name], name, members, key);
      }
    }
  };
  walk(body, '', body, '');
  return { texts, media, nameUnits, bound, caches };
}

/** What ordinary text takes at most: one token per 2 UTF-16 units, plus framing. For rates and guesses; a hold needs `promptBound`. */
export function usualPromptTokens(prompt: Prompt): number {
  let units = 0;
  for (const text of prompt.texts) units += text.length;
  return Math.ceil(units / 2) + prompt.texts.length * 4 + prompt.media * mediaTokens;
}

/** What providers put in front of a prompt: roles and turns, and a page about tools where there are any. */
const framingTokens = 16;
const toolTokens = 600;

const framingOf = (body: Members): number =>
  framingTokens + (body.tools === undefined && body.functions === undefined ? 0 : toolTokens);

/**
 * Tokens of the words at most. No tokenizer makes more tokens than there are bytes, and the JSON of the request has at
 * least as many bytes as all the words, names and numbers in it.
 * @param bytes of the whole request.
 */
export const promptBound = (prompt: Prompt, body: Members, bytes: number): number =>
  Math.max(0, bytes - prompt.bound.units) + prompt.bound.words + framingOf(body);

/** The same from a count of the texts. Tokens of names are no more than their letters; a turn's frame takes some 4. */
export const countedBound = (prompt: Prompt, body: Members, counted: number): number =>
  Math.ceil(counted) + prompt.nameUnits + prompt.texts.length * 4 + prompt.bound.words + framingOf(body);

/** Tokens of the media parts, for a local count next to the counted words. */
export const countMedia = (prompt: Prompt): number => prompt.media * mediaTokens;
