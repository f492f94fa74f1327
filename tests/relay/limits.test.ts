import { expect, test } from 'vitest';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { createWindows, ringCells } from '../../server/billing/balances/rate-windows.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { AppError } from '../../server/contract/errors.ts';
import { defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { reserveEstimate } from '../../server/contract/pricing/reserve.ts';
import { compilePriceTables, resolvePrices } from '../../server/contract/pricing/tables.ts';
import type { TokenLimits } from '../../server/contract/snapshot.ts';
import { affordableOutput } from '../../server/relay/admission/answer-limit.ts';
import { Limits } from '../../server/relay/admission/limits.ts';
import { createSiteRates } from '../../server/relay/admission/site-rates.ts';
import type { Principal } from '../../server/relay/intake/parsed-request.ts';
import { estimatedPromptTokens, noPrompt } from '../../server/relay/intake/prompt.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';

const noLimits: TokenLimits = { rpm: 0, tpm: 0, concurrency: 0, dayBudget: 0, monthBudget: 0 };
const never = { at: 0, used: 0 };

const principal = (limits: Partial<TokenLimits> | null, day = never, month = never, userId = 1): Principal => ({
  keyHmac: '',
  user: {
    id: userId,
    username: 'u',
    role: 1,
    status: 1,
    group: 'default',
    balance: 0,
    used: 0,
    balanceVersion: 0,
    overrun: 0,
    setting: {},
  },
  token: {
    id: 5,
    userId,
    name: 'laptop',
    keyHmac: '',
    status: 1,
    expiresAt: -1,
    unlimited: true,
    quotaLimit: 0,
    used: 0,
    modelLimits: null,
    oldKey: null,
    allowIps: [],
    group: '',
    limits: limits === null ? null : { ...noLimits, ...limits },
    periods: { day, month },
  },
  group: 'default',
  pinnedChannel: null,
});

const start = Date.UTC(2026, 0, 31, 23, 0, 0);

interface Use {
  readonly tokens: number;
  readonly output?: number;
  /** Of the key's budgets. */
  readonly reserve: number;
}
interface End {
  readonly tokens: number;
  readonly charged: number;
  readonly success: boolean;
}

function setUp(options: Record<string, string> = {}) {
  const clock = { now: start };
  const settings = compileSettings(new Map(Object.entries(options)), 0);
  const money = createMoney();
  const balances = new Balances(money, () => clock.now);
  const limits = new Limits({ state: { settings }, monoNow: () => clock.now, money });
  const accountOf = ({ user, token }: Principal) => {
    money.accounts.observeUser(user);
    if (token !== null) money.accounts.seenToken(token);
    return balances.account(user.id, token?.id ?? 0);
  };
  const admit = (who: Principal, { tokens, output = 0, reserve }: Use) => {
    const account = accountOf(who);
    const admission = limits.enter(who, {});
    const keyLimits = who.token?.limits ?? null;
    try {
      admission.reserve({ tokens, output });
      const answer = account.reserve(0, { budget: reserve, limits: keyLimits });
      if (!answer.ok && answer.scope === 'budget')
        throw new AppError(answer.period === 'day' ? 'token_budget_day' : 'token_budget_month', {
          remain: answer.remain,
          need: reserve,
          seconds: answer.seconds,
        });
    } catch (error) {
      admission.rollBack();
      throw error;
    }
    return {
      extend: (more: number) => account.reserve(0, { budget: more, limits: keyLimits }).ok,
      ended(end: End) {
        admission.ended(end.tokens, end.success);
        account.settle({ reserved: 0, charged: end.charged, budget: reserve });
      },
      withdraw() {
        admission.rollBack();
        account.settle({ reserved: 0, charged: 0, budget: reserve });
      },
    };
  };
  /** Error code and params, or the admission. */
  const ask = (who: Principal, requested: Use = { tokens: 10, reserve: 10 }) => {
    try {
      return { admission: admit(who, requested), error: null };
    } catch (error) {
      return { admission: null, error: error as { code: string; params: Record<string, number | string> } };
    }
  };
  return { clock, ask, limits, accountOf };
}
const done = { tokens: 10, charged: 10, success: true };
const failed = { tokens: 0, charged: 0, success: false };

test('requests per minute: never more than the limit in any minute, and the reported wait suffices, or a slot behind a whole minute', () => {
  const { clock, ask } = setUp();
  const who = principal({ rpm: 10 });
  const admitted: number[] = [];
  for (let step = 0; step < 2000; step++) {
    const { admission, error } = ask(who);
    if (admission === null) {
      expect(error).toMatchObject({ code: 'limit_rpm', params: { who: 'API key laptop', limit: 10 } });
      const told = Number(error?.params.seconds);
      clock.now += told * 1000;
      const next = ask(who);
      if (next.admission === null) {
        expect([told, [1, 2].includes(Number(next.error?.params.seconds))]).toEqual([60, true]);
        clock.now += Number(next.error?.params.seconds) * 1000;
        expect(ask(who).admission).not.toBeNull();
      }
    }
    admitted.push(clock.now);
    clock.now += (step * 7919) % 3000;
  }
  for (const [index, at] of admitted.entries()) {
    const inMinute = admitted.slice(index).filter((other) => other - at < 60_000).length;
    expect(inMinute).toBeLessThanOrEqual(10);
  }
});

test('tokens per minute follow what was really used', () => {
  const { clock, ask } = setUp();
  const who = principal({ tpm: 100 });
  ask(who, { tokens: 40, reserve: 0 }).admission?.ended({ tokens: 90, charged: 0, success: true });
  expect(ask(who, { tokens: 20, reserve: 0 }).error).toMatchObject({ code: 'limit_tpm', params: { limit: 100 } });
  clock.now += 20_000;
  const later = ask(who, { tokens: 20, reserve: 0 }).error;
  expect(Number(later?.params.seconds)).toBeGreaterThan(35);
  expect(Number(later?.params.seconds)).toBeLessThan(45);
  clock.now += 43_000;
  const { admission } = ask(who, { tokens: 100, reserve: 0 });
  expect(ask(who, { tokens: 1, reserve: 0 }).error?.code).toBe('limit_tpm');
  admission?.ended({ ...done, tokens: 30 });
  expect(ask(who, { tokens: 70, reserve: 0 }).error).toBeNull();
});

test('a prompt larger than the limit may go when nothing else is counted', () => {
  const { ask } = setUp();
  expect(ask(principal({ tpm: 100 }), { tokens: 500, reserve: 0 }).error).toBeNull();
});

test('requests that answer at the same time never pass the tokens per minute by more than one of them', () => {
  const { ask, clock } = setUp();
  const who = principal({ tpm: 1000 });
  const all = Array.from({ length: 60 }, () => ask(who, { tokens: 10, output: 100, reserve: 0 }));
  const admitted = all.flatMap(({ admission }) => (admission === null ? [] : [admission]));
  // Nine whole ones, and one that takes what is left.
  expect(admitted).toHaveLength(10);
  expect(all.at(-1)?.error).toMatchObject({ code: 'limit_tpm', params: { limit: 1000 } });
  clock.now += 1000;
  for (const admission of admitted) admission.ended({ ...done, tokens: 20 });
  // What was not used is free again.
  expect(ask(who, { tokens: 10, output: 100, reserve: 0 }).error).toBeNull();
});

test('a long limit for the answer is no reason to be refused: one request at a time takes what is left', () => {
  const { ask, clock } = setUp();
  const who = principal({ tpm: 1000 });
  const large = { tokens: 50, output: 64_000, reserve: 0 };
  for (let n = 0; n < 5; n++) {
    const { admission } = ask(who, large);
    expect(ask(who, large).error?.code).toBe('limit_tpm');
    clock.now += 100;
    admission?.ended({ ...done, tokens: 150 });
  }
  // 750 are used, and what is left does for some more.
  const sixth = ask(who, large).admission;
  sixth?.withdraw();
  const small = ask(who, { tokens: 50, output: 100, reserve: 0 }).admission;
  const last = ask(who, large).admission;
  expect([sixth, small, last]).not.toContain(null);
  small?.ended({ ...done, tokens: 60 });
  // Room again, but one takes what is left already.
  expect(ask(who, large).error).toMatchObject({ code: 'limit_tpm', params: { seconds: 1 } });
  // A long answer does not keep others out beyond the minute in which it counts.
  clock.now += 61_000;
  expect(ask(who, large).error).toBeNull();
  last?.ended({ ...done, tokens: 5000 });
  expect(ask(who, { tokens: 1, reserve: 0 }).error?.code).toBe('limit_tpm');
});

test('texts counted before a request is read are not counted again afterwards', () => {
  const { limits, ask } = setUp({ GroupLimits: '{"default":{"rpm":2,"concurrency":2}}' });
  const who = principal({ rpm: 2, tpm: 100 });
  const first = limits.enter(who, {});
  const second = limits.enter(who, {});
  expect(() => limits.enter(who, {})).toThrow('2 requests per minute');
  expect(() => first.reserve({ tokens: 101, output: 1 })).not.toThrow();
  first.release();
  first.reserve({ tokens: 10, output: 20 });
  expect(() => second.reserve({ tokens: 80 })).toThrow('tokens per minute');
  second.reserve({ tokens: 60, output: 10 });
  second.release();
  second.reserve({ tokens: 60, output: 10 });
  first.rollBack();
  second.rollBack();
  expect(ask(who, { tokens: 100, reserve: 100 }).error).toBeNull();
  expect(ask(who, { tokens: 0, reserve: 0 }).error?.code).toBe('limit_tpm');
});

test('requests at the same time are limited, and each that ends makes room once', () => {
  const { ask } = setUp();
  const who = principal({ concurrency: 2 });
  const [one, two] = [ask(who), ask(who)];
  expect(ask(who).error).toMatchObject({ code: 'limit_concurrency', params: { seconds: 1 } });
  one.admission?.ended(failed);
  expect(ask(who).error).toBeNull();
  two.admission?.ended(done);
});

test('a group’s limits count all its tokens together', () => {
  const { ask } = setUp({ GroupLimits: '{"default":{"rpm":2}}' });
  expect([ask(principal(null)).error, ask(principal(null, never, never, 2)).error]).toEqual([null, null]);
  expect(ask(principal(null)).error).toMatchObject({ code: 'limit_rpm', params: { who: 'group default' } });
});

test('daily and monthly budgets: what runs is held, what was used counts, the period resets it', () => {
  const { clock, ask } = setUp();
  const today = Date.UTC(2026, 0, 31) / 1000;
  const month = Date.UTC(2026, 0, 1) / 1000;
  const who = principal({ dayBudget: 100, monthBudget: 250 }, { at: today, used: 30 }, { at: month, used: 130 });
  const first = ask(who, { tokens: 0, reserve: 60 });
  expect(ask(who, { tokens: 0, reserve: 20 }).error).toMatchObject({
    code: 'token_budget_day',
    params: { remain: 10, need: 20, seconds: 3600 },
  });
  first.admission?.ended({ tokens: 0, charged: 15, success: true });
  const second = ask(who, { tokens: 0, reserve: 55 });
  expect(second.admission?.extend(1)).toBe(false);
  second.admission?.ended({ tokens: 0, charged: 55, success: true });
  clock.now += 3600_000;
  // A new day is a new month here.
  expect(ask(who, { tokens: 0, reserve: 100 }).error).toBeNull();
});

test('the month holds when the day would not', () => {
  const { ask } = setUp();
  const who = principal({ monthBudget: 100 }, never, { at: Date.UTC(2026, 0, 1) / 1000, used: 100 });
  expect(ask(who, { tokens: 0, reserve: 0 }).error).toMatchObject({
    code: 'token_budget_month',
    params: { remain: 0, seconds: 3600 },
  });
});

const rule = (total: number, success: number) => ({
  ModelRequestRateLimitEnabled: 'true',
  ModelRequestRateLimitDurationMinutes: '2',
  ModelRequestRateLimitCount: String(total),
  ModelRequestRateLimitSuccessCount: String(success),
});

// Requests are counted by cells of four seconds.
test.each([
  [0, 124],
  [30_000, 94],
  [119_400, 5],
])('the site’s rule says when the next request is let in: %i ms after the first', (ms, seconds) => {
  const { clock, ask } = setUp(rule(2, 0));
  const who = principal(null);
  ask(who).admission?.ended(done);
  clock.now += ms;
  ask(who).admission?.ended(done);
  expect(ask(who).error).toMatchObject({ code: 'limit_requests', params: { limit: 2, minutes: 2, seconds } });
});

test('the site’s rule: failed requests count in the total, not among the successes', () => {
  const { clock, ask } = setUp(rule(5, 2));
  const who = principal(null);
  for (let n = 0; n < 3; n++) ask(who).admission?.ended(failed);
  for (let n = 0; n < 2; n++) ask(who).admission?.ended(done);
  expect(ask(who).error).toMatchObject({ code: 'limit_requests', params: { limit: 5, minutes: 2 } });
  clock.now += 125_000;
  for (let n = 0; n < 2; n++) ask(who).admission?.ended(done);
  expect(ask(who).error).toMatchObject({ code: 'limit_successes', params: { limit: 2 } });
  expect(ask(principal(null, never, never, 2)).error).toBeNull();
});

test('many at once do not get past the limit of successes, and failures long ago make no room later', () => {
  const { clock, ask } = setUp(rule(0, 3));
  const who = principal(null);
  const running = [ask(who), ask(who), ask(who)];
  expect(ask(who).error?.code).toBe('limit_successes');
  clock.now += 100_000;
  for (const { admission } of running) admission?.ended(failed);
  for (let n = 0; n < 3; n++) expect(ask(who).error).toBeNull();
  clock.now += 30_000;
  expect(ask(who).error?.code).toBe('limit_successes');
});

test('a refused budget leaves no trace in the rate windows', () => {
  const { ask } = setUp(rule(2, 2));
  const poor = principal({ dayBudget: 5 });
  for (let n = 0; n < 5; n++) expect(ask(poor).error?.code).toBe('token_budget_day');
  expect([ask(principal(null)).error, ask(principal(null)).error]).toEqual([null, null]);
});

test('a clock that jumps does not lock anybody out', () => {
  const memory = createMemory();
  const ring = memory.allocate(ringCells);
  const windows = createWindows(memory, 60_000);
  windows.add(ring, 5, 1_000_000);
  expect(windows.total(ring, 1_000_000 - 86_400_000)).toBe(0);
  windows.add(ring, 5, 1_000_000);
  expect(windows.total(ring, 1_000_000 + 86_400_000)).toBe(0);
});

test.each(['gpt-4o-mini', 'gpt-4o', 'dall-e-3'])(
  'an answer of %s is asked for as long as it can be paid for',
  (model) => {
    const prices = resolvePrices(compilePriceTables(defaultPriceText, 0), model, {
      group: 'default',
      userGroup: 'default',
      acceptUnset: false,
    }) as Prices;
    const cost = (maxTokens: number) => reserveEstimate(prices, { promptTokens: 100, maxTokens });
    const estimate = {
      prices,
      promptTokens: 100,
      maxTokens: 4096,
      reserveAmount: cost(4096),
      fallback: 100,
      own: 100,
      rereads: 0,
      found: 0,
      window: Number.POSITIVE_INFINITY,
      answer: null,
      others: [],
    };
    for (let available = 0; available < 40_000; available += 97) {
      const tokens = affordableOutput(estimate, available);
      if (tokens > 0) expect(cost(tokens)).toBeLessThanOrEqual(available);
      if (tokens < 4096) expect(cost(tokens + 1)).toBeGreaterThan(available);
    }
    expect(affordableOutput(estimate, cost(4096))).toBe(4096);
  },
);

test('the room of a budget is what neither was used nor is held', () => {
  const { ask, accountOf } = setUp();
  const who = principal({ dayBudget: 100, monthBudget: 90 });
  const room = () => accountOf(who).availableBudget(who.token?.limits ?? null);
  expect(room()).toBe(90);
  const { admission } = ask(who, { tokens: 0, reserve: 30 });
  expect(room()).toBe(60);
  admission?.ended({ ...done, charged: 20 });
  expect(room()).toBe(70);
});

test('a request that used what it had asked for needs no second word where machines count together', async () => {
  const requested: (readonly [string, readonly string[], readonly unknown[]])[] = [];
  const settings = compileSettings(new Map(), 0);
  const rates = createSiteRates({
    settings: () => settings,
    run: async (...one) => {
      requested.push(one);
      return [0, 7000];
    },
  });
  const who = principal({ rpm: 5, tpm: 100 });
  const exact = await rates.enter(who);
  await exact?.reserve(30, 10);
  exact?.ended(40, true);
  expect(requested.map(([script]) => script)).toEqual(['enter', 'enter']);
  const less = await rates.enter(who);
  await less?.reserve(30, 10);
  less?.ended(30, true);
  expect(requested.slice(2)).toEqual([
    ['enter', ['t5:requests', 't5:tokens'], [60_000, 5, 1, 1, 60_000, 100, 0, 1]],
    ['enter', ['t5:tokens'], [60_000, 100, 40, 30]],
    ['change', ['t5:tokens'], [60_000, -10, 7000, 0]],
  ]);
  // Without a limit of tokens they are not counted.
  const unlimited = await rates.enter(principal({ rpm: 5 }));
  expect(unlimited?.reserve(30, 10)).toBeNull();
  unlimited?.ended(30, true);
  expect(requested.slice(5).map(([script, keys]) => [script, ...keys])).toEqual([
    ['enter', 't5:requests', 't5:tokens'],
    ['change', 't5:tokens'],
  ]);
});

test.each([{ rpm: 1 }, { tpm: 10 }])(
  'a limit per minute tells a minute at most, which agents wait for: %j',
  (limits) => {
    const { clock, ask } = setUp();
    const who = principal(limits);
    // At the beginning of a slot, so that it leaves the window as late as it can.
    clock.now = Math.ceil(clock.now / 2000) * 2000;
    ask(who).admission?.ended(done);
    const { code, params } = ask(who).error ?? {};
    expect([code, params?.seconds]).toEqual(['rpm' in limits ? 'limit_rpm' : 'limit_tpm', 60]);
  },
);

test('a request refused where machines count together waits a second at least, and a minute at most for one of a minute', async () => {
  const settings = compileSettings(new Map(), 0);
  const refusedFor = (ms: number) =>
    createSiteRates({ settings: () => settings, run: async () => [1, ms] }).enter(principal({ rpm: 1 }));
  await expect(refusedFor(0)).rejects.toMatchObject({ code: 'limit_rpm', params: { seconds: 1 } });
  await expect(refusedFor(1001)).rejects.toMatchObject({ code: 'limit_rpm', params: { seconds: 2 } });
  await expect(refusedFor(61_400)).rejects.toMatchObject({ code: 'limit_rpm', params: { seconds: 60 } });
});

test('a prompt is guessed at a token for two units, with framing for each text', () => {
  const guessed = (texts: readonly string[], media = 0) => estimatedPromptTokens({ ...noPrompt, texts, media });
  expect([guessed([]), guessed(['abcd']), guessed(['abcd', 'abc'])]).toEqual([0, 6, 12]);
  const image = guessed([], 1);
  expect(image).toBeGreaterThan(0);
  expect(guessed(['abcd'], 2)).toBe(6 + 2 * image);
});

test('tokens of the turns before count for a conversation that goes on, each once', () => {
  const { limits, ask } = setUp();
  const who = principal({ tpm: 100 });
  const admission = limits.enter(who, {});
  admission.reserve({ tokens: 10 });
  admission.turn(60);
  expect(ask(who, { tokens: 31, reserve: 0 }).error?.code).toBe('limit_tpm');
  expect(ask(who, { tokens: 30, reserve: 0 }).error).toBeNull();
});

test('a refusal of all machines together says what is left, and no less than nothing', async () => {
  const settings = compileSettings(new Map(), 0);
  for (const [used, remaining] of [
    [4, 6],
    [10, 0],
    [13, 0],
  ]) {
    const rates = createSiteRates({ settings: () => settings, run: async () => [1, 5000, used ?? 0] });
    const refused = rates.enter(principal({ rpm: 10 }));
    await expect(refused).rejects.toMatchObject({ code: 'limit_rpm', params: { remaining } });
  }
});

test('all machines together count the tokens of a prompt, and those that its answer may have, none where none are said', () => {
  const { limits } = setUp();
  const reserved: (readonly number[])[] = [];
  const reserve = (...tokens: number[]): null => {
    reserved.push(tokens);
    return null;
  };
  const admission = limits.enter(principal({ tpm: 100 }), { site: { reserve } as never });
  void admission.reserveAtSite({ tokens: 30, output: 10 });
  void admission.reserveAtSite({ tokens: 30 });
  expect(reserved).toEqual([
    [30, 10],
    [30, 0],
  ]);
});
