/** What this machine may spend is leased to it: no request is refused, shortened or cut because the balance lies elsewhere. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { UserSlot } from '../../server/billing/balances/slot.ts';
import { createLeasedBalances } from '../../server/billing/leases/leased-balance.ts';
import { AppError } from '../../server/contract/errors.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { Evidence } from '../../server/relay/admission/evidence.ts';
import {
  createLeaseClient,
  type LeaseOutcome,
  type LeaseSource,
  type Lessee,
} from '../../server/relay/admission/lease-client.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
/** The ledger of the site: the balance that is not leased. */
let free: number;
/** The limit of a key that is not leased. */
let allowed: number;
let leases: { readonly to: Lessee; readonly more: number; readonly lease: LeaseOutcome }[];
/** The outcome where the ledger has too little. */
let scarce: LeaseOutcome;
/** What is left in all, with what requests on other machines hold; 0 = they hold nothing. */
let total: number;
/** Resolves each lease request. */
let gate: Promise<void>;

const leaseSource: LeaseSource = {
  async acquire(to, _more, more) {
    await gate;
    const { accounts, memory } = gateway.balances.money;
    const leased = createLeasedBalances({ accounts, memory });
    const amount = Math.min(free, more);
    const lease: LeaseOutcome = amount < more || (to.tokenId !== 0 && allowed < more) ? scarce : 'granted';
    if (!to.selfUse && amount > 0) {
      free -= amount;
      leased.addLease({ kind: 'account', userId: to.userId, id: to.userId }, amount);
    }
    if (to.tokenId !== 0)
      leased.addLease({ kind: 'token', userId: to.userId, id: to.tokenId }, Math.min(allowed, more));
    leases.push({ to, more, lease });
    return lease;
  },
  limits: async () => ({ limit: total + 50, used: 50 }),
  funds: async () => ({ balance: 0, limit: null, used: 0, dayUsed: 0, monthUsed: 0 }),
};

beforeEach(async () => {
  free = 1_000_000;
  allowed = 1_000_000;
  leases = [];
  total = 0;
  scarce = 'exhausted';
  gate = Promise.resolve();
  upstream = await startUpstream(() => undefined);
  // What is waited for comes at once here, or not at all.
  const timers = { ...systemTimers, monoNow: () => 20 * systemTimers.monoNow() };
  gateway = await createTestGateway({ leased: true, relay: { leaseSource, timers } });
  await gateway.channel(upstream.url);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
  await upstream.stop();
});

const answer = (tokens: number) =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: tokens, total_tokens: 10 + tokens },
  });
const answers = (tokens = 5) =>
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answer(tokens));
  });
const ask = { model: 'gpt-4o-mini', max_tokens: 1000, messages: [{ role: 'user', content: 'hi' }] };
const left = () => gateway.balances.account(gateway.userId, 0).available();

/** Top-ups so far, as this machine knows them. */
const payIn = (quota: number) =>
  gateway.balances.money.memory.set(gateway.balances.account(gateway.userId, 0).user + UserSlot.paidIn, quota);

test('a first request waits for its lease and is sent unchanged; the rest of the lease serves the next', async () => {
  answers();
  const { key } = await gateway.token();
  expect(left()).toBe(0);
  const first = await gateway.chat(key, ask);
  expect(first.status).toBe(200);
  expect(JSON.parse(String(upstream.requests[0]?.body))).toEqual(ask);
  expect(leases).toHaveLength(1);
  const [{ more = 0 } = {}] = leases;
  expect(left()).toBeLessThan(more);
  expect(left()).toBeGreaterThan(0);
  const second = await gateway.chat(key, { ...ask, max_tokens: 10 });
  expect(second.status).toBe(200);
  expect(leases).toHaveLength(1);
});

test('many requests at once wait for one lease that is enough for all of them', async () => {
  answers();
  const { key } = await gateway.token();
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const requested = Array.from({ length: 20 }, () => gateway.chat(key, ask));
  await new Promise((resolve) => setTimeout(resolve, 20));
  opened.resolve();
  const statuses = (await Promise.all(requested)).map(({ status }) => status);
  expect(statuses).toEqual(Array(20).fill(200));
  // The first asked alone, the others while it did.
  expect(leases.length).toBeLessThanOrEqual(2);
  for (const { body } of upstream.requests) expect(JSON.parse(String(body))).toEqual(ask);
});

