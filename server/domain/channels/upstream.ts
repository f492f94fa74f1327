/** Asks a channel's provider what the key is worth and which models it opens. */
import type { ChannelRow } from '../../../db/repositories/channels.ts';
import { keysIn } from '../../contract/channel-keys.ts';
import { AppError } from '../../contract/errors.ts';
import { balanceMethod, type Lookup, modelsLookup, readModels } from '../../providers/account.ts';
import { providerByType } from '../../providers/catalogue.ts';

export interface UpstreamDeps {
  readonly fetch: typeof fetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const timeoutMs = 15_000;
const answerLimit = 4 * 1024 * 1024;

/** @throws AppError upstream_lookup. */
async function check(deps: UpstreamDeps, lookup: Lookup): Promise<unknown> {
  try {
    const response = await deps.fetch(lookup.url, {
      headers: lookup.headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) throw new AppError('upstream_lookup', { detail: `HTTP ${response.status}` });
    const text = await response.text();
    if (text.length > answerLimit) throw new AppError('upstream_lookup', { detail: 'too large' });
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('upstream_lookup', { detail: error instanceof SyntaxError ? 'no JSON' : 'unreachable' }, error);
  }
}

/** @param key one or several, one per line. @returns sorted names. @throws AppError channel_type_unknown, upstream_lookup. */
export async function fetchModels(deps: UpstreamDeps, type: number, baseUrl: string, key: string): Promise<string[]> {
  const provider = providerByType(type);
  if (provider === undefined) throw new AppError('channel_type_unknown', { type });
  const lookup = modelsLookup(provider, baseUrl, key);
  if (lookup === null) throw new AppError('models_unlisted');
  const names = readModels(await check(deps, lookup));
  if (names === null) throw new AppError('upstream_lookup', { detail: 'no list of models' });
  return names.sort();
}

/** @param key the opened key. @returns dollars. @throws AppError balance_unsupported, upstream_lookup. */
export async function fetchBalance(deps: UpstreamDeps, row: ChannelRow, key: string): Promise<number> {
  const provider = providerByType(row.type);
  const method = provider === undefined ? null : balanceMethod(provider.slug);
  if (provider === undefined || method === null) throw new AppError('balance_unsupported');
  const base = (row.base_url || provider.baseUrl).replace(/\/+$/, '');
  const first = keysIn(key)[0] ?? '';
  const answers = await Promise.all(method.lookups(base, first, deps.now()).map((lookup) => check(deps, lookup)));
  const balance = method.read(answers);
  if (balance === null) throw new AppError('upstream_lookup', { detail: 'no balance in the answer' });
  return balance;
}
