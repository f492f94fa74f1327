/** Reads the text out of a request body, whatever the dialect: for the size of a hold, for word checks, for counting when no usage comes. */
import type { MediaBucket } from '../../contract/pricing/bucket.ts';
import type { CacheTtl } from '../../contract/pricing/reserve.ts';
import { record } from '../../protocols/shared/json.ts';
import { anyAsks, looseName } from '../../protocols/shared/member-name.ts';
import { featureOf, knownFeatures } from '../../routing/features.ts';
import { type Found, leading, leadingFromTop, mediaIn, mediaKinds } from './media.ts';

/** Parts of a prompt that are not words in its body. */
export interface MediaBound {
  /** UTF-16 units of strings that carry bytes instead of words. */
  readonly units: number;
  /** Tokens at most, by what they may be priced as. */
  readonly media: Readonly<Partial<Record<MediaBucket, number>>>;
  /** Tokens among them of pictures that are known to be small. */
  readonly small: number;
  /** It names or carries files that may be as long as the model's whole context. */
  readonly files: boolean;
}

interface MediaSums extends MediaBound {
  units: number;
  media: Partial<Record<MediaBucket, number>>;
  small: number;
  files: boolean;
}

export interface Prompt {
  /** The words of turns and parts, and of all else that a dialect has as text, in order. */
  readonly texts: readonly string[];
  /** Text around the words that may be read with them: roles, types, ids, numbers, names that no dialect knows. */
  readonly frame: readonly string[];
  /** Ids and signatures that were made by chance: no words can be looked for in them. */
  readonly marks: readonly string[];
  /** Parts that a model reads as JSON: tools, schemas, inputs and results of calls, documents, whatever else the caller made. */
  readonly objects: readonly object[];
  /** The strings in these objects, and the names, types and numbers. */
  readonly objectTexts: readonly string[];
  readonly objectFrame: readonly string[];
  /** Words that were sent as numbers of tokens, one each. */
  readonly tokens: number;
  /** Tokens of media where no usage is reported. */
  readonly media: number;
  /** Highest sizes of its media. */
  readonly bound: MediaBound;
  /** Bytes that a translation may add: to what stands where media should, and to a number that is written in full. */
  readonly growth: number;
  /** Bits of `Feature`: what members of the body may ask for, by their folded names at every depth. */
  readonly features: number;
  /** Whether parts of it are to be written to a cache, as far as the dialects say it in the body. */
  readonly caches: CacheTtl;
  /** Members of the body at every depth. */
  readonly members: number;
}

export const noMedia: MediaBound['media'] = {};
const noBound: MediaBound = { units: 0, media: noMedia, small: 0, files: false };

export const noPrompt: Prompt = {
  texts: [],
  frame: [],
  marks: [],
  objects: [],
  objectTexts: [],
  objectFrame: [],
  tokens: 0,
  media: 0,
  bound: noBound,
  growth: 0,
  features: 0,
  caches: 'none',
  members: 0,
};

type Members = Readonly<Record<string, unknown>>;

/** Names that turns and parts have in the dialects; they are no words of the prompt. Every other name is. */
const partNames: ReadonlySet<string> = new Set([
  ...leading,
  'role',
  'type',
  'text',
  'id',
  'name',
  'status',
  'arguments',
  'function',
  'functionCall',
  'function_call',
  'tool_calls',
  'tool_call_id',
  'tool_use_id',
  'call_id',
  'input',
  'args',
  'response',
  'detail',
  'format',
  'media_type',
  'mimeType',
  'mime_type',
  'filename',
  'title',
  'context',
  'is_error',
  'thought',
  'thinking',
  'signature',
  'thoughtSignature',
  'thought_signature',
  'encrypted_content',
  'summary',
  'refusal',
  'reasoning_content',
  'cache_control',
  'citations',
  'annotations',
  'logprobs',
  'index',
]);
/** A name of the request itself is read by no model; one of this length says something. */
const maxNameLength = 64;

const frameNames: ReadonlySet<string> = new Set([
  'model',
  'type',
  'role',
  'id',
  'tool_call_id',
  'call_id',
  'signature',
  'encrypted_content',
]);

const markNames: ReadonlySet<string> = new Set([
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'signature',
  'thoughtSignature',
  'thought_signature',
  'encrypted_content',
]);
/** Members that ask for a cache, in loose spelling: Anthropic's, and OpenAI's for a part and for the request. */
const cacheMarks: ReadonlySet<string> = new Set(['cachecontrol', 'promptcachebreakpoint', 'promptcacheoptions']);
const cacheLives: readonly CacheTtl[] = ['none', '5m', '1h', '12h'];
const longerCache = (one: CacheTtl, other: CacheTtl): CacheTtl =>
  cacheLives.indexOf(one) > cacheLives.indexOf(other) ? one : other;