test('when the whole balance is leased and too little, the request is shortened; without a balance it is refused', async () => {
  answers();
  const { key } = await gateway.token();
  free = 100;
  const shorter = await gateway.chat(key, { ...ask, max_tokens: 4000 });
  expect(shorter.status).toBe(200);
  expect(JSON.parse(String(upstream.requests[0]?.body)).max_tokens).toBeLessThan(4000);
  free = 0;
  gateway.balances.account(gateway.userId, 0).settle({ reserved: 0, charged: left() });
  const rejected = await gateway.chat(key, ask);
  expect(rejected.status).toBe(403);
  expect(await rejected.json()).toMatchObject({ error: { code: 'user_exhausted' } });
});

test('quota that other machines hold is for later: 503 with Retry-After, and no upstream was asked', async () => {
  const { key } = await gateway.token();
  free = 0;
  scarce = 'elsewhere';
  const rejected = await gateway.chat(key, ask);
  expect(rejected.status).toBe(503);
  expect(rejected.headers.get('retry-after')).toBe('2');
  expect(await rejected.json()).toMatchObject({ error: { code: 'balance_elsewhere' } });
  expect(upstream.requests).toHaveLength(0);
});

test.each([
  ['exhausted', 1_000_000],
  ['elsewhere', 0],
] as const)(
  'what requests on other machines hold is asked for until it comes free, and the request is sent unchanged: %s',
  async (outcome, all) => {
    answers();
    const { key } = await gateway.token();
    [free, scarce, total] = [0, outcome, all];
    const asked = gateway.chat(key, ask);
    while (leases.length < 2) await new Promise((resolve) => setImmediate(resolve));
    free = 1_000_000;
    expect((await asked).status).toBe(200);
    expect(JSON.parse(String(upstream.requests[0]?.body))).toEqual(ask);
  },
);

test('a request that was never first in line for two seconds is refused for what the ledger says, not told to try again', async () => {
  const { key } = await gateway.token();
  free = 0;
  const account = gateway.balances.account(gateway.userId, 0);
  const ticket = account.join('balance') ?? -1;
  const refused = await gateway.chat(key, ask);
  expect([refused.status, (await refused.json()).error.code]).toEqual([403, 'user_exhausted']);
  expect(leases.length).toBe(1);
  account.leave('balance', ticket);
});

test('the thirty-third request of a user that waits for a lease asks for one of its own: there may be plenty', async () => {
  answers();
  const { key } = await gateway.token();
  const account = gateway.balances.account(gateway.userId, 0);
  const tickets = Array.from({ length: 32 }, () => account.join('balance') ?? -1);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect(leases).toHaveLength(1);
  for (const ticket of tickets) account.leave('balance', ticket);
});

test('a key that is switched off while its lease is asked for is refused, and nothing is held', async () => {
  const { id, key } = await gateway.token();
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const asked = gateway.chat(key, ask);
  await gateway.services.tokens.update(id, null, { status: 2 }, true);
  await gateway.sync();
  opened.resolve();
  const refused = await asked;
  expect([refused.status, (await refused.json()).error.code]).toEqual([401, 'token_disabled']);
  expect(left()).toBe(1_000_000 - free);
  expect([leases.length, upstream.requests.length]).toEqual([1, 0]);
});

test('counting the prompt is no part of these two seconds', async () => {
  await gateway.close();
  const timers = { ...systemTimers, monoNow: () => 20 * systemTimers.monoNow() };
  const counter = {
    count: (_model: string, texts: readonly string[]) => Bun.sleep(110).then(() => texts.map(() => 1)),
  };
  gateway = await createTestGateway({
    leased: true,
    relay: { leaseSource, timers, counter: { ...counter, close: () => undefined } },
  });
  await gateway.channel(upstream.url);
  answers();
  const { key } = await gateway.token();
  [free, scarce, total] = [0, 'exhausted', 1_000_000];
  const asked = gateway.chat(key, ask);
  while (leases.length < 1) await new Promise((resolve) => setImmediate(resolve));
  free = 1_000_000;
  expect((await asked).status).toBe(200);
  expect(JSON.parse(String(upstream.requests[0]?.body))).toEqual(ask);
});

