/** Rows of the packages in one shape: dollars per million tokens, and facts under our names. */
import type { DatedPrice, ModelFacts, PriceSet, PriceStep, TierPrice } from './facts.ts';

export type Row = Readonly<Record<string, unknown>>;
export type Facts = Omit<ModelFacts, 'by'>;
type Key = keyof PriceSet;
type Tiers = Record<string, { price: PriceSet; steps?: readonly PriceStep[] }>;

const digits = 10;
const exact = (value: number): number => Number(value.toPrecision(digits));
export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;
const filled = <T extends object>(value: T): T | undefined => (Object.keys(value).length === 0 ? undefined : value);
const withoutGaps = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;

/** LiteLLM's names of what a token costs. */
const tokenCosts: Readonly<Record<string, Key>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cache_read',
  input_cost_per_token_cache_hit: 'cache_read',
  cache_creation_input_token_cost: 'write_5m',
  cache_creation_input_token_cost_above_1hr: 'write_1h',
  cache_creation_input_token_cost_above_12hr: 'write_12h',
  input_cost_per_audio_token: 'audio_in',
  output_cost_per_audio_token: 'audio_out',
  input_cost_per_image_token: 'image_in',
  output_cost_per_image_token: 'image_out',
  input_cost_per_video_token: 'video_in',
  output_cost_per_video_token: 'video_out',
  output_cost_per_reasoning_token: 'thoughts',
};
const eachCosts: Readonly<Record<string, string>> = {
  output_cost_per_image: 'picture',
  input_cost_per_image: 'picture_in',
  output_cost_per_second: 'second',
  input_cost_per_second: 'second_in',
  output_cost_per_video_per_second: 'second',
  ocr_cost_per_page: 'page',
  annotation_cost_per_page: 'annotated_page',
  input_cost_per_query: 'query',
  input_cost_per_character: 'character_in',
  output_cost_per_character: 'character',
  input_cost_per_request: 'request',
  google_maps_grounding_cost_per_query: 'map_query',
};
const tierNames: Readonly<Record<string, string>> = {
  batches: 'batch',
  flex: 'flex',
  priority: 'priority',
  ultrafast: 'ultrafast',
};
/** `..._above_272k_tokens`, then the tier. */
const shape = /^(.*?)(?:_above_(\d+)k_tokens)?(?:_(batches|flex|priority|ultrafast))?$/;
const thousand = 1000;
const million = 1e6;

const abilities: Readonly<Record<string, string>> = {
  supports_function_calling: 'tools',
  supports_parallel_function_calling: 'parallel_tools',
  supports_tool_choice: 'tool_choice',
  supports_forced_tool_use: 'forced_tool',
  supports_system_messages: 'system',
  supports_mid_conversation_system: 'mid_system',
  supports_assistant_prefill: 'prefill',
  supports_sampling_params: 'sampling',
  supports_response_schema: 'schema',
  supports_reasoning: 'reasoning',
  supports_prompt_caching: 'cache',
  supports_web_search: 'web_search',
  supports_computer_use: 'computer',
  thinking_always_on: 'always_thinks',
};
const inputs: readonly (readonly [flag: string, modality: string])[] = [
  ['supports_vision', 'image'],
  ['supports_audio_input', 'audio'],
  ['supports_video_input', 'video'],
  ['supports_pdf_input', 'file'],
];
const effortFlags = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const list = (value: unknown): readonly string[] | undefined => {
  const texts = Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
  return texts.length === 0 ? undefined : texts;
};

/** Factors where one holds for all, else the prices. */
function tiersOf(tiers: Tiers, price: PriceSet, steps: readonly PriceStep[]): Record<string, TierPrice> | undefined {
  const made: Record<string, TierPrice> = {};
  for (const [name, tier] of Object.entries(tiers)) {
    if (tier.price.input === undefined && tier.price.output === undefined) continue;
    const factors = new Set<number>();
    const compare = (own: PriceSet, ordinary: PriceSet | undefined) => {
      for (const [key, value] of Object.entries(own)) {
        const base = ordinary?.[key as Key];
        if (key !== 'above' && base !== undefined) factors.add(Number((value / base).toFixed(6)));
      }
    };
    compare(tier.price, price);
    for (const step of tier.steps ?? [])
      compare(
        step,
        steps.find(({ above }) => above === step.above),
      );
    const [factor] = factors;
    made[name] = factors.size === 1 && factor !== undefined ? factor : withoutGaps(tier);
  }
  return filled(made);
}

interface Stepped {
  price: Record<string, number>;
  steps: Map<number, Record<string, number>>;
}
const stepped = (): Stepped => ({ price: {}, steps: new Map() });
const stepsOf = ({ steps }: Stepped): readonly PriceStep[] =>
  [...steps].sort(([a], [b]) => a - b).map(([above, price]) => ({ above, ...price }));

