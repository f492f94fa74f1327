/** How a site follows what a newer build ships. */
import { describe, expect, test } from 'vitest';
import {
  followShipped,
  followShippedPrices,
  type KeptPrices,
  type PriceMaps,
  shippedKeys,
} from '../../server/domain/pricing/shipped.ts';
import { createTestGateway } from '../support/gateway.ts';

const now = Date.UTC(2026, 10, 29);
const base: PriceMaps = {
  ModelRatio: { old: 1, edited: 2, deleted: 3, 'gpt-9': 1 },
  CompletionRatio: { old: 4, edited: 5 },
  TierRatio: { 'gpt-9*': { 'service_tier:flex': 0.5 } },
  ToolPrices: { web_search: 0.01 },
};
const site: PriceMaps = {
  ...base,
  ModelRatio: { old: 1, edited: 7, 'gpt-9': 1, mine: 9 },
};
/** Maps that are not named are empty. */
const whole = (maps: PriceMaps): PriceMaps => ({ ...Object.fromEntries(shippedKeys.map((key) => [key, {}])), ...maps });
const follow = (shipped: PriceMaps, isSelfUse: boolean, kept: KeptPrices = {}, inForce = whole(site), from = base) =>
  followShipped({ base: from, shipped, inForce, kept, isSelfUse, now });

describe.each([
  ['others pay', false],
  ['nobody else pays', true],
])('where %s', (_who, isSelfUse) => {
  test('new names arrive with all that belongs to them', () => {
    const { maps, kept } = follow(
      {
        ...base,
        ModelRatio: { ...base.ModelRatio, fresh: 11 },
        CompletionRatio: { ...base.CompletionRatio, fresh: 6 },
        TierRatio: { ...base.TierRatio, 'fresh*': { 'service_tier:flex': 0.5 } },
        ToolPrices: { ...base.ToolPrices, 'web_search:fresh': 0.02 },
      },
      isSelfUse,
    );
    expect(maps.ModelRatio).toMatchObject({ fresh: 11 });
    expect(maps.CompletionRatio).toMatchObject({ fresh: 6 });
    expect(maps.TierRatio).toHaveProperty(['fresh*']);
    expect(maps.ToolPrices).toHaveProperty(['web_search:fresh']);
    expect(kept).toEqual({});
  });

  test('prices of its own stay, and nothing is added to them unasked', () => {
    const { maps, kept } = follow(
      {
        ...base,
        ModelRatio: { ...base.ModelRatio, edited: 3, mine: 1, deleted: 4 },
        CompletionRatio: { ...base.CompletionRatio, edited: 6, mine: 2 },
        CacheRatio: { edited: 0.1, mine: 0.1 },
      },
      isSelfUse,
    );
    expect(maps.ModelRatio).toEqual(site.ModelRatio);
    expect(maps.CompletionRatio).toEqual(site.CompletionRatio);
    expect(maps.CacheRatio).toEqual({});
    expect(kept).toEqual({ CompletionRatio: { edited: 5, mine: null }, CacheRatio: { edited: null, mine: null } });
  });

  test('a price that is not shipped any more stays', () => {
    const { maps, kept } = follow({ ...base, ModelRatio: { 'gpt-9': 1 }, CompletionRatio: {} }, isSelfUse);
    expect(maps.ModelRatio).toEqual(site.ModelRatio);
    expect(maps.CompletionRatio).toEqual(site.CompletionRatio);
    expect(kept).toEqual({});
  });

  test('a map that cannot be read is left alone', () =>
    expect(follow({ ...base, ModelRatio: {} }, isSelfUse, {}, { CompletionRatio: {} }).maps).not.toHaveProperty(
      'ModelRatio',
    ));
});

const moved: PriceMaps = {
  ...base,
  ModelRatio: { ...base.ModelRatio, old: 1.5 },
  CacheRatio: { old: 0.1 },
  ContextTiers: { 'gpt-9': [{ above: 272_000, input: 2 }] },
  TierRatio: { ...base.TierRatio, 'gpt-9-x*': { 'service_tier:flex': 0.4 }, 'gp*': { 'service_tier:fast': 2 } },
  ToolPrices: { web_search: 0.02, plugin: 0.1, 'plugin:gpt-9': 0.2 },
  PriceDates: { old: [{ from: '2026-12-01', ModelRatio: 3 }] },
};

