/** What tokens are counted in: one row a bucket. Charges, holds, bills, log rows, options and price lists are loops over these rows. */

import { completionRatioFor } from './completion-rules.ts';
import { ratioOf, scale, timesScaled, toScaled } from './decimal.ts';

/** The family's fixed ratios of sound, used where no table names the model. */
const audioRules: readonly (readonly [matches: (model: string) => boolean, ratio: number])[] = [
  [(m) => m.includes('-realtime') && m.endsWith('gpt-4o-realtime-preview-2024-12-17'), 8],
  [(m) => m.includes('-realtime') && m.includes('mini'), 50 / 3],
  [(m) => m.includes('-realtime'), 20],
  [(m) => m.includes('-audio') && m.endsWith('gpt-4o-audio-preview-2024-12-17'), 16],
  [(m) => m.includes('-audio') && m.includes('mini'), 200 / 3],
  [(m) => m.includes('-audio'), 40],
];

/** Sound read, against a text token read. */
const familyAudioRatio = (model: string): number | undefined => audioRules.find(([matches]) => matches(model))?.[1];

interface LocalizedText {
  readonly zh: string;
  readonly en: string;
}

/** Where prices of a model are set. */
interface PriceOption {
  readonly key: string;
  /** In published price lists, where it is not the name in a log row. */
  readonly published?: string;
  readonly label: LocalizedText;
  readonly help: LocalizedText;
}

/** Ratios of one model: what tables say, and what is known so far, in the order of the rows. */
interface Known {
  readonly set: Readonly<Record<string, number | undefined>>;
  readonly ratios: Readonly<Record<string, number>>;
}

/** A price of its own: how many times another bucket's a token costs. */
interface Ratio {
  /** Among the prices of a model. */
  readonly name: string;
  /** In a log row. */
  readonly field: string;
  /** The fact that says it in rows that name no such ratio; absent = 1. */
  readonly fallbackField?: string;
  /** The bucket it is measured against; absent = `input`. */
  readonly relativeTo?: string;
  /** The factor of a long prompt it moves with; absent = the input's. */
  readonly tier?: 'output' | 'cacheRead' | 'cacheWrite';
  /** null = it follows from others. */
  readonly option: PriceOption | null;
  /** Where no table names the model. */
  readonly fallback: (model: string, known: Known) => number;
}

interface BucketRow {
  /** Whether the model read or wrote it. */
  readonly side: 'prompt' | 'answer';
  /**
   * What of a request may be counted here before it runs: all words of it, words that ask for a cache of that life, or
   * what media it carries; of an answer: all of it, or what is wanted in that modality.
   */
  readonly reservedAs: 'words' | '5m' | '1h' | '12h' | 'media' | 'audio';
  /** Set where a dialect may count it beside the prompt. */
  readonly cache?: true;
  /** null = one, as a token of `input`; `like` = the price and the line of another bucket. */
  readonly price: Ratio | { readonly like: string } | null;
  /** How a bill names it. */
  readonly line: { readonly kind: LineKind; readonly detail?: string };
  /** In a log row; the number there is that of the bucket and of those it `includes`. */
  readonly field: string;
  readonly includes?: readonly string[];
  /** When a log row has it: absent = when there is some; a word = when there is some in any bucket of that word. */
  readonly logged?: 'always' | { readonly with: string };
  /** What older rows called it. */
  readonly legacyField?: string;
}

export type LineKind = 'input' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'cache_write_12h' | 'output';

/** Six decimals, so that what a log row shows is what was multiplied. The detour over 12 digits drops the noise of binary fractions. */
export const ratio = (value: number): number => ratioOf(Number(value.toPrecision(12))) ?? 0;