function pricesOfLitellm(row: Row): Pick<Facts, 'price' | 'steps' | 'tiers'> {
  const base = stepped();
  const tiers = new Map<string, Stepped>();
  for (const [member, value] of Object.entries(row)) {
    const cost = number(value);
    const [, name = '', above, tier] = shape.exec(member) ?? [];
    const key = tokenCosts[name];
    if (cost === undefined || key === undefined) continue;
    const target = tier === undefined ? base : (tiers.get(tier) ?? stepped());
    if (tier !== undefined) tiers.set(tier, target);
    const bound = Number(above) * thousand;
    const own = above === undefined ? target.price : (target.steps.get(bound) ?? {});
    own[key] = exact(cost * million);
    if (above !== undefined) target.steps.set(bound, own);
  }
  // Ranges, each whole: the first is the ordinary price.
  for (const part of Array.isArray(row.tiered_pricing) ? row.tiered_pricing.filter(isRow) : []) {
    const from = Array.isArray(part.range) ? Number(part.range[0]) : 0;
    const { price } = pricesOfLitellm(Object.fromEntries(Object.entries(part).filter(([key]) => key !== 'range')));
    if (price === undefined) continue;
    if (from === 0) Object.assign(base.price, price);
    else base.steps.set(from, price as Record<string, number>);
  }
  // Who sells twelve hours sells thirty minutes at the plain price.
  for (const price of [base, ...tiers.values()].flatMap((own) => [own.price, ...own.steps.values()]))
    if (price.write_12h !== undefined && price.write_5m !== undefined) price.write_30m = price.write_5m;
  const steps = stepsOf(base);
  const named = Object.fromEntries(
    [...tiers].map(([tier, own]) => [
      tierNames[tier] ?? tier,
      withoutGaps({ price: own.price as PriceSet, steps: filled(stepsOf(own)) }),
    ]),
  ) as Tiers;
  const speed = isRow(row.provider_specific_entry) ? number(row.provider_specific_entry.fast) : undefined;
  const found = { ...tiersOf(named, base.price, steps), ...(speed === undefined ? {} : { 'speed:fast': speed }) };
  return withoutGaps({ price: filled(base.price as PriceSet), steps: filled(steps), tiers: filled(found) });
}

export function factsOfLitellm(row: Row): Facts {
  const kind = typeof row.mode === 'string' ? row.mode : 'chat';
  const each: Record<string, number> = {};
  for (const [member, value] of Object.entries(row)) {
    const name = eachCosts[member];
    const cost = number(value);
    if (name !== undefined && cost !== undefined) each[name] = exact(cost);
  }
  const searches = isRow(row.search_context_cost_per_query) ? Object.values(row.search_context_cost_per_query) : [];
  const search = Math.max(0, ...searches.map((value) => number(value) ?? 0));
  if (search > 0) each.search = search;
  const regions: Record<string, number> = {};
  for (const [member, value] of Object.entries(row)) {
    const region = /^regional_processing_uplift_multiplier_(\w+)$/.exec(member)?.[1];
    const factor = number(value);
    if (region !== undefined && factor !== undefined) regions[region] = factor;
  }
  const geo = isRow(row.provider_specific_entry) ? number(row.provider_specific_entry.us) : undefined;
  if (geo !== undefined) regions.us = geo;
  const can: string[] = [];
  const cannot: string[] = [];
  for (const [flag, name] of Object.entries(abilities)) {
    if (row[flag] === true) can.push(name);
    else if (row[flag] === false) cannot.push(name);
  }
  const takes =
    list(row.supported_modalities) ??
    (kind === 'chat' || kind === 'responses'
      ? ['text', ...inputs.flatMap(([flag, name]) => (row[flag] === true ? [name] : []))]
      : undefined);
  const withFile =
    takes !== undefined && row.supports_pdf_input === true && !takes.includes('file') ? [...takes, 'file'] : takes;
  const named = list(row.reasoning_effort_levels);
  const flagged = effortFlags.filter((effort) => row[`supports_${effort}_reasoning_effort`] === true);
  const refused = effortFlags.filter((effort) => row[`supports_${effort}_reasoning_effort`] === false);
  const ordinary = ['low', 'medium', 'high'];
  const efforts =
    named ??
    (flagged.length + refused.length > 0 && row.supports_reasoning === true
      ? effortFlags.filter((one) => flagged.includes(one) || (ordinary.includes(one) && !refused.includes(one)))
      : undefined);
  const peak = isRow(row.off_peak_pricing) ? pricesOfLitellm(row.off_peak_pricing).price : undefined;
  return withoutGaps({
    kind,
    ...pricesOfLitellm(row),
    off_peak: peak === undefined ? undefined : { price: peak, hours: hoursOf(row.off_peak_pricing) },
    each: filled(each),
    regions: filled(regions),
    longest_input: number(row.max_input_tokens),
    longest_answer: number(row.max_output_tokens),
    takes: withFile,
    gives: list(row.supported_output_modalities),
    endpoints: list(row.supported_endpoints),
    efforts,
    can: filled(can),
    cannot: filled(cannot),
    cache_from: number(row.prompt_cache_min_tokens),
    retired: typeof row.deprecation_date === 'string' ? row.deprecation_date : undefined,
    successor: typeof row.successor_model === 'string' ? row.successor_model : undefined,
  });
}

