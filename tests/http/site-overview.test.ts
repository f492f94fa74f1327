/** What `gateway status` reads: a line for what is worth one, and none while all is well. */
import { expect, test } from 'vitest';
import { pricesDate } from '../../server/contract/pricing/defaults.ts';
import type { StorageStatus } from '../../server/contract/storage.ts';
import { siteHandlers } from '../../server/http/admin/site.ts';

type Call = Parameters<(typeof siteHandlers)['status.overview']>[0];

const overview = (storage: Partial<StorageStatus>, openCode: string | null = null, via = 'local', relayThreads = 0) => {
  const services = {
    setup: { openCode: async () => openCode, isDone: async () => openCode === null },
    channels: { list: async () => ({ items: [{ status: 1 }, { status: 2 }, { status: 3 }], total: 3 }) },
    tokens: { list: async () => ({ items: [], total: 4 }) },
    logs: { stat: async () => ({ rpm: 5, tpm: 6 }) },
    users: { count: async () => 2 },
    options: { now: () => Date.parse(`${pricesDate}T12:00:00Z`) },
    proposals: { count: async () => 3 },
    storage: () => ({ ok: true, reason: '', waiting: 0, late: 0, refused: 0, ...storage }),
    relayThreads,
  };
  return siteHandlers['status.overview']({ services, actor: { via }, input: {} } as unknown as Call);
};
/** On the day of the shipped prices. */
const sound = {
  ...{ prices_as_of: pricesDate, prices_age_days: 0, prices_proposed: 3 },
  ...{ users: 2, tokens: 4, channels: 3, channels_disabled: 2, rpm: 5, tpm: 6, setup: true, storage: 'ok' },
};

test('while all is well there is no line about trouble', async () => {
  expect(await overview({})).toEqual(sound);
  expect(await overview({}, null, 'local', 3)).toEqual({ ...sound, relays: 3 });
});

test('one late end, one refused settlement and what waits are said', async () => {
  expect(await overview({ late: 1 })).toEqual({ ...sound, late_ends: 1 });
  expect(await overview({ refused: 1 })).toEqual({ ...sound, settlements_refused: 1 });
  expect(await overview({ ok: false, reason: 'disk_full', waiting: 7 })).toEqual({
    ...{ ...sound, storage: 'disk_full', settlements_waiting: 7 },
  });
});

test('the code of a first setup is for the machine alone', async () => {
  expect(await overview({}, 'abcd')).toEqual({ ...sound, setup: false, setup_code: 'abcd' });
  expect(await overview({}, 'abcd', 'token')).not.toHaveProperty('setup_code');
});