test('a lease is waited for two seconds at most, however long the ledger takes; then the quota here decides', async () => {
  answers();
  const { key } = await gateway.token();
  [free, scarce, total] = [0, 'exhausted', 1_000_000];
  const began = systemTimers.monoNow();
  const rejected = await gateway.chat(key, ask);
  expect((await rejected.json()).error.code).toBe('user_exhausted');
  expect(20 * (systemTimers.monoNow() - began)).toBeGreaterThanOrEqual(2000);
  const { accounts, memory } = gateway.balances.money;
  createLeasedBalances({ accounts, memory }).addLease(
    { kind: 'account', userId: gateway.userId, id: gateway.userId },
    100,
  );
  leases.length = 0;
  const first = gateway.chat(key, { ...ask, max_tokens: 4000 });
  while (leases.length < 1) await new Promise((resolve) => setImmediate(resolve));
  gate = new Promise(() => undefined);
  expect((await first).status).toBe(200);
  expect(JSON.parse(String(upstream.requests[0]?.body)).max_tokens).toBeLessThan(4000);
});

/** Another thread of this machine holds all that lies here, after the check and before the lock. */
const steals = (times: number) => {
  const { balances, userId } = gateway;
  vi.restoreAllMocks();
  const { memory } = balances.money;
  const { lock } = memory;
  const account = balances.account(userId, 0);
  let left = times;
  let steals = false;
  vi.spyOn(memory, 'lock').mockImplementation((stripe) => {
    const room = account.available();
    if (!steals && left > 0 && room > 0) {
      left--;
      steals = true;
      expect(account.reserve(room)).toEqual({ ok: true });
      steals = false;
    }
    lock(stripe);
  });
};

test('a lease that another thread has taken is acquired again; the request is sent unchanged', async () => {
  answers();
  const { key } = await gateway.token();
  steals(1);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect(JSON.parse(String(upstream.requests[0]?.body))).toEqual(ask);
  expect(leases).toHaveLength(2);
  // It lay here already, and was taken between the look and the hold.
  const more = gateway.balances.money;
  createLeasedBalances(more).addLease(
    { kind: 'account', userId: gateway.userId, id: gateway.userId },
    leases[0]?.more ?? 0,
  );
  steals(1);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect(JSON.parse(String(upstream.requests[1]?.body))).toEqual(ask);
});

test('when other threads take it again and again, that is for later, and no upstream was asked', async () => {
  const { key } = await gateway.token();
  steals(1000);
  const rejected = await gateway.chat(key, ask);
  expect(rejected.status).toBe(503);
  expect(await rejected.json()).toMatchObject({ error: { code: 'balance_elsewhere' } });
  expect(upstream.requests).toHaveLength(0);
});

test('the limit of a key is leased besides the balance; a key without a limit needs no lease of it', async () => {
  answers();
  const limited = await gateway.token({ unlimited_quota: false, remain_quota: 500_000 });
  expect((await gateway.chat(limited.key, ask)).status).toBe(200);
  expect(leases.map(({ to }) => to.tokenId)).toEqual([limited.id]);
  const unlimited = await gateway.token();
  gateway.balances.account(gateway.userId, 0).settle({ reserved: 0, charged: left() });
  expect((await gateway.chat(unlimited.key, ask)).status).toBe(200);
  expect(leases.at(-1)?.to.tokenId).toBe(0);
});

test('budgets are leased as a limit is; a refusal names the one that is used up, and when it resets', async () => {
  answers();
  const { key, id } = await gateway.token({ day_budget: 500_000, month_budget: 900_000 });
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect(leases.map(({ to }) => to.tokenId)).toEqual([id]);
  allowed = 0;
  const { accounts, memory } = gateway.balances.money;
  createLeasedBalances({ accounts, memory }).reclaim({ kind: 'token', userId: gateway.userId, id }, 1_000_000);
  for (const [lease, seconds] of [
    ['day', 86_400],
    ['month', 31 * 86_400],
  ] as const) {
    scarce = lease;
    const rejected = await gateway.chat(key, ask);
    expect(rejected.status).toBe(429);
    expect(await rejected.json()).toMatchObject({ error: { code: `token_budget_${lease}` } });
    const waits = Number(rejected.headers.get('retry-after'));
    expect(waits).toBeGreaterThan(0);
    expect(waits).toBeLessThanOrEqual(seconds);
  }
});

