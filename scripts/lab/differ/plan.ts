/** What both builds are set up with: a channel for each provider that a scripted upstream can play, and pairs of channels for retries. */
import { providers } from '../../../server/providers/catalogue.ts';
import type { Channel, SitePlan } from './site.ts';

/** Signed in ways that need a second host, or no HTTP at all. */
const unplayable: ReadonlySet<string> = new Set([
  'vertex',
  'baidu',
  'xunfei',
  'palm',
  'fastgpt',
  'dify',
  'coze',
  'aiproxy-library',
]);
const keys: Readonly<Record<string, string>> = {
  aws: 'AKIDEXAMPLE|secretsecret|us-east-1',
  zhipu: 'practice.secretsecret',
  tencent: '1|AKIDEXAMPLE|secretsecret',
};
const otherParameters: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  azure: { other: '2025-04-01-preview' },
  cloudflare: { other: 'account1' },
};
/** Models that rules speak of, where the catalogue's first ones are not those. */
const overrides: Readonly<Record<string, readonly string[]>> = {
  openai: ['gpt-4o-mini', 'gpt-5', 'o3', 'gpt-4.1', 'gpt-5.2', 'gpt-4o-audio-preview'],
  azure: ['gpt-4.1', 'gpt-5'],
  anthropic: [
    'claude-haiku-4-5',
    'claude-opus-4-8',
    'claude-3-5-sonnet-20241022',
    'claude-opus-4-6',
    'claude-3-7-sonnet-20250219',
  ],
  gemini: ['gemini-2.5-pro', 'gemini-3-flash-preview', 'gemini-2.5-flash', 'gemini-3-pro-preview', 'gemini-2.0-flash'],
  cohere: ['command-a-03-2025', 'command-a-reasoning-08-2025'],
  ollama: ['qwen3', 'llama3-7b'],
  deepseek: ['deepseek-chat', 'deepseek-reasoner', 'deepseek-v4-pro'],
  practice: ['practice-small'],
};

export interface ModelOffer {
  readonly alias: string;
  readonly real: string;
  readonly slug: string;
  readonly operations: readonly string[];
}

export interface Plan extends SitePlan {
  readonly offers: readonly ModelOffer[];
  /** Models that two channels serve, each asked once only: what a failure teaches must not reach the next case. */
  readonly pairs: readonly ModelOffer[];
  /** Models for requests that ask how many tokens something has. */
  readonly counting: readonly ModelOffer[];
}

/** Seconds that no request of a run takes: what a busy machine changes must not look like a difference. */
const slow = 600;

export function makePlan(pairCount: number): Plan {
  const channels: Channel[] = [];
  const offers: ModelOffer[] = [];
  const ratios: Record<string, Record<string, number>> = {
    ModelRatio: {},
    CompletionRatio: {},
    CacheRatio: {},
    CreateCacheRatio: {},
    ModelPrice: {},
  };
  const price = (alias: string, n: number) => {
    if (n % 11 === 7) {
      ratios.ModelPrice = { ...ratios.ModelPrice, [alias]: [0.02, 0.000_001, 0.1234][n % 3] ?? 0.02 };
      return;
    }
    Object.assign(ratios.ModelRatio ?? {}, { [alias]: [1, 0.075, 2.5, 1.25, 15, 0.333_333][n % 6] });
    if (n % 2 === 0) Object.assign(ratios.CompletionRatio ?? {}, { [alias]: [4, 5, 1, 3.3][n % 4] });
    if (n % 3 === 0) Object.assign(ratios.CacheRatio ?? {}, { [alias]: [0.1, 0.25, 0.5][n % 3] });
    if (n % 4 === 0) Object.assign(ratios.CreateCacheRatio ?? {}, { [alias]: 1.25 });
  };
  const taken = new Set<string>();
  for (const provider of providers) {
    const { slug } = provider;
    if (unplayable.has(slug) || provider.operations.length === 0) continue;
    const models = overrides[slug] ?? provider.models.slice(0, 3);
    const list = models.length > 0 ? models : ['gpt-4o-mini'];
    const mapping: Record<string, string> = {};
    const served: string[] = [];
    for (const [at, real] of list.entries()) {
      const alias = `${slug}.${at}`;
      mapping[alias] = real;
      served.push(alias);
      const offer = { real, slug, operations: provider.operations };
      offers.push({ ...offer, alias });
      price(alias, offers.length);
      // One channel serves each model by its own name as well, for prices that are shipped.
      if (taken.has(real) || overrides[slug] === undefined) continue;
      taken.add(real);
      served.push(real);
      offers.push({ ...offer, alias: real });
    }
    channels.push({
      name: slug,
      type: slug,
      key:
        keys[slug] ??
        (provider.keyShape.parts.length > 0
          ? provider.keyShape.parts.join(provider.keyShape.separator)
          : 'sk-upstream-key'),
      models: served,
      mapping,
      priority: 0,
      more: otherParameters[slug] ?? {},
    });
  }
  // Tokens are counted only where all is well, and other cases must not change that.
  const counting: ModelOffer[] = [];
  for (const slug of ['anthropic', 'gemini']) {
    const alias = `counted.${slug}`;
    const real = overrides[slug]?.[0] ?? '';
    const provider = providers.find((row) => row.slug === slug);
    const channel = { name: alias, type: slug, key: 'sk-upstream-key', models: [alias], mapping: { [alias]: real } };
    channels.push({ ...channel, priority: 0, more: {} });
    Object.assign(ratios.ModelRatio ?? {}, { [alias]: 2 });
    counting.push({ alias, real, slug, operations: provider?.operations ?? [] });
  }
  const pairs: ModelOffer[] = [];
  const kinds = ['openai', 'anthropic', 'gemini', 'deepseek'] as const;
  for (let n = 0; n < pairCount; n++) {
    const alias = `pair.${n}`;
    const pair = [kinds[n % 4] ?? 'openai', kinds[(n >> 2) % 4] ?? 'openai'] as const;
    const [slug] = pair;
    for (const [at, kind] of pair.entries())
      channels.push({
        name: `${alias}.${at}`,
        type: kind,
        key: at === 0 && n % 5 === 0 ? 'sk-first-key\nsk-second-key' : `sk-pair-key-${at}`,
        models: [alias],
        mapping: { [alias]: overrides[kind]?.[0] ?? 'gpt-4o-mini' },
        priority: 10 - at,
        more: { auto_ban: 0, ...(at === 0 && n % 5 === 0 ? { setting: { key_mode: 'polling' } } : {}) },
      });
    Object.assign(ratios.ModelRatio ?? {}, { [alias]: 2 });
    pairs.push({ alias, real: overrides[slug]?.[0] ?? '', slug, operations: ['chat'] });
  }
  return {
    channels,
    offers,
    pairs,
    counting,
    ratios,
    narrow: ['gpt-4o-mini', 'openai.0'],
    options: {
      RetryTimes: 2,
      AutomaticDisableChannelEnabled: false,
      'general_setting.upstream_idle_seconds': slow,
      'general_setting.first_event_seconds': slow,
      'general_setting.first_answer_seconds': slow,
      'general_setting.ping_interval_enabled': false,
      'general_setting.cost_header_enabled': true,
      CheckSensitiveEnabled: true,
      CheckSensitiveOnPromptEnabled: true,
      SensitiveWords: 'forbiddenword\nverboten',
      DataExportEnabled: false,
    },
  };
}
