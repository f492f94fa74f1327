/** What channels offer for a request: its terms that go upstream, the work that its tools may take, and whether it asks for thoughts. */
import { expect, test } from 'vitest';
import { compileTermRules } from '../../server/contract/pricing/modifiers.ts';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import type { HostedUse } from '../../server/providers/knowledge/builtin-tools.ts';
import { noFeatures, type RequestedModifier } from '../../server/routing/features.ts';
import { Offers, offerOf, requestsThinking, sentModifiers } from '../../server/routing/offers.ts';

const channel: ChannelSnapshot = {
  ...{ id: 1, name: 'c', type: 1, keys: ['k'], baseUrl: '', organization: '', other: '', models: ['m'] },
  ...{ groups: ['default'], priority: 0, weight: 0, status: 1, autoBan: true, tag: '', testModel: '' },
  ...{ modelMapping: {}, statusCodeMapping: {}, paramOverride: {}, setting: { allow_tiers: true } },
};
const options = {
  passThrough: true,
  priceTables: { termRules: compileTermRules({ '*': { 'service_tier:priority': 2, 'service_tier:flex': 0.5 } }) },
};
const term = (value: string): RequestedModifier => ({ path: ['service_tier'], member: 'service_tier', value });
const sentFor = (...modifiers: readonly RequestedModifier[]) =>
  sentModifiers(
    { ...noFeatures, modifiers },
    offerOf(channel, 'm', 'm', options),
    { model: 'm', protocol: 'openai-chat' },
    options,
  ).sent;

test('a term that costs what a request without it costs is no term, one that costs more or less is', () => {
  for (const value of ['auto', 'default']) expect(sentFor(term(value))).toEqual({});
  expect(sentFor(term('priority'))).toEqual({ service_tier: 'priority' });
  expect(sentFor(term('flex'))).toEqual({ service_tier: 'flex' });
  expect(sentFor(term('flex'), { ...term('default'), path: ['Service_Tier'] })).toEqual({});
});

test('the region of a channel is a term of each request, and of no other channel’s', () => {
  const sent = (setting: ChannelSnapshot['setting']) =>
    sentModifiers(
      noFeatures,
      offerOf({ ...channel, setting }, 'm', 'm', options),
      { model: 'm', protocol: 'openai-chat' },
      options,
    ).sent;
  expect(sent({ region: 'EU' })).toEqual({ region: 'eu' });
  expect(sent({})).toEqual({});
});

test('the operator’s term counts at its own price where a client names a cheaper one elsewhere', () => {
  const termRules = compileTermRules({ '*': { 'service_tier:priority': 2, 'service_tier:fast': 1.5 } });
  const own = { ...options, priceTables: { termRules } };
  const offer = offerOf({ ...channel, paramOverride: { service_tier: 'priority' } }, 'm', 'm', own);
  const modifiers = [{ ...term('fast'), path: ['extra_body', 'service_tier'] }];
  const { sent } = sentModifiers({ ...noFeatures, modifiers }, offer, { model: 'm', protocol: 'openai-chat' }, own);
  expect(sent).toEqual({ service_tier: 'priority' });
});

test.each([
  ['gpt-4o', 'gpt-4o-mini'],
  ['gpt-4o-mini', 'gpt-4o'],
])('where %s may be served by %s, each limit is that of the larger one', (model, served) => {
  const mapped = { ...channel, modelMapping: { [model]: served } };
  expect(new Offers([[channel, mapped]], model, options).limits).toMatchObject({
    picture: 48_169,
    smallPicture: 48_169,
  });
  expect(new Offers([[mapped]], 'gpt-4o', { ...options }).limits).toMatchObject({ output: 16_384, context: 128_000 });
});

const use = (max: number, tool = 'web_search'): HostedUse => ({
  ...{ tool, units: 1, max, listed: true, instead: [], reportedAs: null, reportedBy: null },
});
test.each([
  [[5, 2], 5],
  [[2, 5], 5],
])('of one tool that is asked for twice, for %j units, the most count', (units, most) => {
  const offers = new Offers([[channel]], 'm', options);
  const uses = [...units.map((max) => use(max)), use(1, 'file_search')];
  expect(offers.unitsFor({ ...noFeatures, uses })).toEqual({ web_search: most, file_search: 1 });
});

test.each([
  [null, false],
  [false, false],
  [true, true],
  ['yes', true],
])('thoughts that are switched to %j', (enable_thinking, asks) => {
  expect(requestsThinking({ enable_thinking })).toBe(asks);
});

test.each([
  [33, 'us.meta.llama4-scout-17b-instruct-v1:0', {}, false],
  [33, 'us.meta.llama4-scout-17b-instruct-v1:0', { upstream_streams: 'always' }, true],
  [1, 'gpt-5-pro', {}, false],
  [1, 'gpt-5-pro-2025-10-06', {}, false],
  [1, 'gpt-5-prompt', {}, true],
  [1, 'gpt-5', { upstream_streams: 'never' }, false],
  [1, 'gpt-5', { upstream_streams: 'sometimes' }, true],
  [43, 'gpt-5-pro', {}, true],
])('type %d, %s, %j: whether an answer can be stopped in the middle', (type, model, setting, stops) => {
  expect(
    new Offers(
      [
        [
          { ...channel, type: 43 },
          { ...channel, type, setting },
        ],
      ],
      model,
      options,
    ).stopOnCancel,
  ).toBe(stops);
});
