/** Which model an upstream says that it answered with, beside the one that was asked for. */
import { type PriceTables, pricedName } from './pricing/tables.ts';

/** Longer names are cut. */
const maxName = 200;

/** Hosts write a region and the maker in front, and a revision behind. Source: https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html */
const bedrock = /^(?:(?:us|eu|apac|jp|au|ca|global|us-gov)\.)?[a-z0-9-]+\.(?=[a-z])|-v\d+(?::\d+)?$/g;
/** What names one model on several days, or one route to it. */
const ending =
  /[-@:](?:latest|preview|exp|free|nitro|floor|online|beta|\d{3,4}|\d{2}-\d{2}|\d{2}-20\d\d|20\d{2}-?\d{2}-?\d{2}|20\d{4})$/;
/** As many as names have; the first of them that is none ends the rest. */
const maxEndings = 4;

function withoutEndings(name: string): string {
  let rest = name;
  for (let taken = 0; taken < maxEndings; taken++) rest = rest.replace(ending, '');
  return rest;
}

/** One spelling of a model's name, without date, host and maker. */
export function plainModel(name: string): string {
  const whole = name.slice(0, maxName).toLowerCase();
  const own = whole.slice(whole.lastIndexOf('/') + 1);
  const bare = /^[a-z0-9-]+(?:\.[a-z0-9-]+)?\.[a-z]|-v\d+:\d+$/.test(own) ? own.replace(bedrock, '') : own;
  return withoutEndings(bare).replace(/[._]/g, '-');
}

/** The name in the price tables under which a model is sold, whoever serves it; null = none: it may be a deployment, or a router. */
export const soldAs = (tables: Pick<PriceTables, 'modelRatio' | 'modelPrice'>, name: string): string | null => {
  const prefix = name.slice(0, Math.max(0, name.indexOf('/')));
  return pricedName(tables, name, [prefix]) ?? pricedName(tables, plainModel(name), []);
};

/**
 * @param sent to the upstream. @param requested by the client, which may say better what `sent` means.
 * @returns whether they are two models; names that the site sells nothing under say nothing.
 */
export function isOtherModel(
  tables: Pick<PriceTables, 'modelRatio' | 'modelPrice'>,
  { sent, requested, answered }: { readonly sent: string; readonly requested: string; readonly answered: string },
): boolean {
  if (answered === sent || answered === requested) return false;
  const plain = plainModel(answered);
  if (plain === plainModel(sent) || plain === plainModel(requested)) return false;
  return soldAs(tables, answered) !== null && (soldAs(tables, sent) ?? soldAs(tables, requested)) !== null;
}

/** The model that an answer in one piece names, in any protocol. */
export function modelIn(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const { model, modelVersion } = body as { readonly model?: unknown; readonly modelVersion?: unknown };
  const name = model ?? modelVersion;
  return typeof name === 'string' && name !== '' ? name : null;
}

/** Headers in which providers name a request of theirs, those of hosts before those of their fronts. */
const idHeaders = ['x-request-id', 'request-id', 'x-amzn-requestid', 'apim-request-id', 'x-goog-request-id'] as const;

/** @returns null = it names none. */
export function requestIdIn(headers: Headers): string | null {
  for (const name of idHeaders) {
    const id = headers.get(name);
    if (id !== null && /^[\w.:+/=-]{1,128}$/.test(id)) return id;
  }
  return null;
}

/**
 * Dollars that an upstream says its answer cost it: `usage.cost` (OpenRouter), `usage.cost.total_cost` (Perplexity),
 * `usage.cost_in_usd_ticks` (xAI, 1e-10 dollars), `usage.estimated_cost` (DeepInfra). @returns null = it says nothing sane.
 */
export function statedCostIn(usage: unknown): number | null {
  if (typeof usage !== 'object' || usage === null) return null;
  const { cost, cost_in_usd_ticks: ticks, estimated_cost: estimated } = usage as Readonly<Record<string, unknown>>;
  const total = typeof cost === 'object' && cost !== null ? (cost as { total_cost?: unknown }).total_cost : cost;
  const dollars = total ?? (typeof ticks === 'number' ? ticks / 1e10 : estimated);
  return typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0 && dollars <= 1e6 ? dollars : null;
}

/** What a row says of the upstream's answer, to operators alone. */
export interface AnswerFacts {
  /** Where it is not the one that was sent; '' = it is, or the upstream did not say. */
  readonly model: string;
  /** They are two models, and not two names of one. */
  readonly isOther: boolean;
  readonly requestId: string;
  /** Dollars. */
  readonly statedCost: number | null;
}

/** @param details `other` of a row, parsed. */
export function answerFactsIn({ admin_info: info }: Readonly<Record<string, unknown>>): AnswerFacts {
  const admin = (typeof info === 'object' && info !== null ? info : {}) as Readonly<Record<string, unknown>>;
  const { answered_model: model, other_model: isOther, upstream_request_id: requestId, stated_cost: cost } = admin;
  return {
    model: typeof model === 'string' ? model : '',
    isOther: isOther === true,
    requestId: typeof requestId === 'string' ? requestId : '',
    statedCost: typeof cost === 'number' ? cost : null,
  };
}
