/** What a node does while its database cannot be reached: callers get an error at once, in our own words; the driver's are for the operator. */
import { expect, test } from 'vitest';
import { PostgresLedger } from '../../db/ledger/postgres/store.ts';
import type { Line } from '../../db/postgres/line.ts';
import { leaseSecondsIn } from '../../server/cluster/order.ts';
import { callerReason, reasonText } from '../../server/contract/storage-reasons.ts';

const rejected = () => Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' });

function storeOver(connect: () => Promise<Line>) {
  const messages: string[] = [];
  const clock = { at: 0 };
  const store = new PostgresLedger({
    connect,
    node: { name: 'n', version: 'test', schema: '' },
    acknowledged: {
      keep: () => undefined,
      discard: () => undefined,
      since: () => [],
      markResent: () => undefined,
      marks: () => [],
    },
    onEpoch: () => undefined,
    onUnlisted: () => undefined,
    onConnectionError: (error) => void messages.push(error instanceof Error ? error.message : 'again'),
    monoNow: () => clock.at,
    newRun: () => 'run',
    now: () => 0,
  });
  return { store, messages, clock };
}

/** A server that is content with whatever it is asked. */
const content: Line = {
  broken: false,
  wasLocal: () => false,
  close: () => undefined,
  send: async (statements) =>
    statements.map(({ text }) => ({ rows: [{ epoch: 1, seq: 1 }], command: text === 'COMMIT' ? 'COMMIT' : '' })),
};

test('the database counts as away from the first connection that fails until one succeeds, and the operator is notified of both once', async () => {
  let gone = true;
  const { store, messages } = storeOver(async () => {
    if (gone) throw rejected();
    return content;
  });
  expect(store.unavailable()).toBe(false);
  for (let n = 0; n < 3; n++) await expect(store.probe()).rejects.toThrow('ECONNREFUSED');
  expect([store.unavailable(), messages]).toEqual([true, ['connect ECONNREFUSED 10.0.0.5:5432']]);
  gone = false;
  await store.probe();
  expect([store.unavailable(), messages]).toEqual([false, ['connect ECONNREFUSED 10.0.0.5:5432', 'again']]);
});

test('the database counts as away while a transaction has no answer', async () => {
  const gate = Promise.withResolvers<Line>();
  const { store, clock } = storeOver(() => gate.promise);
  const probe = store.probe();
  await Promise.resolve();
  clock.at += 1999;
  expect(store.unavailable()).toBe(false);
  clock.at += 1;
  expect(store.unavailable()).toBe(true);
  gate.resolve(content);
  await probe;
  expect(store.unavailable()).toBe(false);
});

test('the words of a driver are none for callers; those of a server that answers are none either, and ours stay', () => {
  const { store } = storeOver(async () => content);
  const unavailable = reasonText('database_away');
  for (const error of [
    rejected(),
    new Error('Connection terminated unexpectedly'),
    new Error('timeout expired'),
    Object.assign(new Error('terminating connection due to administrator command'), {
      severity: 'FATAL',
      code: '57P01',
    }),
  ])
    expect(store.reasonOf(error)).toBe(unavailable);
  const full = Object.assign(new Error('could not extend file'), { severity: 'ERROR', code: '53100' });
  expect(store.reasonOf(full)).toBeNull();
  expect(callerReason(full.message)).toBe(reasonText('unwritable'));
  expect(callerReason(unavailable)).toBe(unavailable);
  expect(store.reasonOf(new Error(reasonText('standby_silent')))).toBeNull();
});

test('how long a lease lasts is set within bounds', () => {
  expect([leaseSecondsIn({}), leaseSecondsIn({ GATEWAY_LEASE_SECONDS: '60' })]).toEqual([30, 60]);
  for (const wrong of ['9', '601', '12.5', 'soon'])
    expect(() => leaseSecondsIn({ GATEWAY_LEASE_SECONDS: wrong })).toThrow(expect.objectContaining({ code: 'usage' }));
});
