import { expect, test } from 'vitest';
import {
  type CommandAnswer,
  type CommandMessage,
  createLedgerClient,
  type LedgerPort,
} from '../../server/billing/ledger/client.ts';
import { turn, VirtualTime } from '../support/virtual-time.ts';
import { grant, settle } from './support.ts';

test('answers that end one after another in one turn of the event loop travel to the ledger as one message', async () => {
  const messages: CommandMessage[] = [];
  const port: LedgerPort = { postMessage: (text) => messages.push(JSON.parse(String(text))), onmessage: null };
  const client = createLedgerClient(port);
  const results: unknown[] = [];
  for (let index = 0; index < 5; index++) {
    // Every answer ends in its own task: the microtasks of one have run before the next begins.
    await Promise.resolve();
    void client.execute(settle(`request-${index}`, 1, 10)).then((result) => results.push(result));
  }
  await turn();
  expect(messages.map(({ first, commands }) => [first, commands.length])).toEqual([[1, 5]]);
  const answers = JSON.stringify({ kind: 'answers', ids: [1, 2, 3, 4, 5], answers: [null, null, null, null, null] });
  port.onmessage?.({ data: answers } as MessageEvent<string>);
  await Promise.resolve();
  expect(results).toEqual(Array(5).fill({ status: 'done' }));
});

/** A port that answers on demand, and a clock that is moved by hand. */
function handClient() {
  const time = new VirtualTime();
  const port: LedgerPort = { postMessage: () => undefined, onmessage: null };
  const client = createLedgerClient(port, undefined, time);
  return {
    client,
    pass: (ms: number) => time.jump(ms),
    blocked: (ms: number) => time.block(ms),
    answer: (...answers: readonly CommandAnswer[]) =>
      port.onmessage?.({
        data: JSON.stringify({ kind: 'answers', ids: answers.map((_, index) => index + 1), answers }),
      } as MessageEvent<string>),
  };
}

test('paid work stops when the oldest settlement waits for more than a second, and goes on by itself', async () => {
  const { client, pass, answer } = handClient();
  const notified: boolean[] = [];
  client.onHealth(({ ok }) => notified.push(ok));
  void client.execute(settle('a', 1, 10));
  pass(500);
  void client.execute(settle('b', 1, 10));
  pass(400);
  expect(client.healthy().ok).toBe(true);
  pass(200);
  expect(client.healthy()).toMatchObject({ ok: false, reason: expect.stringContaining('disk') });
  expect(client.pending().count).toBe(2);
  answer(null);
  pass(100);
  expect(client.healthy().ok).toBe(true);
  answer(null, { status: 'refused', reason: 'invalid', detail: '' });
  pass(5000);
  expect(client.healthy().ok).toBe(true);
  expect(notified).toEqual([false, true]);
});

test('a thread that did not turn for ten seconds does not take its own sleep for a slow disk', () => {
  const { client, blocked } = handClient();
  void client.execute(settle('a', 1, 10));
  blocked(10_000);
  expect(client.healthy().ok).toBe(true);
});

test('the waiting time of the oldest is exact to the millisecond, sleep or not', () => {
  const { client, pass, blocked, answer } = handClient();
  expect(client.waitedMs()).toBe(0);
  void client.execute(settle('a', 1, 10));
  pass(7);
  void client.execute(settle('b', 1, 10));
  blocked(3000);
  expect(client.waitedMs()).toBe(3007);
  answer(null);
  expect(client.waitedMs()).toBe(3000);
  answer(null, null);
  expect(client.waitedMs()).toBe(0);
});

test('when the ledger is gone, what was asked is refused, what is owed is kept, later ends too, until it is written elsewhere', async () => {
  const { client } = handClient();
  const before = client.execute(settle('before', 1, 10));
  const requested = client.execute(grant('asked', 1, 10));
  requested.catch(() => undefined);
  client.fail('gone');
  const after = client.execute(settle('after', 1, 20));
  await expect(requested).rejects.toMatchObject({ code: 'storage_unavailable' });
  await expect(client.execute(grant('late', 1, 10))).rejects.toMatchObject({ code: 'storage_unavailable' });
  expect(client.healthy()).toEqual({ ok: false, reason: 'gone' });
  await expect(client.saveUnsettled(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
  const saved: string[] = [];
  expect(await client.saveUnsettled(async (commands) => void saved.push(...commands.map(({ ref }) => ref)))).toBe(2);
  expect(saved).toEqual(['before', 'after']);
  expect(await Promise.all([before, after])).toEqual([{ status: 'done' }, { status: 'done' }]);
  expect(client.pending().count).toBe(0);
});

test('a command that the disk refused is a failure of storage, whatever the answers beside it say', async () => {
  const { client, answer } = handClient();
  const [written, rejected, failed] = [grant('a', 1, 10), grant('b', 1, 10), grant('c', 1, 10)].map((command) =>
    client.execute(command),
  );
  answer(null, { status: 'refused', reason: 'invalid', detail: 'x' }, 'database or disk is full');
  expect(await written).toEqual({ status: 'done' });
  expect(await rejected).toMatchObject({ status: 'refused', detail: 'x' });
  await expect(failed).rejects.toMatchObject({
    code: 'storage_unavailable',
    params: { reason: 'the books cannot be written at the moment' },
    // For the operator's log.
    cause: { message: 'database or disk is full' },
  });
});

test('a bill that the books reject after it was acknowledged is reported and counted', () => {
  const port: LedgerPort = { postMessage: () => undefined, onmessage: null };
  const client = createLedgerClient(port);
  const told: string[] = [];
  client.onRejected((ref, reason) => told.push(`${ref} ${reason}`));
  expect(client.turnedDown()).toBe(0);
  for (const ref of ['a', 'b'])
    port.onmessage?.({ data: JSON.stringify({ kind: 'rejected', ref, reason: 'conflict' }) } as MessageEvent<string>);
  expect([client.turnedDown(), told]).toEqual([2, ['a conflict', 'b conflict']]);
});
