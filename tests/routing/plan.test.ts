/** What a plan reserves is the dearest that the channels of a request can cost, computed for each request. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modelLimits } from '../../server/contract/model-limits.ts';
import {
  answerBuckets,
  type BucketName,
  bucketNames,
  mediaBuckets,
  weightOf,
} from '../../server/contract/pricing/bucket.ts';
import { pricesFor, promptTokensOf, toolPrice } from '../../server/contract/pricing/charge.ts';
import { pricedMembers } from '../../server/contract/pricing/modifiers.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { type ReserveSize, reserveEstimate } from '../../server/contract/pricing/reserve.ts';
import { exactCharge, roundedUpOf, sharesOf } from '../../server/contract/pricing/share.ts';
import {
  compilePriceTables,
  type PriceOptionKey,
  type PriceTables,
  resolvePrices,
} from '../../server/contract/pricing/tables.ts';
import type { ChannelSnapshot, SnapshotDelta } from '../../server/contract/snapshot.ts';
import { createRelayState } from '../../server/relay/state/state.ts';
import { candidateList } from '../../server/routing/candidates.ts';
import { featuresIn } from '../../server/routing/features.ts';
import { planOfChannels, RoutePlans } from '../../server/routing/plan.ts';
import { often } from '../support/often.ts';

const model = 'gpt-4o';
const upstreams = [model, 'gpt-4o-mini', 'o3', 'unheard-of', 'gpt-4o:online'];

interface Choice {
  readonly mapsTo: string;
  readonly allows: boolean;
  readonly passes: boolean;
  readonly region: string;
  readonly override: Readonly<Record<string, unknown>>;
  readonly drains: boolean;
}
const choices = fc.record<Choice>({
  mapsTo: fc.constantFrom(...upstreams),
  allows: fc.boolean(),
  passes: fc.boolean(),
  region: fc.constantFrom('', '', 'eu', 'EU', 'us'),
  override: fc.constantFrom<Readonly<Record<string, unknown>>>(
    {},
    {},
    { service_tier: 'priority' },
    { service_tier: 'flex' },
    { max_tokens: 5000, n: 3 },
    { generationConfig: { candidateCount: 4, maxOutputTokens: 70 } },
    { tools: [{ type: 'web_search', max_uses: 9 }] },
    { fallbacks: ['o3'] },
  ),
  drains: fc.boolean(),
});
const channelOf = ({ mapsTo, allows, passes, region, override, drains }: Choice, index: number): ChannelSnapshot => ({
  id: index + 1,
  name: `c${index}`,
  type: 1,
  keys: ['k'],
  baseUrl: '',
  organization: '',
  other: '',
  models: [model],
  groups: ['default'],
  priority: index % 2,
  weight: index,
  status: 1,
  autoBan: false,
  tag: '',
  testModel: '',
  modelMapping: mapsTo === model ? {} : { [model]: mapsTo },
  statusCodeMapping: {},
  paramOverride: override,
  setting: {
    ...(allows ? { allow_tiers: true } : {}),
    ...(passes ? { pass_through: true } : {}),
    ...(region === '' ? {} : { region }),
    ...(drains ? { drain: 30 } : {}),
  },
});

const ratio = fc.constantFrom(0, 0.000_001, 0.075, 0.333_333, 1, 1.25, 15, 8000);
const tables = fc
  .record({
    base: ratio,
    completion: ratio,
    write: ratio,
    audio: ratio,
    image: ratio,
    perCall: fc.constantFrom(null, null, null, 0.02),
    group: fc.constantFrom(0, 0.5, 1, 1.7),
    tier: fc.constantFrom([], [{ above: 1000, input: 2, output: 1.5 }], [{ above: 50_000, input: 2 }]),
    terms: fc.constantFrom(
      {},
      { 'gpt-4o*': { 'service_tier:priority': 2, 'service_tier:flex': 0.5, 'region:eu': 1.1 } },
      { o3: { 'speed:*': 6 }, 'gpt-4o': { 'inference_geo:us': 1.25 }, 'gpt*': { 'service_tier:priority': 3 } },
    ),
    tools: fc.constantFrom<Record<string, number>>({}, { web_search: 0.01, 'web_search:o3': 9 }, { web_plugin: 0.004 }),
  })
  .map(({ base, completion, write, audio, image, perCall, group, tier, terms, tools }): PriceTables => {
    const texts: Partial<Record<PriceOptionKey, unknown>> = {
      ModelRatio: { [model]: base },
      ModelPrice: perCall === null ? {} : { [model]: perCall },
      CompletionRatio: { [model]: completion },
      CreateCacheRatio: { [model]: write },
      AudioRatio: { [model]: audio },
      ImageRatio: { [model]: image },
      GroupRatio: { default: group },
      ContextTiers: { [model]: tier },
      TierRatio: terms,
      ToolPrices: tools,
      QuotaPerUnit: 500_000,
    };
    return compilePriceTables((key) => JSON.stringify(texts[key] ?? {}), 0);
  });

const bodies = fc.record(
  {
    service_tier: fc.constantFrom<unknown>('priority', 'PRIORITY', 'flex', 'auto', 7),
    speed: fc.constantFrom('fast', 'standard'),
    inferenceGeo: fc.constantFrom('us', 'global'),
    models: fc.constant(['o3']),
    extra_body: fc.record({ Service_Tier: fc.constantFrom('priority', 'flex') }),
    tools: fc.constantFrom<unknown>(
      [{ type: 'web_search' }],
      [{ type: 'function', name: 'f' }],
      [{ googleSearch: {} }],
    ),
    plugins: fc.constant([{ id: 'web', max_results: 7 }]),
  },
  { requiredKeys: [] },
);
const sizes = fc.record<Omit<ReserveSize, 'toolCalls'>>({
  promptTokens: fc.oneof(fc.nat(100), fc.nat(200_000), fc.nat(2_000_000_000)),
  maxTokens: fc.oneof(fc.nat(100), fc.nat(2_000_000_000)),
  media: fc.record(
    { audioInput: fc.nat(50_000), imageInput: fc.nat(50_000), videoInput: fc.nat(5) },
    { requiredKeys: [] },
  ),
  files: fc.constantFrom(0, 0, 128_000),
  caches: fc.constantFrom('none', '5m', '1h'),
  hasAudio: fc.boolean(),
});

/** The dearest of a member's buckets. */
const dearest = (prices: Prices, names: readonly BucketName[]): BucketName =>
  names.reduce((best, name) => (weightOf(prices, name) > weightOf(prices, best) ? name : best));