/** An id that no dialect takes is replaced by one of this length. */
const plainId = /^[\w-]+$/;
const replacedId = 'call_27k1wwwhf13t9';
/** A word of no language: small and capital letters and digits. */
const byRandom = /^(?=[^\s]*\d)(?=[^\s]*[a-z])(?=[^\s]*[A-Z])[\w+/=.:|-]+$/;

class PromptReader implements Prompt {
  readonly texts: string[] = [];
  readonly frame: string[] = [];
  readonly marks: string[] = [];
  readonly objects: object[] = [];
  readonly objectTexts: string[] = [];
  readonly objectFrame: string[] = [];
  readonly bound: MediaSums = { units: 0, media: noMedia, small: 0, files: false };
  tokens = 0;
  media = 0;
  growth = 0;
  features = 0;
  caches: CacheTtl = 'none';
  members = 0;

  top(body: Members): void {
    for (const name in body) {
      this.members++;
      this.features |= knownFeatures.get(name) ?? featureOf(name);
      if (name.length > maxNameLength) this.frame.push(name);
      const value = body[name];
      const leads = leadingFromTop.has(name);
      // A model that is served has a name that the operator knows; a plain number or switch says how to answer.
      if (typeof value === 'string') {
        if (name !== 'model') this.string(value, name, body, '', body, leads);
      } else if (typeof value !== 'object' || value === null) continue;
      else if ((name === 'input' || name === 'prompt') && isTokens(value)) this.tokens += value.flat().length;
      else if (leads) this.walk(value, name, body, '', body);
      else this.object(value, name);
    }
    this.bound.files ||= continues(body);
  }

  /**
   * Where a dialect may have media.
   * @param owner the object the value lies in, by arrays or directly. @param ownerKey its own name.
   * @param part the object round that one.
   */
  private walk(value: unknown, key: string, owner: Members, ownerKey: string, part: Members): void {
    if (typeof value === 'string') {
      this.string(value, key, owner, ownerKey, part, true);
      return;
    }
    if (typeof value !== 'object' || value === null) {
      this.scalar(value, this.frame);
      return;
    }
    if (Array.isArray(value)) {
      for (const item of value) this.walk(item, key, owner, ownerKey, part);
      return;
    }
    const members = value as Members;
    for (const name in members) {
      this.members++;
      this.features |= knownFeatures.get(name) ?? featureOf(name);
      const inner = members[name];
      const known = partNames.has(name);
      if (!known) this.frame.push(name);
      else if (
        typeof inner === 'string' &&
        markNames.has(name) &&
        inner.length < replacedId.length &&
        !plainId.test(inner)
      )
        this.frame.push(replacedId);
      if (leading.has(name)) this.walk(inner, name, members, key, owner);
      else if (typeof inner === 'object' && inner !== null) this.object(inner, name);
      else if (typeof inner !== 'string') this.scalar(inner, this.frame);
      else if (
        known &&
        (markNames.has(name) || (name === 'data' && members.type === 'redacted_thinking')) &&
        byRandom.test(inner)
      )
        this.marks.push(inner);
      else this.string(inner, name, members, key, owner, false);
    }
  }

  private object(value: object, key: string): void {
    this.objects.push(value);
    this.within(value, key);
  }

  private within(value: unknown, key: string): void {
    if (typeof value === 'string') {
      (frameNames.has(key) ? this.objectFrame : this.objectTexts).push(value);
      return;
    }
    if (typeof value !== 'object' || value === null) {
      this.scalar(value, this.objectFrame);
      return;
    }
    if (Array.isArray(value)) {
      for (const item of value) this.within(item, key);
      return;
    }
    const members = value as Members;
    const mark = looseName(key);
    if (cacheMarks.has(mark)) this.caches = longerCache(this.caches, lifeOf(mark, members));
    for (const name in members) {
      this.members++;
      this.features |= knownFeatures.get(name) ?? featureOf(name);
      this.objectFrame.push(name);
      this.within(members[name], name);
    }
  }

  private string(text: string, key: string, owner: Members, ownerKey: string, part: Members, leads: boolean): void {
    const found = leads && mediaKinds.has(key) ? mediaIn(text, { key, owner, ownerKey, part }) : null;
    if (found !== null) this.add(found);
    else (frameNames.has(key) ? this.frame : this.texts).push(text);
  }

  private scalar(value: unknown, frame: string[]): void {
    const text = String(value);
    frame.push(text);
    // 1e20 is written in full where the request is translated.
    if (typeof value === 'number') this.growth += Math.max(0, text.length - value.toExponential().length + 1);
  }