test('a key whose budget has reset, while another thread has taken the leased balance, is refused with a time to retry', async () => {
  const { key } = await gateway.token({ day_budget: 500_000 });
  [scarce, free] = ['day', 0];
  const rejected = await gateway.chat(key, ask);
  expect(rejected.status).toBe(503);
  expect(await rejected.json()).toMatchObject({ error: { code: 'balance_elsewhere' } });
  expect(upstream.requests).toHaveLength(0);
});

test('a key that is used up is refused as that, also when the leased balance was recalled meanwhile and is acquired again', async () => {
  const { key, id } = await gateway.token({ unlimited_quota: false, remain_quota: 500_000 });
  const { accounts, memory } = gateway.balances.money;
  const leased = createLeasedBalances({ accounts, memory });
  scarce = 'token-exhausted';
  allowed = 10;
  // The leased balance is returned to the ledger before the request takes it.
  free = 0;
  const acquire = vi.spyOn(leaseSource, 'acquire').mockImplementationOnce(async () => {
    leased.addLease({ kind: 'token', userId: gateway.userId, id }, 10);
    return 'token-exhausted';
  });
  acquire.mockImplementationOnce(async () => {
    leased.addLease({ kind: 'account', userId: gateway.userId, id: gateway.userId }, 1000);
    leased.reclaim({ kind: 'token', userId: gateway.userId, id }, 10);
    return 'token-exhausted';
  });
  const rejected = await gateway.chat(key, { ...ask, max_tokens: 5 });
  expect([rejected.status, (await rejected.json()).error.code]).toEqual([403, 'token_exhausted']);
  expect(acquire).toHaveBeenCalledTimes(2);
  // A refused caller is checked before the request is read, and nothing of the balance lies here.
  leased.reclaim({ kind: 'account', userId: gateway.userId, id: gateway.userId }, 1000);
  leased.addLease({ kind: 'token', userId: gateway.userId, id }, 10);
  acquire.mockImplementation(async () => 'token-exhausted');
  const again = await gateway.chat(key, ask);
  expect([again.status, (await again.json()).error.code]).toEqual([403, 'token_exhausted']);
  expect(upstream.requests).toHaveLength(0);
});