test('what others pay changes only when somebody agrees: of each map, each new part of a price, and each pattern', () => {
  const { maps, kept } = follow(moved, false);
  expect(maps).toMatchObject(site);
  for (const key of ['CacheRatio', 'ContextTiers', 'PriceDates'] as const) expect(maps[key]).toEqual({});
  expect(maps.TierRatio).toEqual({ ...base.TierRatio, 'gpt-9-x*': { 'service_tier:flex': 0.4 } });
  expect(kept).toEqual({
    ModelRatio: { old: 1 },
    CacheRatio: { old: null },
    ContextTiers: { 'gpt-9': null },
    TierRatio: { 'gp*': null },
    ToolPrices: { web_search: 0.01, plugin: null, 'plugin:gpt-9': null },
    PriceDates: { old: null },
  });
});

test('changed figures hold at once where nobody else pays', () => {
  const { maps, kept } = follow(moved, true);
  expect(maps).toMatchObject({ ...moved, ModelRatio: { ...site.ModelRatio, old: 1.5 } });
  expect(kept).toEqual({});
});

test('a name that had the price of its base gets one of its own only when somebody agrees', () => {
  const dated = { ...base, ModelRatio: { ...base.ModelRatio, 'old-2026-05-13': 2, 'host/old': 3, 'old-pro': 4 } };
  const { maps, kept } = follow(dated, false);
  expect(maps.ModelRatio).toEqual({ ...site.ModelRatio, 'old-pro': 4 });
  expect(kept).toEqual({ ModelRatio: { 'old-2026-05-13': null, 'host/old': null } });
});

test('factors of a name wait where the same name with a date has a price', () => {
  const from = whole({ ModelRatio: { 'old-2026-05-13': 3 } });
  const { maps, kept } = follow(
    { TierRatio: { old: { 'service_tier:priority': 2 }, new: { 'service_tier:priority': 2 } } },
    false,
    {},
    from,
    {},
  );
  expect(maps.TierRatio).toEqual({ new: { 'service_tier:priority': 2 } });
  expect(kept).toEqual({ TierRatio: { old: null } });
});

test('a price that was kept is proposed until it is decided upon, over several builds', () => {
  const first = follow(moved, false);
  const second = follow(
    { ...moved, ModelRatio: { ...moved.ModelRatio, old: 1.75 } },
    false,
    first.kept,
    first.maps,
    moved,
  );
  expect(second.maps.ModelRatio).toEqual(first.maps.ModelRatio);
  expect(second.kept.ModelRatio).toEqual({ old: 1 });
  const edited = { ...first.maps, ModelRatio: { ...first.maps.ModelRatio, old: 1.25 } };
  expect(follow(moved, false, first.kept, edited, moved).kept.ModelRatio).toBeUndefined();
  const again = { ...moved, ModelRatio: { ...moved.ModelRatio, old: 1 } };
  expect(follow(again, false, first.kept, first.maps, moved).kept.ModelRatio).toBeUndefined();
});

/** A site that ran a build which shipped this, set up or not. */
async function siteWith(setup: boolean) {
  const gateway = await createTestGateway();
  const { options } = gateway.services;
  if (setup) await options.setMeta('setup_at', '1');
  const upgrade = async (shipped: PriceMaps) => {
    const changed = await followShippedPrices(gateway.database, now, shipped);
    await options.reload();
    return changed;
  };
  const prices = (key: 'ModelRatio' | 'CacheRatio') => JSON.parse(options.text(key)) as Record<string, number>;
  return { gateway, upgrade, prices };
}
/** What this build ships, with changes. */
const shippedWith = (gateway: Awaited<ReturnType<typeof createTestGateway>>, changes: PriceMaps = {}): PriceMaps => {
  const of = (key: 'ModelRatio' | 'CacheRatio' | 'CompletionRatio') =>
    JSON.parse(gateway.services.options.fallback(key)) as Record<string, unknown>;
  return {
    ModelRatio: { ...of('ModelRatio'), ...changes.ModelRatio },
    CacheRatio: { ...of('CacheRatio'), ...changes.CacheRatio },
    CompletionRatio: { ...of('CompletionRatio'), ...changes.CompletionRatio },
  };
};

test('a new site follows from its first start; the same build changes nothing twice', async () => {
  const { gateway, upgrade, prices } = await siteWith(false);
  expect(await upgrade(shippedWith(gateway, { ModelRatio: { 'gpt-4o': 99 } }))).toBe(false);
  await gateway.services.options.setMeta('setup_at', '1');
  expect(await upgrade(shippedWith(gateway, { ModelRatio: { 'gpt-4o': 99 } }))).toBe(false);
  expect(gateway.services.options.list().filter(({ key, isSet }) => key === 'ModelRatio' && isSet)).toEqual([]);
  // What was shipped then is what others pay.
  expect(await upgrade(shippedWith(gateway))).toBe(false);
  expect(prices('ModelRatio')['gpt-4o']).toBe(99);
  await gateway.close();
});