  private add({ bucket, max, fallback, units, words, small }: Found): void {
    const { bound } = this;
    this.media += fallback;
    bound.units += units;
    if (small === true) bound.small += max;
    if (words !== null) this.texts.push(words);
    if (bucket === 'file') bound.files = true;
    else if (bucket === 'words') this.growth += max;
    else bound.media = { ...bound.media, [bucket]: (bound.media[bucket] ?? 0) + max };
  }
}

/**
 * The dearest life that a mark may ask for. Five minutes are usual at Anthropic, where an hour costs more; OpenAI's thirty
 * cost what a short life does, and twelve hours more.
 */
function lifeOf(mark: string, control: Members): CacheTtl {
  const asks = (...short: readonly unknown[]) => anyAsks(control, 'ttl', (ttl) => ttl !== null && !short.includes(ttl));
  if (mark !== 'cachecontrol') return asks('5m', '30m') ? '12h' : '5m';
  if (!asks('5m')) return '5m';
  return anyAsks(control, 'ttl', (ttl) => ttl === '12h') ? '12h' : '1h';
}

const isNumbers = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'number');
const isTokens = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.length > 0 && (isNumbers(value) || value.every(isNumbers));

/** Members that name what the upstream has kept, or looks for, and reads with the prompt. */
const elsewhere = [
  'previous_response_id',
  'conversation',
  'cachedContent',
  'cached_content',
  'web_search_options',
] as const;

function continues(body: Members): boolean {
  for (const name of elsewhere) if (body[name] !== undefined && body[name] !== null) return true;
  const { prompt } = body;
  return typeof prompt === 'object' && prompt !== null && 'id' in prompt;
}

/** @param features that the request has whatever stands in this body. */
export function readPrompt(body: Members, features = 0): Prompt {
  const reader = new PromptReader();
  reader.features = features;
  reader.top(body);
  return reader;
}

/** Tokens that ordinary text takes at most: one per 2 UTF-16 units, plus framing. For rates and guesses; a hold needs `promptBound`. */
export function estimatedPromptTokens({
  texts,
  frame,
  marks,
  objectTexts,
  objectFrame,
  tokens,
  media,
}: Prompt): number {
  let words = 0;
  for (const text of texts) words += text.length;
  for (const text of objectTexts) words += text.length;
  for (const text of marks) words += text.length;
  let wrap = 0;
  for (const text of frame) wrap += text.length;
  for (const text of objectFrame) wrap += text.length;
  return Math.ceil(words / 2 + wrap / 4) + (texts.length + objectTexts.length) * 4 + tokens + media;
}

export function unitsOf(texts: readonly string[]): number {
  let units = 0;
  for (const text of texts) units += text.length;
  return units;
}

/** All that may be read as words, to be counted one by one: at their borders nothing becomes one token. */
export const countedTexts = ({ texts, frame, marks, objects }: Prompt): readonly string[] => [
  ...texts,
  ...frame,
  ...marks,
  ...objects.map((object) => JSON.stringify(object)),
];

/** No known encoding makes fewer tokens of ordinary text; of blanks and repetitions each makes what it likes. */
export const minCount = (texts: readonly string[]): number => {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return Math.ceil(bytes / 4);
};

export const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

/** Tokens of the text that providers put in front of a prompt: roles and turns, and a page about tools where there are any. */
const framingTokens = 16;
const toolTokens = 600;
/** `Document: 399` and the ends of its lines. */
const documentTokens = 8;

/** Names that documents beside a conversation get where they become words of the user, a line for each member (`protocols/shared/documents`). */
export function documentNames({ documents, messages }: Members): number {
  if (!Array.isArray(documents) || messages === undefined) return 0;
  let lines = 0;
  for (const document of documents) {
    const own = record(document);
    if (own !== null) lines += Object.keys(record(own.data) ?? own).length;
  }
  return documents.length * documentTokens + lines;
}

const framingOf = (body: Members): number =>
  framingTokens + (body.tools === undefined && body.functions === undefined ? 0 : toolTokens) + documentNames(body);

/**
 * Tokens of the words at most. No tokenizer makes more tokens than there are bytes, and the JSON of the request has at
 * least as many bytes as all the words, names and numbers in it.
 * @param bytes of the whole request.
 */
export const promptBound = ({ bound, growth }: Prompt, body: Members, bytes: number): number =>
  Math.max(0, bytes - bound.units) + growth + framingOf(body);

/** The same from a count of `countedTexts`. A turn's frame takes some 4 tokens. */
export const countedBound = ({ texts, objects, tokens }: Prompt, body: Members, counted: number): number =>
  Math.ceil(counted) + (texts.length + objects.length) * 4 + tokens + framingOf(body);