/** Disjoint: their sum is everything the model read and wrote. In the order of a bill. */
const bucketRows = {
  /** Input neither read from nor written to a cache, text only. */
  input: {
    side: 'prompt',
    reservedAs: 'words',
    price: null,
    line: { kind: 'input' },
    field: 'input',
    logged: 'always',
  },
  cacheRead: {
    side: 'prompt',
    reservedAs: 'words',
    cache: true,
    price: {
      name: 'cacheRatio',
      field: 'cache_ratio',
      tier: 'cacheRead',
      option: {
        key: 'CacheRatio',
        label: { zh: '缓存倍率', en: 'Cache read ratios' },
        help: {
          zh: '模型 → 命中缓存的输入相对输入价格的比例。',
          en: 'Model → share of the input price for cached input.',
        },
      },
      fallback: () => 1,
    },
    line: { kind: 'cache_read' },
    field: 'cache_tokens',
    logged: 'always',
  },
  /** Written to a cache that lives 5 or 30 minutes, which nobody sells both (also providers that name no lifetime). */
  cacheWrite5m: {
    side: 'prompt',
    reservedAs: '5m',
    cache: true,
    price: {
      name: 'cacheWriteRatio',
      field: 'cache_creation_ratio',
      tier: 'cacheWrite',
      option: {
        key: 'CreateCacheRatio',
        published: 'create_cache_ratio',
        label: { zh: '缓存写入倍率', en: 'Cache write ratios' },
        help: {
          zh: '模型 → 写入缓存的输入相对输入价格的比例。',
          en: 'Model → share of the input price for writing the cache.',
        },
      },
      fallback: () => 1.25,
    },
    line: { kind: 'cache_write' },
    field: 'cache_creation_tokens',
    includes: ['cacheWrite1h', 'cacheWrite12h'],
  },
  cacheWrite1h: {
    side: 'prompt',
    reservedAs: '1h',
    cache: true,
    price: {
      name: 'cacheWrite1hRatio',
      field: 'cache_creation_1h_ratio',
      tier: 'cacheWrite',
      option: {
        key: 'CreateCache1hRatio',
        published: 'create_cache_1h_ratio',
        label: { zh: '缓存写入倍率（1 小时）', en: 'Cache write ratios, one hour' },
        help: {
          zh: '模型 → 写入 1 小时缓存的输入相对输入价格的比例；未列出的为 5 分钟写入倍率的 1.6 倍。',
          en: 'Model → share of the input price for writing one hour; where none is set, 1.6 times that of five minutes.',
        },
      },
      // Where no list says: 2 against 1.25 times the input price, as Anthropic has it.
      fallback: (_model, { ratios }) => (ratios.cacheWriteRatio ?? 1.25) * 1.6,
    },
    line: { kind: 'cache_write_1h' },
    field: 'cache_write_1h',
  },
  cacheWrite12h: {
    side: 'prompt',
    reservedAs: '12h',
    cache: true,
    price: {
      name: 'cacheWrite12hRatio',
      field: 'cache_creation_12h_ratio',
      tier: 'cacheWrite',
      option: {
        key: 'CreateCache12hRatio',
        published: 'create_cache_12h_ratio',
        label: { zh: '缓存写入倍率（12 小时）', en: 'Cache write ratios, twelve hours' },
        help: {
          zh: '模型 → 写入 12 小时缓存的输入相对输入价格的比例；未列出的为短期写入倍率的 2 倍。',
          en: 'Model → share of the input price for writing twelve hours; where none is set, twice that of a short life.',
        },
      },
      // 2.5 against 1.25 times the input price, as OpenAI has it.
      fallback: (_model, { ratios }) => (ratios.cacheWriteRatio ?? 1.25) * 2,
    },
    line: { kind: 'cache_write_12h' },
    field: 'cache_write_12h',
  },
  audioInput: {
    side: 'prompt',
    reservedAs: 'media',
    price: {
      name: 'audioRatio',
      field: 'audio_ratio',
      option: {
        key: 'AudioRatio',
        label: { zh: '音频输入倍率', en: 'Audio input ratios' },
        help: {
          zh: '模型 → 音频输入相对文字输入的倍数。',
          en: 'Model → audio input price as a multiple of the input price.',
        },
      },
      fallback: (model) => familyAudioRatio(model) ?? 1,
    },
    line: { kind: 'input', detail: 'audio' },
    field: 'audio_input',
    logged: { with: 'audio' },
  },
  imageInput: {
    side: 'prompt',
    reservedAs: 'media',
    price: {
      name: 'imageRatio',
      field: 'image_ratio',
      option: {
        key: 'ImageRatio',
        label: { zh: '图片输入倍率', en: 'Image input ratios' },
        help: {
          zh: '模型 → 图片输入相对文字输入的倍数。',
          en: 'Model → image input price as a multiple of the input price.',
        },
      },
      fallback: () => 1,
    },
    line: { kind: 'input', detail: 'image' },
    // Pictures read, in the wire contract's name for them.
    field: 'image_output',
    logged: { with: 'image' },
    legacyField: 'image_input',
  },
  videoInput: {
    side: 'prompt',
    reservedAs: 'media',
    price: {
      name: 'videoRatio',
      field: 'video_ratio',
      option: {
        key: 'VideoRatio',
        label: { zh: '视频输入倍率', en: 'Video input ratios' },
        help: {
          zh: '模型 → 视频输入相对文字输入的倍数。',
          en: 'Model → video input price as a multiple of the input price.',
        },
      },
      fallback: () => 1,
    },
    line: { kind: 'input', detail: 'video' },
    field: 'video_input',
    logged: { with: 'video' },
  },
  /** Visible text output. */
  output: {
    side: 'answer',
    reservedAs: 'words',
    price: {
      name: 'completionRatio',
      field: 'completion_ratio',
      tier: 'output',
      option: {
        key: 'CompletionRatio',
        label: { zh: '补全倍率', en: 'Completion ratios' },
        help: {
          zh: '模型 → 输出价格是输入价格的多少倍。',
          en: 'Model → output price as a multiple of the input price.',
        },
      },
      fallback: (model) => completionRatioFor(model, undefined),
    },
    line: { kind: 'output' },
    field: 'output',
    includes: ['reasoning'],
    logged: 'always',
  },
  reasoning: {
    side: 'answer',
    reservedAs: 'words',
    price: { like: 'output' },
    line: { kind: 'output' },
    field: 'reasoning_tokens',
  },
  audioOutput: {
    side: 'answer',
    reservedAs: 'audio',
    price: {
      name: 'audioCompletionRatio',
      field: 'audio_completion_ratio',
      fallbackField: 'completion_ratio',
      relativeTo: 'audioInput',
      option: {
        key: 'AudioCompletionRatio',
        label: { zh: '音频补全倍率', en: 'Audio output ratios' },
        help: {
          zh: '模型 → 音频输出相对音频输入的倍数。',
          en: 'Model → audio output price as a multiple of the audio input price.',
        },
      },
      // Models without a price for sound: theirs costs what text costs.
      fallback: (model, { set, ratios }) =>
        (set.audioRatio ?? familyAudioRatio(model)) === undefined ? (ratios.completionRatio ?? 1) : 2,
    },
    line: { kind: 'output', detail: 'audio' },
    field: 'audio_output',
    logged: { with: 'audio' },
  },
} as const satisfies Readonly<Record<string, BucketRow>>;