function hoursOf(pricing: unknown): string {
  const windows = isRow(pricing) && Array.isArray(pricing.windows) ? pricing.windows.filter(isRow) : [];
  return windows
    .map(({ hours_utc: hours, weekdays }) => {
      const times = Array.isArray(hours) ? hours.join(',') : String(hours);
      return Array.isArray(weekdays) ? `${times} UTC on days ${weekdays.join(',')}` : `${times} UTC`;
    })
    .join('; ');
}

const genaiCosts: Readonly<Record<string, Key>> = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'cache_read',
  cache_write_mtok: 'write_5m',
  cache_write_1h_mtok: 'write_1h',
  input_audio_mtok: 'audio_in',
  output_audio_mtok: 'audio_out',
  input_image_mtok: 'image_in',
  output_image_mtok: 'image_out',
  input_video_mtok: 'video_in',
  output_video_mtok: 'video_out',
  output_reasoning_mtok: 'thoughts',
};
const genaiEach: Readonly<Record<string, readonly [name: string, of: number]>> = {
  input_document_kpages: ['page', thousand],
  input_annotated_document_kpages: ['annotated_page', thousand],
  requests_kcount: ['request', thousand],
  web_searches_kcount: ['search', thousand],
  audio_hours: ['second', 3600],
  input_audio_hours: ['second_in', 3600],
};

function genaiPrices(row: Row): { price: PriceSet; steps: readonly PriceStep[]; each: Record<string, number> } {
  const base = stepped();
  const each: Record<string, number> = {};
  for (const [member, value] of Object.entries(row)) {
    const unit = genaiEach[member];
    const flat = number(value);
    if (unit !== undefined && flat !== undefined) each[unit[0]] = exact(flat / unit[1]);
    const key = genaiCosts[member];
    if (key === undefined) continue;
    if (flat !== undefined) base.price[key] = exact(flat);
    if (!isRow(value)) continue;
    const start = number(value.base);
    if (start !== undefined) base.price[key] = exact(start);
    for (const tier of Array.isArray(value.tiers) ? value.tiers.filter(isRow) : []) {
      const [above, price] = [Number(tier.start), number(tier.price)];
      if (price === undefined) continue;
      base.steps.set(above, { ...base.steps.get(above), [key]: exact(price) });
    }
  }
  return { price: base.price as PriceSet, steps: stepsOf(base), each };
}

const dearer = (one: PriceSet, other: PriceSet): PriceSet =>
  Object.fromEntries(
    [...new Set([...Object.keys(one), ...Object.keys(other)])].map((key) => [
      key,
      Math.max(one[key as Key] ?? 0, other[key as Key] ?? 0),
    ]),
  );

/** @param today what begins later is a price with a date; of prices by the hour the dearest holds. */
export function factsOfGenai(model: Row, today: string): Facts {
  const listed = Array.isArray(model.prices)
    ? model.prices.filter(isRow)
    : isRow(model.prices)
      ? [{ prices: model.prices }]
      : [];
  let held: ReturnType<typeof genaiPrices> | null = null;
  let hourly: PriceSet | null = null;
  const hours: string[] = [];
  const dates: DatedPrice[] = [];
  for (const { constraint, prices } of listed as readonly Row[]) {
    const own = genaiPrices(isRow(prices) ? prices : {});
    const from = isRow(constraint) ? constraint.start_date : undefined;
    const time = isRow(constraint) ? constraint.start_time : undefined;
    if (typeof time === 'string') {
      hourly = hourly === null ? own.price : dearer(hourly, own.price);
      hours.push(`${time.slice(0, 5)}-${String((constraint as Row).end_time).slice(0, 5)}`);
    } else if (typeof from === 'string' && from > today) {
      dates.push(withoutGaps({ from, price: own.price, steps: filled(own.steps) }));
    } else held = own;
  }
  const base = held ?? { price: {}, steps: [], each: {} };
  const price = hourly === null ? base.price : dearer(base.price, hourly);
  const tiers: Tiers = {};
  for (const variant of Array.isArray(model.price_variants) ? model.price_variants.filter(isRow) : []) {
    const when = isRow(variant.when) ? variant.when : {};
    const name =
      when.processing === 'batch'
        ? 'batch'
        : typeof when.service_tier === 'string'
          ? when.service_tier
          : when.speed === 'fast'
            ? 'speed:fast'
            : 'default';
    const from = isRow(variant.constraint) ? variant.constraint.start_date : undefined;
    if (name === 'default' || name in tiers || (typeof from === 'string' && from > today)) continue;
    const own = genaiPrices(isRow(variant.prices) ? variant.prices : {});
    tiers[name] = withoutGaps({ price: own.price, steps: filled(own.steps) });
  }
  return withoutGaps({
    kind: 'chat',
    price: filled(price),
    steps: filled(base.steps),
    tiers: tiersOf(tiers, price, base.steps),
    dates: filled(dates),
    off_peak: hourly === null ? undefined : { price: base.price, hours: `outside of ${hours.join(', ')} UTC` },
    each: filled(base.each),
    window: number(model.context_window),
  });
}

