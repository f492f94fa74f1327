/** What a conversation cost, from its rows in the log. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import type { Settle } from '../../server/billing/ledger/commands.ts';
import type { Names } from '../../server/contract/names.ts';
import { createConversations } from '../../server/domain/logs/conversation.ts';
import { addUsers, openBooks, refund, settle } from '../ledger/support.ts';

let database: SqliteDatabase;
beforeEach(async () => {
  database = await openBooks();
  addUsers(database.raw, 1, 2);
});
afterEach(() => database.close());

let made = 0;
interface Turn {
  readonly user?: number;
  readonly at: number;
  readonly quota: number;
  readonly names: Names;
  /** Fresh, cached and written input. */
  readonly input?: readonly [number, number, number];
  readonly model?: string;
  readonly type?: number;
}
function turn({ user = 1, at, quota, names, input = [0, 0, 0], model = 'm', type = 2 }: Turn): Settle {
  const command = settle(`c${made++}`, user, quota);
  const [fresh, cached, written] = input;
  const facts = { input: fresh, cache_tokens: cached, cache_creation_tokens: written, group_ratio: 1 };
  const row = { createdAt: at, names, model, type, completionTokens: 3, other: JSON.stringify(facts) };
  return { ...command, log: command.log === null ? null : { ...command.log, ...row } };
}

test('a conversation is added up by questions and helpers, without other conversations, users and refused requests', async () => {
  createLedgerStore(database.raw).apply([
    turn({ at: 100, quota: 10, names: { session: 's', agent: 'codex', project: 'p' }, input: [5, 0, 20] }),
    turn({ at: 200, quota: 20, names: { session: 's', prompt: 'q1' }, input: [5, 15, 0], model: 'n' }),
    turn({ at: 300, quota: 30, names: { session: 's', prompt: 'q1', subagent: 'a' }, input: [0, 35, 0] }),
    turn({ at: 310, quota: 40, names: { session: 's', prompt: 'q1', subagent: 'b' } }),
    turn({ at: 400, quota: 50, names: { session: 's', prompt: 'q2', subagent: 'a' } }),
    turn({ at: 500, quota: 1000, names: { session: 't', prompt: 'q1' } }),
    turn({ user: 2, at: 600, quota: 2000, names: { session: 's', prompt: 'q1' } }),
    turn({ at: 700, quota: 0, names: { session: 's', prompt: 'q3' }, type: 5 }),
  ]);
  const conversations = createConversations({ database });
  const found = await conversations('s', { id: 1 });
  expect(found).toMatchObject({
    ...{ session: 's', username: 'u1', agent: 'codex', project: 'p', from: 100, to: 400, models: ['m', 'n'] },
    ...{ requests: 5, quota: 150, input_tokens: 80, cached_tokens: 50, output_tokens: 15 },
    ...{ subagents: 2, subagent_quota: 120, prompt_count: 3 },
  });
  expect(
    found.prompts.map((one) => [one.name, one.at, one.requests, one.quota, one.subagents, one.subagent_quota]),
  ).toEqual([
    ['', 100, 1, 10, 0, 0],
    ['q1', 200, 3, 90, 2, 70],
    ['q2', 400, 1, 50, 1, 50],
  ]);
  expect(found.helpers.map(({ name, requests, quota }) => [name, requests, quota])).toEqual([
    ['a', 2, 80],
    ['b', 1, 40],
  ]);
  expect((await conversations('s', { name: 'u2' })).quota).toBe(2000);
});

test('a conversation of more questions and helpers than are named is added up whole', async () => {
  const turns = Array.from({ length: 501 }, (_, at) =>
    turn({ at, quota: 1 + at, names: { session: 's', prompt: `q${at}`, subagent: `h${at}` }, input: [1, 2, 3] }),
  );
  createLedgerStore(database.raw).apply([
    ...turns,
    turn({ at: 900, quota: 7, names: { session: 's', prompt: 'q500', subagent: 'h0' } }),
  ]);
  const found = await createConversations({ database })('s', {});
  const quota = (501 * 502) / 2 + 7;
  expect(found).toMatchObject({
    ...{ requests: 502, quota, subagents: 501, subagent_quota: quota, prompt_count: 501, from: 0, to: 900 },
    ...{ input_tokens: 501 * 6, cached_tokens: 501 * 2, output_tokens: 502 * 3 },
  });
  expect(found.prompts.map(({ name }) => name)).toEqual(turns.slice(1).map((_, at) => `q${at + 1}`));
  expect(found.prompts.at(-1)).toMatchObject({ at: 500, requests: 2, quota: 508, subagents: 2, subagent_quota: 508 });
  expect(found.helpers).toHaveLength(500);
  expect(found.helpers[0]).toMatchObject({ name: 'h500', quota: 501 });
  // The cheapest one.
  expect(found.helpers.map(({ name }) => name)).not.toContain('h1');
});

test('a refunded amount is not counted in the cost of its conversation', async () => {
  const store = createLedgerStore(database.raw);
  const failed = turn({ at: 200, quota: 20, names: { session: 's', prompt: 'q', subagent: 'a' } });
  store.apply([turn({ at: 100, quota: 10, names: { session: 's', prompt: 'q' } }), failed]);
  store.apply([refund(failed.ref, 1, 15)]);
  const found = await createConversations({ database })('s', {});
  expect(found).toMatchObject({ requests: 2, quota: 15, subagent_quota: 5 });
  expect(found.prompts).toMatchObject([{ quota: 15, subagent_quota: 5 }]);
  expect(found.helpers).toMatchObject([{ name: 'a', quota: 5 }]);
});

test('a conversation that the user does not have, or that has no charged request, is not there', async () => {
  createLedgerStore(database.raw).apply([
    turn({ at: 100, quota: 10, names: { session: 's' } }),
    turn({ at: 100, quota: 0, names: { session: 'refused' }, type: 5 }),
  ]);
  const conversations = createConversations({ database });
  for (const [session, user] of [
    ['s', { id: 2 }],
    ['s', { name: 'nobody' }],
    ['other', {}],
    ['refused', { id: 1 }],
  ] as const)
    await expect(conversations(session, user)).rejects.toMatchObject({ code: 'not_found' });
});

test('where several users have a conversation of a name, the latest one is meant', async () => {
  createLedgerStore(database.raw).apply([
    turn({ user: 2, at: 86_400 * 20, quota: 7, names: { session: 's' } }),
    turn({ user: 1, at: 86_400 * 10, quota: 5, names: { session: 's' } }),
  ]);
  expect((await createConversations({ database })('s', {})).username).toBe('u2');
});
