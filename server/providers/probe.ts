/** One small question that shows that a channel works: which of its models is asked, and what. */
import { bareName, modelLimits } from '../contract/model-limits.ts';
import { defaultPriceTables } from '../contract/pricing/defaults.ts';
import { resolvePrices } from '../contract/pricing/tables.ts';
import { allCodecs } from '../protocols/registry.ts';
import { type ProbeKind, type ProbeRow, probeRows } from './knowledge/probe.ts';
import type { Provider } from './provider.ts';

export interface Probe {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the rows say of a model. */
export interface ProbeInput {
  readonly kind: ProbeKind;
  readonly thinking: boolean;
  readonly last: boolean;
  readonly limitMember: string;
  readonly extra: Readonly<Record<string, unknown>>;
}

/** @param model as the upstream calls it. */
export function probeInput(provider: Provider, model: string): ProbeInput {
  const name = bareName(model);
  const rows = probeRows.filter(
    (row) => (row.provider === undefined || row.provider === provider.slug) && row.models.test(name),
  );
  const rowValue = <Key extends keyof ProbeRow>(key: Key): ProbeRow[Key] | undefined =>
    rows.findLast((row) => row[key] !== undefined)?.[key];
  return {
    kind: rowValue('kind') ?? 'chat',
    thinking: rowValue('thinking') === true,
    last: rowValue('last') === true,
    limitMember: rowValue('limitMember') ?? 'max_tokens',
    extra: rowValue('extra') ?? {},
  };
}

const shortLimit = 16;
/** Who thinks first must have room for it. */
const thoughtLimit = 512;
const limitOf = ({ thinking }: ProbeInput): number => (thinking ? thoughtLimit : shortLimit);

const chatOperations = new Set(allCodecs.map(({ definition }) => definition.chatOperation));

/** Cheapest kinds first; what is not here is asked for by name only. */
const kinds: readonly ProbeKind[] = [
  'chat',
  'completions',
  'responses',
  'embeddings',
  'rerank',
  'moderations',
  'speech',
];

function supports({ operations }: Provider, kind: ProbeKind): boolean {
  if (kind === 'chat') return operations.some((operation) => chatOperations.has(operation));
  const own =
    kind === 'embeddings' ? allCodecs.flatMap(({ definition }) => definition.embeddings?.operation ?? []) : [kind];
  return own.some((operation) => operations.includes(operation));
}

/** As a host, a maker and the list of prices may spell it. */
const namesOf = (model: string): readonly string[] => {
  const last = model.slice(model.lastIndexOf('/') + 1);
  return [model, last, bareName(last), bareName(last).replace('@', '-'), bareName(last).replace(/@.*$/, '')];
};

/** @returns dollars at list for one probe, before any price with a date; null = no price is known. */
export function probePrice(provider: Provider, model: string): number | null {
  const tables = defaultPriceTables(0);
  const prices = namesOf(model)
    .map((name) => resolvePrices(tables, name, { group: '', userGroup: '' }))
    .find((found) => found !== null);
  if (prices === undefined) return null;
  if (prices.modelPrice !== null) return prices.modelPrice;
  const details = probeInput(provider, model);
  const written = /^(?:chat|responses|completions|audio-chat)$/.test(details.kind) ? limitOf(details) : 0;
  return ((promptTokens + written * prices.completionRatio) * prices.modelRatio) / prices.quotaPerUnit;
}

/** A greeting and what stands around it. */
const promptTokens = 16;

interface Suited {
  readonly model: string;
  /** What decides, the first difference first. */
  readonly order: readonly number[];
}

/**
 * @param upstreamName what a channel's own name of a model is called there.
 * @returns the cheapest of a channel's models that answers a small question; null = none does.
 */
export function probeModel(
  provider: Provider,
  models: readonly string[],
  upstreamName: (model: string) => string = (model) => model,
): string | null {
  const suited = models.flatMap((model): Suited[] => {
    const name = upstreamName(model);
    const details = probeInput(provider, name);
    const rank = kinds.indexOf(details.kind);
    if (rank < 0 || !supports(provider, details.kind)) return [];
    const price = probePrice(provider, name) ?? Number.MAX_VALUE;
    return [{ model, order: [details.last ? 1 : 0, rank, modelLimits(name).known ? 0 : 1, price] }];
  });
  // Sorting keeps the order of equals.
  return suited.toSorted(byOrder)[0]?.model ?? null;
}

function byOrder(a: Suited, b: Suited): number {
  const at = a.order.findIndex((value, index) => value !== b.order[index]);
  return at < 0 ? 0 : (a.order[at] ?? 0) - (b.order[at] ?? 0);
}

/** The question. @param model as the channel lists it. @returns null when none can be asked in one small request. */
export function probeFor(
  provider: Provider,
  { model, upstream, stream }: { readonly model: string; readonly upstream: string; readonly stream: boolean },
): Probe | null {
  const details = probeInput(provider, upstream);
  const limit = limitOf(details);
  const ask = (path: string, body: Readonly<Record<string, unknown>>): Probe => ({
    path,
    body: { model, ...body, ...details.extra },
  });
  switch (details.kind) {
    case 'chat':
    case 'audio-chat':
    case 'research': {
      const messages = [{ role: 'user', content: 'hi' }];
      return ask('/v1/chat/completions', { messages, [details.limitMember]: limit, stream });
    }
    case 'responses':
      return ask('/v1/responses', { input: 'hi', max_output_tokens: limit, store: false, stream });
    case 'completions':
      return ask('/v1/completions', { prompt: 'hi', max_tokens: limit, stream });
    case 'embeddings':
      return ask('/v1/embeddings', { input: 'hi' });
    case 'rerank':
      return ask('/v1/rerank', { query: 'hi', documents: ['hi', 'bye'], top_n: 1 });
    case 'moderations':
      return ask('/v1/moderations', { input: 'hi' });
    case 'images':
      return ask('/v1/images/generations', { prompt: 'a dot', n: 1 });
    case 'speech':
      return ask('/v1/audio/speech', { input: 'hi', voice: 'alloy' });
    case 'none':
      return null;
  }
}