/** Our provider -> names in the packages: providers of litellm with the prefix of their names, provider of genai-prices. */
export const packageProviders: Readonly<
  Record<
    string,
    { readonly litellm: Readonly<Record<string, string>>; readonly genai?: readonly string[]; readonly only?: RegExp }
  >
> = {
  openai: {
    litellm: { openai: 'openai/', 'text-completion-openai': '' },
    genai: ['openai'],
    only: /^(?!gpt-oss|openai\/)/,
  },
  anthropic: { litellm: { anthropic: '' }, genai: ['anthropic'] },
  gemini: {
    litellm: { gemini: 'gemini/' },
    genai: ['google'],
    only: /^(?:gemini|gemma|imagen|veo|lyria|deep-research|learnlm|nano)/,
  },
  xai: { litellm: { xai: 'xai/' }, genai: ['x-ai'] },
  deepseek: { litellm: { deepseek: 'deepseek/' }, genai: ['deepseek'] },
  moonshot: { litellm: { moonshot: 'moonshot/' }, genai: ['moonshotai'] },
  'zhipu-v4': { litellm: { zai: 'zai/' }, genai: ['zai'] },
  minimax: { litellm: { minimax: 'minimax/' }, genai: ['minimax'] },
  ali: { litellm: { dashscope: 'dashscope/' } },
  mistral: { litellm: { mistral: 'mistral/' }, genai: ['mistral'] },
  cohere: { litellm: { cohere: 'cohere/', cohere_chat: '' }, genai: ['cohere'] },
  perplexity: {
    litellm: { perplexity: 'perplexity/' },
    genai: ['perplexity'],
    only: /^(?!.*\/|.*-online$|pplx-\d|codellama|llama|mi[sx]tral)/,
  },
  jina: { litellm: { jina_ai: 'jina_ai/' } },
  volcengine: { litellm: { volcengine: 'volcengine/' } },
  tencent: { litellm: { tencent: 'tencent/' } },
  cloudflare: { litellm: { cloudflare: 'cloudflare/' }, genai: ['cloudflare'] },
  nvidia: { litellm: { nvidia_nim: 'nvidia_nim/' } },
  groq: { litellm: { groq: 'groq/' }, genai: ['groq'] },
  cerebras: { litellm: { cerebras: 'cerebras/' }, genai: ['cerebras'] },
  together: { litellm: { together_ai: 'together_ai/' }, genai: ['together'] },
  fireworks: {
    litellm: { fireworks_ai: 'fireworks_ai/', 'fireworks_ai-embedding-models': 'fireworks_ai/' },
    genai: ['fireworks'],
  },
  openrouter: { litellm: {}, genai: ['openrouter'] },
  azure: { litellm: { azure: 'azure/', azure_ai: 'azure_ai/' }, genai: ['azure'], only: /^[^/]*$/ },
  aws: {
    litellm: { bedrock: '', bedrock_converse: '' },
    genai: ['aws'],
    only: /^(?!.*\/|us-gov|(?:us|eu|apac|au|jp|ca|sa|global)\.)/,
  },
  vertex: {
    litellm: {
      'vertex_ai-language-models': 'vertex_ai/',
      'vertex_ai-anthropic_models': 'vertex_ai/',
      'vertex_ai-mistral_models': 'vertex_ai/',
      'vertex_ai-llama_models': 'vertex_ai/',
      'vertex_ai-embedding-models': '',
      vertex_ai: 'vertex_ai/',
    },
    genai: ['google'],
  },
};

/** `high/1024-x-1024/gpt-image-1`: what one picture costs, which is a price of a tool here. */
export const isPictureSize = (name: string): boolean => /(?:^|\/)\d+-x-\d+\//.test(name);
