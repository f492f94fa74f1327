/** What each operation costs at most before it runs, and what it did cost when the upstream does not say. */
import { imagePrices } from '../contract/pricing-images.ts';
import type { Prices } from '../contract/pricing-tables.ts';
import type { Usage } from '../protocols/canonical.ts';
import type { UpstreamHalf } from '../protocols/codec.ts';
import { record } from '../protocols/shared/json.ts';
import { emptyUsage, tokenCount } from '../protocols/shared/usage.ts';
import { audioSeconds } from './audio-length.ts';
import type { TokenCounter } from './counting/counter.ts';
import type { Inquiry } from './exchange.ts';
import type { Operation } from './operations.ts';
import { boundPromptTokens, countMedia } from './prompt.ts';
import type { Told } from './told.ts';

export interface Estimate {
  readonly prices: Prices;
  readonly promptTokens: number;
  readonly maxTokens: number;
}

/** An answer as far as its price depends on it. */
export interface Delivered {
  /** The JSON of a whole answer, else null. */
  readonly body: unknown;
  /** Words the client received. */
  readonly told: Told;
}

/** Source: backend-reference 4.7. */
const tokensPerMinute = 1000;
const textOut: ReadonlySet<Operation> = new Set<Operation>(['chat', 'completions', 'realtime']);
const pictures: ReadonlySet<Operation> = new Set<Operation>(['images', 'image_edits', 'image_variations']);
const recordings: ReadonlySet<Operation> = new Set<Operation>(['transcriptions', 'translations']);

/** @param preConsumed tokens held for an answer whose length nobody named. */
export function estimate(inquiry: Inquiry, prices: Prices, preConsumed: number): Estimate {
  const { operation } = inquiry;
  if (pictures.has(operation)) return { prices: picturePrices(inquiry, prices, null), promptTokens: 1, maxTokens: 0 };
  if (recordings.has(operation)) {
    return { prices, promptTokens: Math.max(1, recordingTokens(inquiry)), maxTokens: 0 };
  }
  if (operation === 'speech') return { prices, promptTokens: spokenLength(inquiry), maxTokens: 0 };
  return {
    prices,
    promptTokens: boundPromptTokens(inquiry.prompt),
    maxTokens: textOut.has(operation) ? (maxTokensOf(inquiry.body) ?? preConsumed) : 0,
  };
}

/** Usage in a whole answer. @returns null when it reports none or nonsense. */
export function reportedUsage(inquiry: Inquiry, upstream: UpstreamHalf, body: unknown): Usage | null {
  const told = upstream.readUsage(body);
  if (told !== null || inquiry.operation !== 'rerank') return told;
  const total = tokenCount(record(record(body)?.usage)?.total_tokens);
  return total === null || total === 0 ? null : { ...emptyUsage, input: total };
}

/** The prices the answer is charged by: pictures without a reported usage are paid by the piece. */
export function finalPrices(inquiry: Inquiry, prices: Prices, usage: Usage | null, body: unknown): Prices {
  const byPiece = pictures.has(inquiry.operation) && (usage === null || prices.modelPrice !== null);
  return byPiece ? picturePrices(inquiry, prices, countOf(body)) : prices;
}

/** @returns what the client asked for and received, counted here. */
export async function countLocally(counter: TokenCounter, inquiry: Inquiry, delivered: Delivered): Promise<Usage> {
  const { operation, prompt } = inquiry;
  if (pictures.has(operation)) return { ...emptyUsage, input: 1 };
  if (operation === 'speech') return { ...emptyUsage, input: spokenLength(inquiry) };
  if (recordings.has(operation)) return { ...emptyUsage, input: recordingTokens(inquiry, delivered) };
  const { texts, units } = delivered.told;
  const written = textOut.has(operation) ? texts.join('') : '';
  const [promptTokens = 0, outputTokens = 0] = await counter.count(inquiry.model, [prompt.texts.join('\n'), written]);
  // 3 tokens of framing per message and 3 for the reply; source: backend-reference 3.13.
  const framing = operation === 'chat' ? 6 : 0;
  // What was not kept is counted like what was.
  const output =
    written.length < units && written !== '' ? Math.ceil((outputTokens * units) / written.length) : outputTokens;
  return { ...emptyUsage, input: Math.ceil(promptTokens + countMedia(prompt) + framing), output };
}

const wholeNumber = (value: unknown): number | null => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.ceil(number) : null;
};

/** Largest answer the client asked for, all candidates together; null when it set no limit. */
export function maxTokensOf(body: Readonly<Record<string, unknown>>): number | null {
  const config = record(body.generationConfig ?? body.generation_config);
  const asked = [
    body.max_tokens,
    body.max_completion_tokens,
    body.max_output_tokens,
    config?.maxOutputTokens,
    config?.max_output_tokens,
  ].flatMap((value) => (typeof value === 'number' ? (wholeNumber(value) ?? []) : []));
  return asked.length === 0 ? null : Math.max(...asked) * choicesOf(body);
}

/** Answers asked for at once. */
export function choicesOf(body: Readonly<Record<string, unknown>>): number {
  const config = record(body.generationConfig ?? body.generation_config);
  const asked = [body.n, body.best_of, config?.candidateCount, config?.candidate_count];
  return Math.min(Math.max(1, ...asked.map((value) => wholeNumber(value) ?? 1)), 128);
}

/** @param delivered pictures in the answer; null = as many as were asked for. */
function picturePrices(inquiry: Inquiry, prices: Prices, delivered: number | null): Prices {
  const { body } = inquiry;
  return imagePrices(prices, inquiry.model, {
    size: typeof body.size === 'string' ? body.size : '',
    quality: typeof body.quality === 'string' ? body.quality : '',
    count: delivered ?? Math.min(wholeNumber(body.n) ?? 1, 128),
  });
}

const countOf = (body: unknown): number | null => {
  const data = (body as { data?: unknown } | null)?.data;
  return Array.isArray(data) && data.length > 0 ? data.length : null;
};

/** Speech is priced by the character. Source: backend-reference 4.7. */
const spokenLength = (inquiry: Inquiry): number =>
  Math.max(1, typeof inquiry.body.input === 'string' ? [...inquiry.body.input].length : 0);

function recordingTokens(inquiry: Inquiry, delivered?: Delivered): number {
  const told = delivered === undefined ? null : (toldSeconds(delivered.body) ?? subtitleSeconds(delivered.told.texts));
  const { form } = inquiry;
  const seconds = told ?? (form?.file == null ? 60 : audioSeconds(form.file, form.fileSize()));
  return Math.round((Math.ceil(seconds) / 60) * tokensPerMinute);
}

const toldSeconds = (body: unknown): number | null => {
  const answer = body as { duration?: unknown; usage?: { seconds?: unknown } | null } | null;
  const value = Number(answer?.usage?.seconds ?? answer?.duration ?? Number.NaN);
  return Number.isFinite(value) && value >= 0 ? value : null;
};

const timestamp = /(\d{1,3}):(\d{2}):(\d{2})[.,]\d{3}/g;

/** The last moment that subtitles name. */
function subtitleSeconds(texts: readonly string[]): number | null {
  let last: number | null = null;
  for (const [, hours, minutes, seconds] of texts.join('').matchAll(timestamp)) {
    last = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + 1;
  }
  return last;
}
