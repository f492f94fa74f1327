/** What packages publish about models, as `npm run knowledge` writes it to data/models.json: prices by provider and model, bounds and abilities. */

/** Dollars per million tokens. What is absent is unknown, never free. */
export interface PriceSet {
  readonly input?: number;
  readonly output?: number;
  readonly cache_read?: number;
  /** By the lifetime of what is written: 5 and 30 minutes, one hour, twelve. */
  readonly write_5m?: number;
  readonly write_30m?: number;
  readonly write_1h?: number;
  readonly write_12h?: number;
  readonly audio_in?: number;
  readonly audio_out?: number;
  readonly image_in?: number;
  readonly image_out?: number;
  readonly video_in?: number;
  readonly video_out?: number;
  readonly thoughts?: number;
}

/** Prompts of more than `above` tokens cost this, the whole of them. A bound that is itself in the step is written one lower. */
export interface PriceStep extends PriceSet {
  readonly above: number;
}

/** A service tier or speed: one factor on everything, or prices where it is not one. */
export type TierPrice = number | { readonly price: PriceSet; readonly steps?: readonly PriceStep[] };

/** Holds from the first day to the last one, in UTC; what it does not name stays. */
export interface DatedPrice {
  readonly from: string;
  readonly until?: string;
  readonly price?: PriceSet;
  readonly steps?: readonly PriceStep[];
  readonly tiers?: Readonly<Record<string, TierPrice>>;
}

/** How a figure was decided. */
export type Decision = 'override' | 'agreed' | 'single' | 'dearer';

export interface ModelFacts {
  /** chat, embedding, rerank, image_generation, audio_speech, ... */
  readonly kind: string;
  readonly by: Decision;
  readonly price?: PriceSet;
  readonly steps?: readonly PriceStep[];
  /** priority, fast, flex, batch, ultrafast; `speed:fast` where it is no service tier. */
  readonly tiers?: Readonly<Record<string, TierPrice>>;
  readonly dates?: readonly DatedPrice[];
  /** What it costs at quieter hours; the dearer price stands in `price` and holds always. */
  readonly off_peak?: { readonly price: PriceSet; readonly hours: string };
  /** Dollars for one: picture, second, page, query, character, request. */
  readonly each?: Readonly<Record<string, number>>;
  /** Region -> factor. */
  readonly regions?: Readonly<Record<string, number>>;
  /** Tokens of prompt and answer together, of the longest prompt, of the longest answer. */
  readonly window?: number;
  readonly longest_input?: number;
  readonly longest_answer?: number;
  readonly takes?: readonly string[];
  readonly gives?: readonly string[];
  readonly endpoints?: readonly string[];
  readonly efforts?: readonly string[];
  /** tools, parallel_tools, tool_choice, forced_tool, system, mid_system, prefill, sampling, schema, reasoning, cache, web_search, computer. */
  readonly can?: readonly string[];
  readonly cannot?: readonly string[];
  /** Tokens of the shortest prompt that is cached. */
  readonly cache_from?: number;
  /** Day on which the provider takes it away, and what it names instead. */
  readonly retired?: string;
  readonly successor?: string;
}

export interface KnowledgeSource {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

export interface Knowledge {
  /** Day on which the packages were read. */
  readonly date: string;
  readonly sources: readonly KnowledgeSource[];
  /** Slug of a provider -> name of a model there -> facts. */
  readonly models: Readonly<Record<string, Readonly<Record<string, ModelFacts>>>>;
}

/** Members whose lists repeat: in the file they are numbers of `lists`. */
const interned = ['takes', 'gives', 'endpoints', 'efforts', 'can', 'cannot'] as const;

interface Packed {
  readonly date: string;
  readonly sources: readonly KnowledgeSource[];
  readonly lists: readonly (readonly string[])[];
  readonly models: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;
}

/** @returns the text of data/models.json: one line a model, lists interned. */
export function packKnowledge({ date, sources, models }: Knowledge): string {
  const lists: (readonly string[])[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (list: readonly string[]): number => {
    const key = list.join('\n');
    const known = numbers.get(key) ?? lists.length;
    if (known === lists.length) {
      lists.push(list);
      numbers.set(key, known);
    }
    return known;
  };
  const packed = Object.entries(models).map(([provider, rows]) => {
    const lines = Object.entries(rows).map(([name, facts]) => {
      const row: Record<string, unknown> = { ...facts };
      for (const member of interned) {
        const list = facts[member];
        if (list !== undefined) row[member] = numberOf(list);
      }
      return `${JSON.stringify(name)}:${JSON.stringify(row)}`;
    });
    return `${JSON.stringify(provider)}:{\n${lines.join(',\n')}\n}`;
  });
  return `{"date":${JSON.stringify(date)},\n"sources":${JSON.stringify(sources)},\n"lists":${JSON.stringify(lists)},\n"models":{\n${packed.join(',\n')}\n}}\n`;
}

export function unpackKnowledge(text: string): Knowledge {
  const { date, sources, lists, models } = JSON.parse(text) as Packed;
  const unpacked: Record<string, Record<string, ModelFacts>> = {};
  for (const [provider, rows] of Object.entries(models)) {
    const own: Record<string, ModelFacts> = {};
    for (const [name, row] of Object.entries(rows)) {
      const facts: Record<string, unknown> = { ...row };
      for (const member of interned) {
        const number = facts[member];
        if (typeof number === 'number') facts[member] = lists[number];
      }
      own[name] = facts as unknown as ModelFacts;
    }
    unpacked[provider] = own;
  }
  return { date, sources, models: unpacked };
}