test('a site of the first builds, which recorded nothing, keeps what it charges and gets new names', async () => {
  const { gateway, upgrade, prices } = await siteWith(true);
  await gateway.option('ModelRatio', JSON.stringify({ 'gpt-4o': 5, 'o3-mini': 0.55 }));
  const shipped = shippedWith(gateway, { ModelRatio: { 'made-in-november': 7 }, CacheRatio: { 'gpt-4o': 0.25 } });
  expect(await upgrade(shipped)).toBe(true);
  expect(prices('ModelRatio')).toMatchObject({ 'gpt-4o': 5, 'o3-mini': 0.55, 'made-in-november': 7 });
  // It had been taken away.
  expect(prices('ModelRatio')).not.toHaveProperty('gpt-4');
  const { items } = (await gateway.call('ratio.history', {})) as {
    items: { reason: string; actor: string; id: number }[];
  };
  expect(items[0]).toMatchObject({ reason: 'shipped', actor: '' });
  await gateway.call('ratio.rollback', { version: items[0]?.id });
  expect(prices('ModelRatio')).toEqual({ 'gpt-4o': 5, 'o3-mini': 0.55 });
  await gateway.close();
});

test('going back to a time before an upgrade brings the prices of that time, not those of the new build', async () => {
  const { gateway, upgrade, prices } = await siteWith(false);
  await upgrade(shippedWith(gateway, { ModelRatio: { 'gpt-4o': 99 } }));
  await gateway.services.options.setMeta('setup_at', '1');
  const before = { ...shippedWith(gateway).ModelRatio, 'gpt-4o': 99 };
  await gateway.option('ModelRatio', JSON.stringify({ ...before, o1: 77 }));
  await upgrade(shippedWith(gateway));
  const { items } = (await gateway.call('ratio.history', {})) as { items: { id: number }[] };
  await gateway.call('ratio.rollback', { version: items.at(-1)?.id });
  expect(prices('ModelRatio')).toEqual(before);
  await gateway.close();
});

interface Proposal {
  source: string;
  changes: { key: string; name: string; before: string | null; after: string | null }[];
}
const waiting = async (gateway: Awaited<ReturnType<typeof createTestGateway>>) =>
  ((await gateway.call('ratio.proposals', {})) as Proposal[]).flatMap(({ changes }) => changes);

test('newer figures are proposed, applied by name, and kept away by name', async () => {
  const { gateway, upgrade, prices } = await siteWith(false);
  const { ModelRatio } = shippedWith(gateway);
  const own = (name: string) => (ModelRatio?.[name] as number) ?? 0;
  await upgrade(shippedWith(gateway, { ModelRatio: { 'gpt-4o': 99, 'o3-mini': 98, o1: 97 } }));
  await gateway.services.options.setMeta('setup_at', '1');
  await upgrade(shippedWith(gateway));
  expect(prices('ModelRatio')).toMatchObject({ 'gpt-4o': 99, 'o3-mini': 98, o1: 97 });
  expect((await waiting(gateway)).map(({ name, before, after }) => [name, before, after]).sort()).toEqual([
    ['gpt-4o', '99', String(own('gpt-4o'))],
    ['o1', '97', String(own('o1'))],
    ['o3-mini', '98', String(own('o3-mini'))],
  ]);
  expect(await gateway.call('status.overview', {})).toMatchObject({ prices_proposed: 3 });
  await expect(
    gateway.call('ratio.apply_proposal', { source: 'shipped', names: ['gpt-4o', 'nobody'] }),
  ).rejects.toMatchObject({ code: 'not_found' });
  const { version } = (await gateway.call('ratio.apply_proposal', { source: 'shipped', names: ['gpt-4o'] })) as {
    version: number;
  };
  expect(prices('ModelRatio')).toMatchObject({ 'gpt-4o': own('gpt-4o'), 'o3-mini': 98, o1: 97 });
  expect(await gateway.call('ratio.reject_proposal', { source: 'shipped', names: ['o1'] })).toEqual({ rejected: 1 });
  expect((await waiting(gateway)).map(({ name }) => name)).toEqual(['o3-mini']);
  await gateway.call('ratio.rollback', { version });
  expect(prices('ModelRatio')['gpt-4o']).toBe(99);
  await gateway.call('ratio.apply_proposal', { source: 'shipped' });
  expect(prices('ModelRatio')).toMatchObject({ 'o3-mini': own('o3-mini'), o1: 97 });
  await gateway.close();
});