test('a stream that outgrows what lies here waits for more and loses nothing', async () => {
  vi.spyOn(Evidence.prototype, 'likely').mockImplementation(({ plan }) => {
    const channel = plan.candidates.at(0);
    return channel === undefined ? null : { size: plan.estimate, channel, key: channel.keys[0] ?? '', mayGrow: true };
  });
  payIn(1_000_000);
  const { key } = await gateway.token();
  const words = 'y'.repeat(2000);
  const frame = (content: string, finish: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 0; n < 6; n++) response.write(frame(words));
    const usage = { prompt_tokens: 10, completion_tokens: 12_000, total_tokens: 12_010 };
    response.end(`${frame('', 'stop')}data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
  const response = await gateway.chat(key, { ...ask, stream: true, max_tokens: 16_000 });
  const text = await response.text();
  expect(text.split(words).length - 1).toBe(6);
  expect(text).toContain('[DONE]');
  expect(leases.length).toBeGreaterThan(1);
});

test('an idle lease is taken back, a held one is not', () => {
  const { accounts, memory } = gateway.balances.money;
  const leased = createLeasedBalances({ accounts, memory });
  const subject = { kind: 'account', userId: gateway.userId, id: gateway.userId } as const;
  expect(leased.addLease(subject, 1000)).toBe(true);
  expect(gateway.balances.account(gateway.userId, 0).reserve(400)).toEqual({ ok: true });
  expect(leased.reclaim(subject, 10_000)).toBe(600);
  expect(leased.reclaim(subject, 10_000)).toBe(0);
  gateway.balances.account(gateway.userId, 0).settle({ reserved: 400, charged: 150 });
  expect(leased.reclaim(subject, 100)).toBe(100);
  expect(leased.reclaim(subject, 10_000)).toBe(150);
  expect(left()).toBe(0);
  expect(leased.reclaim({ kind: 'account', userId: 999, id: 999 }, 5)).toBe(0);
});

test('leases of users are acquired separately; a key’s self-use lease is acquired once for all of its users', async () => {
  const requested: Lessee[] = [];
  const room = new Map<string, number>();
  const nameOf = ({ userId, tokenId, selfUse }: Lessee) => `${selfUse ? 'house' : userId}/${tokenId}`;
  const source = {
    ...leaseSource,
    async acquire(to: Lessee, more: number): Promise<'granted'> {
      requested.push(to);
      room.set(nameOf(to), (room.get(nameOf(to)) ?? 0) + more);
      return 'granted';
    },
  };
  const { acquire } = createLeaseClient(
    source,
    () => undefined,
    () => 0,
  );
  const wants = (to: Lessee) => acquire(to, 10, () => room.get(nameOf(to)) ?? 0);
  const [ann, bob] = [1, 2].map((userId) => ({ userId, tokenId: 0, selfUse: false })) as [Lessee, Lessee];
  expect(await Promise.all([wants(ann), wants(bob)])).toEqual(['granted', 'granted']);
  expect(requested).toEqual([ann, bob]);
  requested.length = 0;
  const [first, second] = [1, 2].map((userId) => ({ userId, tokenId: 7, selfUse: true })) as [Lessee, Lessee];
  expect(await Promise.all([wants(first), wants(second)])).toEqual(['granted', 'granted']);
  // What was leased for the first is enough for both.
  expect(requested).toEqual([first]);
});

test('a machine is out of leases when for a second no request was covered and the ledger could not be asked, and no sooner', async () => {
  let now = 0;
  let isAway = true;
  let free = 0;
  const source: LeaseSource = {
    ...leaseSource,
    async acquire() {
      if (isAway) throw new AppError('storage_unavailable', { reason: 'away', seconds: 5 });
      free = 10;
      return 'granted';
    },
  };
  const lost: unknown[] = [];
  const { acquire, prefetch, reserved, isOutOfLeases } = createLeaseClient(
    source,
    (error) => void lost.push(error),
    () => now,
  );
  const to = { userId: 1, tokenId: 0, selfUse: false };
  const want = () => acquire(to, 10, () => free);
  // What is leased ahead of time is lacked by nobody.
  prefetch(to, 10, () => free);
  await expect.poll(() => lost.length).toBe(1);
  now = 5000;
  expect(isOutOfLeases()).toBe(false);
  await expect(want()).rejects.toMatchObject({ code: 'storage_unavailable' });
  now = 5999;
  expect(isOutOfLeases()).toBe(false);
  await expect(want()).rejects.toThrow();
  now = 6000;
  expect(isOutOfLeases()).toBe(true);
  reserved();
  expect(isOutOfLeases()).toBe(false);
  await expect(want()).rejects.toThrow();
  now = 9000;
  expect(isOutOfLeases()).toBe(true);
  isAway = false;
  expect(await want()).toBe('granted');
  expect(isOutOfLeases()).toBe(false);
});

test('while the ledger cannot be asked, a request that is covered shows that others may be served', async () => {
  answers();
  let now = 0;
  await gateway.close();
  let isAway = false;
  gateway = await createTestGateway({
    leased: true,
    relay: {
      timers: { ...systemTimers, monoNow: () => now },
      leaseSource: {
        ...leaseSource,
        acquire(to, more, requested) {
          if (isAway) throw new AppError('storage_unavailable', { reason: 'away', seconds: 5 });
          return leaseSource.acquire(to, more, requested);
        },
      },
    },
  });
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  expect((await gateway.chat(key, ask)).status).toBe(200);
  isAway = true;
  // More than what is left of the lease.
  const large = { ...ask, max_tokens: 3000 };
  expect((await gateway.chat(key, large)).status).toBe(503);
  now = 1000;
  expect(gateway.relay.isOutOfLeases()).toBe(true);
  expect((await gateway.chat(key, { ...ask, max_tokens: 10 })).status).toBe(200);
  expect(gateway.relay.isOutOfLeases()).toBe(false);
});
