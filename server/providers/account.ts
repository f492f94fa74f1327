/** What a provider reports about the account behind a key: its balance and its models. Requests and readings only; others perform them. */
import { keysIn } from '../contract/channel-keys.ts';
import { codecFor } from '../protocols/registry.ts';
import { number, record, records, text } from '../protocols/shared/json.ts';
import { keyHeader, type Provider } from './provider.ts';

export interface Lookup {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface BalanceMethod {
  readonly lookups: (base: string, key: string, nowMs: number) => readonly Lookup[];
  /** @returns dollars, or what the provider counts in; null when the answers hold none. */
  readonly read: (answers: readonly unknown[]) => number | null;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const decimal = (value: unknown): number | null => {
  const parsed = typeof value === 'string' && value !== '' ? Number(value) : number(value);
  return parsed !== null && Number.isFinite(parsed) ? parsed : null;
};

/** OpenAI's dashboard calls, which its relatives keep. Used in cents. */
const dashboard: BalanceMethod = {
  lookups(base, key, nowMs) {
    const from = `${day(nowMs).slice(0, 7)}-01`;
    return [
      { url: `${base}/v1/dashboard/billing/subscription`, headers: bearer(key) },
      {
        url: `${base}/v1/dashboard/billing/usage?start_date=${from}&end_date=${day(nowMs + 86_400_000)}`,
        headers: bearer(key),
      },
    ];
  },
  read([subscription, usage]) {
    const limit = decimal(record(subscription)?.hard_limit_usd);
    const used = decimal(record(usage)?.total_usage);
    return limit === null || used === null ? null : limit - used / 100;
  },
};

/** Where accounts are asked about elsewhere than requests are sent; an address of the operator's own is asked itself. */
const siteOf: Readonly<Record<string, string>> = { 'https://api.aiproxy.io': 'https://aiproxy.io' };

const one = (
  path: string,
  read: (answer: Record<string, unknown>) => number | null,
  headers: (key: string) => Record<string, string> = bearer,
): BalanceMethod => ({
  lookups: (base, key) => [{ url: (siteOf[base] ?? base) + path, headers: headers(key) }],
  read: ([answer]) => read(record(answer) ?? {}),
});

const granted = one('/dashboard/billing/credit_grants', (answer) => decimal(answer.total_remaining));

const methods: Readonly<Record<string, BalanceMethod>> = {
  openai: dashboard,
  custom: dashboard,
  openaimax: dashboard,
  ohmygpt: dashboard,
  caipacity: dashboard,
  api2gpt: granted,
  aigc2d: granted,
  aiproxy: one(
    '/api/report/getUserOverview',
    (answer) => decimal(record(answer.data)?.totalPoints),
    (key) => ({ 'api-key': key }),
  ),
  siliconflow: one('/v1/user/info', (answer) => decimal(record(answer.data)?.totalBalance)),
  deepseek: one('/user/balance', (answer) => {
    const list = records(answer.balance_infos);
    const found = list.find(({ currency }) => currency === 'USD') ?? list[0];
    return decimal(found?.total_balance);
  }),
  moonshot: one('/v1/users/me/balance', (answer) => decimal(record(answer.data)?.available_balance)),
  openrouter: one('/v1/credits', (answer) => {
    const credits = decimal(record(answer.data)?.total_credits);
    const used = decimal(record(answer.data)?.total_usage);
    return credits === null || used === null ? null : credits - used;
  }),
};

/** @returns null when the provider has no such call. */
export const balanceMethod = (slug: string): BalanceMethod | null => methods[slug] ?? null;

/** Where the models of a key are listed. @returns null when the provider lists none. */
export function modelsLookup(provider: Provider, baseUrl: string, key: string): Lookup | null {
  const base = (baseUrl === '' ? provider.baseUrl : baseUrl).replace(/\/+$/, '');
  if (provider.modelsPath === null || base === '') return null;
  const version = /\/v\d+$/.exec(base)?.[0];
  const own = version !== undefined && provider.modelsPath.startsWith(`${version}/`);
  const first = keysIn(key)[0] ?? '';
  const header = keyHeader(provider);
  const dialect = provider.protocol === null ? undefined : codecFor(provider.protocol).definition.headers;
  return {
    url: own ? base.slice(0, -version.length) + provider.modelsPath : base + provider.modelsPath,
    headers: { ...(header === null ? {} : { [header.name]: header.before + first }), ...dialect },
  };
}

/** @returns names as they are called by; null when the answer is no list. */
export function readModels(answer: unknown): string[] | null {
  const body = record(answer);
  const list = Array.isArray(answer) ? answer : (body?.data ?? body?.models);
  if (!Array.isArray(list)) return null;
  const names = records(list).flatMap((item) => {
    const name = text(item.id) ?? text(item.name) ?? text(item.model);
    return name === null ? [] : [name.replace(/^models\//, '')];
  });
  return [...new Set(names)];
}