const words: Readonly<Record<string, readonly BucketName[]>> = {
  none: ['input', 'cacheRead'],
  '5m': ['input', 'cacheRead', 'cacheWrite5m'],
  '1h': ['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'],
};

/** Bucket by bucket, in whole numbers of any size, rounded up. */
function exactHold(base: Prices, size: ReserveSize): number {
  const { promptTokens, media = {}, files = 0, caches = 'none', maxTokens, hasAudio = false, toolCalls = {} } = size;
  const carried = mediaBuckets.reduce((sum, name) => sum + (media[name] ?? 0), 0);
  const prices = pricesFor(base, promptTokens + carried + files);
  const usage = Object.fromEntries(bucketNames.map((name) => [name, 0])) as Record<BucketName, number>;
  const read = words[caches] ?? [];
  usage[dearest(prices, read)] += promptTokens;
  for (const name of mediaBuckets) usage[weightOf(prices, name) > 1 ? name : dearest(prices, read)] += media[name] ?? 0;
  if (files > 0) usage[dearest(prices, [...read, ...mediaBuckets])] += files;
  usage[dearest(prices, hasAudio ? answerBuckets : ['output', 'reasoning'])] += maxTokens;
  const whole = { ...usage, toolCalls, raw: null };
  return roundedUpOf(exactCharge(sharesOf(whole, base), toolCalls, pricesFor(base, promptTokensOf(whole))));
}

/** What one channel charges for at most: read from its settings and the body, as if nothing were known of either. */
function termsOf(body: Record<string, unknown>, channel: ChannelSnapshot, passThrough: boolean, all: PriceTables) {
  const upstream = channel.modelMapping[model] ?? model;
  const factor = (member: string, value: string): number | null => {
    for (const { pattern, ratios } of all.termRules) {
      const matches = (name: string) =>
        pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
      const found = ratios.get(`${member}:${value}`) ?? ratios.get(`${member}:*`);
      if ((matches(model) || matches(upstream)) && found !== undefined) return found;
    }
    return null;
  };
  const allowed = passThrough || channel.setting.allow_tiers === true || channel.setting.pass_through === true;
  const isPlain = (member: string, value: string) => pricedMembers[member]?.includes(value) === true;
  const sent = new Map<string, string>();
  // What the client says at a place where the channel says something is not sent; elsewhere the dearer of both holds.
  const overridden = new Set<string>();
  const cost = (member: string, value: string) => (isPlain(member, value) ? 1 : (factor(member, value) ?? 1));
  if (typeof channel.setting.region === 'string') sent.set('region', channel.setting.region.toLowerCase());
  const ask = (members: Record<string, unknown>, own: boolean, path = ''): void => {
    const named = {
      service_tier: 'service_tier',
      Service_Tier: 'service_tier',
      speed: 'speed',
      inferenceGeo: 'inference_geo',
    };
    for (const [name, entry] of Object.entries(members)) {
      if (name === 'extra_body') ask(entry as Record<string, unknown>, own, 'extra_body.');
      const member = Object.hasOwn(named, name) ? named[name as keyof typeof named] : null;
      if (member === null || typeof entry !== 'string') continue;
      const value = entry.toLowerCase();
      const goesUp = own || isPlain(member, value) || (allowed && factor(member, value) !== null);
      if (own) overridden.add(path + name);
      if (!goesUp || (!own && overridden.has(path + name))) continue;
      const former = sent.get(member);
      if (former === undefined || cost(member, value) > cost(member, former)) sent.set(member, value);
    }
  };
  ask(channel.paramOverride, true);
  ask(body, false);
  const surcharges = [...sent].flatMap(([member, value]) => {
    const found = isPlain(member, value) ? null : factor(member, value);
    return found !== null && found > 1 ? [{ name: `${member}:${value}`, ratio: found }] : [];
  });
  const tools = [
    ...featuresIn(body).uses,
    ...featuresIn(channel.paramOverride).uses,
    ...(upstream.endsWith(':online') ? [{ tool: 'web_plugin', max: 5 }] : []),
  ];
  return { surcharges, tools };
}