type Rows = typeof bucketRows;
export type BucketName = keyof Rows;
/** Token counts by bucket. */
export type Buckets = Readonly<Record<BucketName, number>>;

type Named<Price> = Price extends { readonly name: string } ? Price : never;
type RatioRow = Named<Rows[BucketName]['price']>;
export type RatioName = RatioRow['name'];
/** The ratios of one model. */
export type BucketRatios = Readonly<Record<RatioName, number>>;
type SetRatio = RatioRow extends infer Row ? (Row extends { readonly option: PriceOption } ? Row : never) : never;
/** Ratios that have a table of their own. */
export type TableName = SetRatio['name'];
export type BucketOptionKey = SetRatio['option']['key'];
/** Buckets of what a prompt carries besides words. */
export type MediaBucket = {
  [Name in BucketName]: Rows[Name]['reservedAs'] extends 'media' ? Name : never;
}[BucketName];

export const bucketNames = Object.keys(bucketRows) as readonly BucketName[];
export const bucketRow = (name: BucketName): BucketRow => bucketRows[name];

const ratioIn = (name: BucketName): Ratio | null => {
  const { price } = bucketRow(name);
  return price !== null && 'name' in price ? price : null;
};

/** Every ratio once, in the order in which one may follow from another. */
export const ratioRows: readonly (Ratio & { readonly name: RatioName })[] = bucketNames.flatMap((name) => {
  const row = ratioIn(name);
  return row === null ? [] : [row as Ratio & { readonly name: RatioName }];
});

