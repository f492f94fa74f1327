/** Pictures: what an order of them costs at most, and what those that were made cost. */
import { quotaOf } from '../../contract/pricing/charge.ts';
import {
  areaOf,
  type ImageOrder,
  imagePrices,
  isPaidByToken,
  pricedWords,
  tokensOfPicture,
} from '../../contract/pricing/images.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import type { ReserveSize } from '../../contract/pricing/reserve.ts';
import type { Usage } from '../../protocols/canonical.ts';
import { record } from '../../protocols/shared/json.ts';
import { anyAsks, looseName, valuesOf } from '../../protocols/shared/member-name.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import { ordered } from '../../routing/multipliers.ts';
import { withWrapped } from '../../routing/offers.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import { estimatedPromptTokens } from '../intake/prompt.ts';
import type { Operation } from '../intake/routes.ts';

const operations: ReadonlySet<Operation> = new Set<Operation>(['images', 'image_edits', 'image_variations']);
export const makesPictures = (operation: Operation): boolean => operations.has(operation);

/** Tokens of a picture that is shown while the next one is made. Source: OpenAI's image guide, streaming. */
const previewTokens = 100;
/** Tokens of a picture that an edit reads, and of those that most read. */
const imageRead = 5000;
const imagesRead = 4 * imageRead;
/** Pictures of a film that does not say how many it has. Source: OpenAI's images, frame_count. */
const usualFrames = 9;

/** Pictures that a request orders. */
const picturesOf = ({ operation, body }: ParsedRequest): number => ordered(operation, 'pictures', body);

const isFilm = (format: unknown): boolean => typeof format === 'string' && /^gif$/i.test(format);

/** Pictures of each of its films; 1 = it orders none. */
const framesOf = ({ operation, body }: ParsedRequest): number => {
  const films = withWrapped(body).some((object) => anyAsks(object, 'outputformat', isFilm));
  return ordered(operation, 'frames', body, films ? usualFrames : 1);
};

/** An order at the price of a picture. @param models what upstreams call the one model. */
export const orderedPictures = (parsed: ParsedRequest, prices: Prices, models: readonly string[]): Prices =>
  picturePrices(parsed, prices, null, models);

/** An order as far as it is paid by tokens. @param words tokens of the prompt. @param models what upstreams call the one model. */
export function sizeOfPictures(parsed: ParsedRequest, words: number, models: readonly string[]): ReserveSize {
  const { operation, body, form, prompt } = parsed;
  const each = Math.max(...ordersOf(parsed, null).map((order) => order.count * tokensOfPicture(order, models)));
  const previews = ordered(operation, 'previews', body, 0) * previewTokens;
  return {
    promptTokens: words,
    media: form === null ? prompt.bound.media : { imageInput: Math.max(imagesRead, form.files * imageRead) },
    maxTokens: each + picturesOf(parsed) * previews,
  };
}

/** Facts known of an answer when pictures are priced. */
export interface AnsweredPictures {
  /** The JSON of a whole answer, or what a stream would have been as one. */
  readonly body: unknown;
  /** The client did not wait for all of it: what was ordered is made all the same. */
  readonly left: boolean;
  /** Its tokens as counted here; null = they were not. */
  readonly counted: Usage | null;
}

/** Prices of the pictures that an answer delivered, and of those that were ordered by who left. */
export function deliveredPictures(
  parsed: ParsedRequest,
  prices: Prices,
  upstreamModel: string,
  { body, left, counted }: AnsweredPictures,
): Prices {
  const delivered = countOf(body);
  const count = delivered === null || !left ? delivered : Math.max(delivered, picturesOf(parsed));
  const each = picturePrices(parsed, prices, count, [upstreamModel]);
  const byTokens = counted !== null && prices.modelPrice === null && quotaOf(counted, prices) > quotaOf(counted, each);
  return byTokens ? prices : each;
}

/** Tokens of what was made, where pictures are paid so: all others are paid by the piece. Only models that write tokens stream them. */
export function writtenPictures(parsed: ParsedRequest, { body, left }: Omit<AnsweredPictures, 'counted'>): Usage {
  const count = Math.max(countOf(body) ?? 0, left ? picturesOf(parsed) : 0);
  if (count === 0 || !(isPaidByToken(parsed.model) || (parsed.stream && body !== null)))
    return { ...emptyUsage, input: 1 };
  const written = ordersOf(parsed, count).map((order) => order.count * tokensOfPicture(order, [parsed.model]));
  return { ...emptyUsage, input: Math.max(1, estimatedPromptTokens(parsed.prompt)), output: Math.max(0, ...written) };
}

/** An absent member, or one that is no word, means the usual value; so does one in another place for those who look at its place alone. */
function wordsIn(objects: readonly ParsedRequest['body'][], exact: string): readonly string[] {
  const words = objects
    .flatMap((object) => valuesOf(object, looseName(exact)))
    .map((value) => (typeof value === 'string' ? value : ''));
  return typeof objects[0]?.[exact] === 'string' ? words : ['', ...words];
}

/** Every order that an upstream may read. @param delivered pictures in the answer; null = as many as were requested. */
function ordersOf(parsed: ParsedRequest, delivered: number | null): readonly ImageOrder[] {
  const objects = withWrapped(parsed.body);
  const count = (delivered ?? picturesOf(parsed)) * framesOf(parsed);
  const qualities = differing(wordsIn(objects, 'quality'));
  const sizes = differing(wordsIn(objects, 'size'));
  return sizes.flatMap((size) => qualities.map((quality) => ({ size, quality, count })));
}

/** A caller may write thousands of words: of those that cost alike the one for the largest picture is enough. */
function differing(words: readonly string[]): readonly string[] {
  const found = new Set<string>();
  let other: string | null = null;
  for (const word of words) {
    if (pricedWords.has(word)) found.add(word);
    else if (other === null || areaOf(word) > areaOf(other)) other = word;
  }
  return other === null ? [...found] : [...found, other];
}

/** @param delivered pictures in the answer; null = as many as were requested. @param models what upstreams call it: some of them cost more by quality, whatever name they are sold under. */
function picturePrices(
  parsed: ParsedRequest,
  prices: Prices,
  delivered: number | null,
  models: readonly string[],
): Prices {
  const orders = ordersOf(parsed, delivered);
  let most: Prices | null = null;
  for (const model of [parsed.model, ...models])
    for (const order of orders) {
      const own = imagePrices(prices, model, order);
      if (most === null || own.priceFactor > most.priceFactor) most = own;
    }
  return most ?? prices;
}

const countOf = (body: unknown): number | null => {
  const data = (body as { data?: unknown } | null)?.data;
  if (!Array.isArray(data) || data.length === 0) return null;
  // One of several pictures may have failed.
  return data.filter((item) => record(record(item)?.error) === null).length;
};