test('a plan reserves what the dearest of its channels can cost', () => {
  let [surcharged, called, beyond] = [0, 0, 0];
  fc.assert(
    fc.property(
      fc.array(choices, { minLength: 1, maxLength: 6 }),
      tables,
      bodies,
      sizes,
      fc.boolean(),
      (channelChoices, priceTables, body, size, passThrough) => {
        const channels = channelChoices.map(channelOf);
        const key = { model, group: 'default', userGroup: 'default' };
        const plan = planOfChannels({ ...key, acceptUnset: false }, candidateList(channels), {
          priceTables,
          passThrough,
        });
        const ordinary = resolvePrices(priceTables, model, { group: 'default', userGroup: 'default' });
        if (ordinary === null) throw new Error('it has a price');
        const each = channels.map((channel) => termsOf(body, channel, passThrough, priceTables));
        const product = (list: readonly { readonly ratio: number }[]) =>
          Math.round(list.reduce((all, one) => all * one.ratio, 1) * 1e6);
        const dearestModifiers = each.reduce((best, one) =>
          product(one.surcharges) > product(best.surcharges) ? one : best,
        ).surcharges;
        const units: Record<string, number> = {};
        for (const { tools } of each)
          for (const { tool, max } of tools)
            if (priceTables.toolPrices.size > 0 && toolPrice(ordinary, tool) > 0)
              units[tool] = Math.max(units[tool] ?? 0, max);
        const under = (prices: Prices): Prices => ({
          ...prices,
          ...(dearestModifiers.length === 0 ? {} : { surcharges: dearestModifiers }),
          tiers: prices.tiers.map((tier) => ({ ...tier, prices: under(tier.prices) })),
        });
        const expected = exactHold(under(ordinary), { ...size, toolCalls: units });
        expect(plan.reserve(size, featuresIn(body))).toBe(expected);
        if (dearestModifiers.length > 0) surcharged++;
        if (Object.keys(units).length > 0) called++;
        if (expected > 2 ** 40) beyond++;
        // Bounds that no channel goes beyond.
        for (const { modelMapping, setting, paramOverride } of channels) {
          const { limits, overriddenLimit, overriddenChoices, stopOnCancel, keepLimits } = plan.offers;
          expect(limits.output).toBeGreaterThanOrEqual(modelLimits(modelMapping[model] ?? model).output);
          expect(limits.context).toBeGreaterThanOrEqual(modelLimits(modelMapping[model] ?? model).context);
          if (setting.drain !== undefined) expect(stopOnCancel).toBe(false);
          if (setting.pass_through === true) expect(keepLimits).toBe(false);
          if (paramOverride.max_tokens !== undefined) {
            expect(overriddenLimit).toBeGreaterThanOrEqual(5000);
            expect(overriddenChoices).toBeGreaterThanOrEqual(3);
            expect(keepLimits).toBe(false);
          }
          if (paramOverride.generationConfig !== undefined) expect(overriddenChoices).toBeGreaterThanOrEqual(4);
        }
      },
    ),
    { numRuns: often(1000, 100_000) },
  );
  expect(Math.min(surcharged, called, beyond)).toBeGreaterThan(30);
});

