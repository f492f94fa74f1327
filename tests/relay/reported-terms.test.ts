/** Terms that an answer reports hold for its price: instead of those that were sent, and also where none was. */
import { expect, test } from 'vitest';
import { compilePriceTables } from '../../server/contract/pricing/tables.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { reportedPrices } from '../../server/relay/admission/modifiers.ts';
import { nothingSent } from '../../server/routing/offers.ts';
import { plainPrices } from '../support/plain-prices.ts';

const options: Readonly<Record<string, string>> = {
  ModelRatio: '{"m":1,"other":2}',
  TierRatio: '{"m":{"service_tier:priority":2,"speed:fast":3}}',
};
const tables = compilePriceTables((key) => options[key] ?? '{}', 0);
type Terms = Readonly<Record<string, string>>;
const priced = (sent: Terms | null, reported: Terms | undefined, parts?: readonly { readonly model: string }[]) => {
  const modifiers = sent === null ? nothingSent : { ...nothingSent, sent };
  const usage = { ...emptyUsage, modifiers: reported, ...(parts === undefined ? {} : { parts }) };
  const pricing = { tables, group: 'default', userGroup: 'default' };
  const found = reportedPrices(plainPrices(), pricing, { model: 'm', upstreamModel: 'm', modifiers }, usage as never);
  const { surcharges = [], unpriced = [], others } = found;
  return { terms: surcharges.map(({ name }) => name), unpriced, others: [...(others?.keys() ?? [])] };
};
const plain = { terms: [], unpriced: [], others: [] };

test.each<readonly [string, ...Parameters<typeof priced>, object]>([
  ['nothing was sent and nothing is reported', null, undefined, undefined, plain],
  ['nothing was sent', null, { speed: 'fast' }, undefined, { ...plain, terms: ['speed:fast'] }],
  ['another was sent', { service_tier: 'priority' }, { service_tier: 'default' }, undefined, plain],
  [
    'a dearer one was sent than another member reports',
    { service_tier: 'priority' },
    { speed: 'fast' },
    undefined,
    { ...plain, terms: ['service_tier:priority', 'speed:fast'] },
  ],
  ['it has no price', null, { speed: 'warp' }, undefined, { ...plain, unpriced: ['speed:warp'] }],
  ['another model worked on it', null, undefined, [{ model: 'other' }], { ...plain, others: ['other'] }],
  [
    'a model without a price worked on it',
    null,
    undefined,
    [{ model: 'unheard-of' }],
    { ...plain, unpriced: ['model:unheard-of'] },
  ],
])('%s', (_name, sent, reported, parts, expected) => {
  expect(priced(sent, reported, parts)).toEqual(expected);
});