/** The options of buckets, with the table each is compiled to. */
export const bucketOptions: readonly (Omit<PriceOption, 'key'> & {
  readonly key: BucketOptionKey;
  readonly table: TableName;
  readonly field: string;
})[] = ratioRows.flatMap(({ name, field, option }) =>
  option === null ? [] : [{ ...option, key: option.key as BucketOptionKey, table: name as TableName, field: field }],
);

export const mediaBuckets = bucketNames.filter(
  (name) => bucketRow(name).reservedAs === 'media',
) as readonly MediaBucket[];
export const promptBuckets: readonly BucketName[] = bucketNames.filter((name) => bucketRow(name).side === 'prompt');
export const answerBuckets: readonly BucketName[] = bucketNames.filter((name) => bucketRow(name).side === 'answer');
const cacheBuckets: readonly BucketName[] = bucketNames.filter((name) => bucketRow(name).cache === true);

/** A number for each of a table's names. */
export const eachOf = <Name extends string, Value>(
  names: readonly Name[],
  value: (name: Name) => Value,
): Record<Name, Value> => Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, Value>;

const sumOf = (names: readonly BucketName[], usage: Buckets): number => {
  let sum = 0;
  for (const name of names) sum += usage[name];
  return sum;
};

/** Everything a model read. */
export const promptTokensOf = (usage: Buckets): number => sumOf(promptBuckets, usage);
/** Everything the model wrote, as the wire's completion_tokens. */
export const completionTokensOf = (usage: Buckets): number => sumOf(answerBuckets, usage);
/** What was read from caches or written to them. */
export const cacheTokensOf = (usage: Buckets): number => sumOf(cacheBuckets, usage);

/** The bucket whose price a bucket has. */
export const pricedAs = (name: BucketName): BucketName => {
  const { price } = bucketRow(name);
  return price !== null && 'like' in price ? (price.like as BucketName) : name;
};

/** What a token of a bucket weighs against one of `input`, scaled by 10^6. */
export function scaledWeight(prices: BucketRatios, name: BucketName): bigint {
  const row = ratioIn(pricedAs(name));
  if (row === null) return scale;
  const own = prices[row.name as RatioName];
  if (row.relativeTo === undefined) return toScaled(own);
  const against = ratioIn(row.relativeTo as BucketName);
  return against === null ? toScaled(own) : timesScaled(prices[against.name as RatioName], own);
}

/** The same as a number of six decimals. */
export function weightOf(prices: BucketRatios, name: BucketName): number {
  const row = ratioIn(pricedAs(name));
  if (row === null) return 1;
  return row.relativeTo === undefined ? prices[row.name as RatioName] : Number(scaledWeight(prices, name)) / 1e6;
}

/** All ratios of a model. @param set what the tables say of it. */
export function ratiosOf(model: string, set: (name: RatioName) => number | undefined): BucketRatios {
  const values = eachOf(
    ratioRows.map(({ name }) => name),
    set,
  );
  const ratios: Partial<Record<RatioName, number>> = {};
  for (const { name, fallback } of ratioRows)
    ratios[name] = values[name] ?? ratio(fallback(model, { set: values, ratios }));
  return ratios as BucketRatios;
}