test('a reservation is the same by the short way and in whole numbers of any size', () => {
  fc.assert(
    fc.property(tables, sizes, fc.boolean(), (priceTables, size, called) => {
      const prices = resolvePrices(priceTables, model, { group: 'default', userGroup: 'default' });
      if (prices === null) throw new Error('it has a price');
      const whole = called ? { ...size, toolCalls: { web_search: 3 } } : size;
      expect(reserveEstimate(prices, whole)).toBe(exactHold(prices, whole));
    }),
    { numRuns: often(1000, 100_000) },
  );
});

const options = { priceTables: compilePriceTables(() => '{}', 0), passThrough: false };
const keyOf = (name: string, more: object = {}) => ({
  model: name,
  group: 'default',
  userGroup: 'default',
  acceptUnset: true,
  ...more,
});
const plain = { mapsTo: model, allows: false, passes: false, region: '', override: {}, drains: false };
const listOf = (count = 1) => candidateList(Array.from({ length: count }, (_, index) => channelOf(plain, index)));

test('a plan is kept until its list or the options change', () => {
  const plans = new RoutePlans();
  const [one, other] = [listOf(), listOf(2)];
  const a = plans.find(keyOf('a'), one, options);
  const b = plans.find(keyOf('b'), other, options);
  expect(plans.find(keyOf('a'), one, options)).toBe(a);
  for (const change of [{ userGroup: 'vip' }, { acceptUnset: false }, { group: 'vip' }])
    expect(plans.find(keyOf('a', change), one, options)).not.toBe(a);
  expect(plans.find(keyOf('a'), listOf(), options)).not.toBe(a);
  expect(plans.find(keyOf('b'), other, options)).toBe(b);
  expect(plans.find(keyOf('b'), other, { ...options })).not.toBe(b);
});

test('the most recently used of many plans stay', () => {
  const plans = new RoutePlans();
  const list = listOf();
  const first = plans.find(keyOf('m0'), list, options);
  const second = plans.find(keyOf('m1'), list, options);
  for (let n = 2; n < 4096; n++) plans.find(keyOf(`m${n}`), list, options);
  expect(plans.find(keyOf('m0'), list, options)).toBe(first);
  plans.find(keyOf('one more'), list, options);
  expect(plans.find(keyOf('m0'), list, options)).toBe(first);
  expect(plans.find(keyOf('m1'), list, options)).not.toBe(second);
});

test('users and keys drop no plan, a channel those of its own models, an option all', () => {
  const nothing = () => undefined;
  const accounts = {
    observeUser: nothing,
    observeToken: nothing,
    evictUser: nothing,
    evictToken: nothing,
    observeBudgets: nothing,
  };
  const state = createRelayState(accounts, () => 0);
  const serving = (id: number, models: readonly string[], more: Partial<ChannelSnapshot> = {}): ChannelSnapshot => ({
    ...channelOf(plain, id),
    id,
    models,
    ...more,
  });
  const rows = { users: [], tokens: [], channels: [], options: {} };
  const change = (more: Partial<SnapshotDelta>) =>
    state.apply({ kind: 'delta', seq: 1, ...rows, removed: { users: [], tokens: [], channels: [] }, ...more });
  const ratios = { ModelRatio: JSON.stringify({ a: 1, b: 2 }) };
  state.apply({ kind: 'snapshot', seq: 0, ...rows, channels: [serving(1, ['a']), serving(2, ['b'])], options: ratios });
  const planOf = (name: string) => state.plan(keyOf(name, { acceptUnset: false }));
  const [a, b] = [planOf('a'), planOf('b')];
  expect([a?.prices?.modelRatio, b?.prices?.modelRatio]).toEqual([1, 2]);
  expect(planOf('c')).toBeNull();
  const user = {
    id: 1,
    username: 'u',
    role: 1,
    status: 1,
    group: 'default',
    balance: 0,
    used: 0,
    balanceVersion: 0,
    overrun: 0,
    setting: {},
  };
  change({ users: [user] });
  expect([planOf('a'), planOf('b')]).toEqual([a, b]);
  expect(planOf('a')).toBe(a);
  change({ channels: [serving(2, ['b'], { setting: { pass_through: true } })] });
  expect(planOf('a')).toBe(a);
  expect([b?.offers.keepLimits, planOf('b')?.offers.keepLimits]).toEqual([true, false]);
  change({ channels: [serving(2, ['b', 'c'])] });
  expect(planOf('a')).toBe(a);
  expect(planOf('c')?.prices).toBeNull();
  change({ options: { ModelRatio: JSON.stringify({ a: 3, b: 2, c: 4 }) } });
  expect(['a', 'b', 'c'].map((name) => planOf(name)?.prices?.modelRatio)).toEqual([3, 2, 4]);
  change({ removed: { users: [], tokens: [], channels: [1] } });
  expect(planOf('a')).toBeNull();
});
