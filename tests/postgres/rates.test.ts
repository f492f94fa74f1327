/** Rates that several machines count together, on a real Redis: exact over all of them, and what holds while it is away. */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RedisServer, redisInstalled, startRedis } from '../../scripts/servers/redis.ts';
import { createRedis, redisAt } from '../../server/cluster/redis.ts';
import type { AppError } from '../../server/contract/errors.ts';
import { Limits } from '../../server/relay/admission/limits.ts';
import {
  createSiteRates,
  rateScripts,
  type SiteRates,
  type SiteVisit,
} from '../../server/relay/admission/site-rates.ts';
import type { Principal } from '../../server/relay/intake/parsed-request.ts';
import type { RelaySettings } from '../../server/relay/state/settings.ts';

let redis: RedisServer;
const closers: (() => void)[] = [];

beforeAll(() => {
  expect(redisInstalled()).toBe(true);
});
beforeEach(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await redis.stop();
});

const settingsWith = (more: object): RelaySettings =>
  ({ groupLimits: new Map(), modelRequests: null, ...more }) as unknown as RelaySettings;

const principal = (limits: object | null, group = 'default'): Principal =>
  ({
    user: { id: 3, group, balance: 0 },
    token: {
      id: 9,
      userId: 3,
      name: 'k',
      limits: limits === null ? null : { dayBudget: 0, monthBudget: 0, rpm: 0, tpm: 0, concurrency: 0, ...limits },
      periods: { day: { at: 0, used: 0 }, month: { at: 0, used: 0 } },
    },
    group,
  }) as unknown as Principal;

interface Machine {
  readonly rates: SiteRates;
  readonly messages: string[];
}

async function machine(settings = settingsWith({})): Promise<Machine> {
  const messages: string[] = [];
  const { run, close } = createRedis({
    open: () => redisAt(redis.url),
    scripts: rateScripts,
    purpose: 'rates',
    changed: (error) => void messages.push(error === null ? 'answers again' : 'is away'),
    // A machine that is busy is not a server that is away.
    wait: (ms) => Bun.sleep(20 * ms),
  });
  closers.push(close);
  const rates = createSiteRates({ run, settings: () => settings });
  await answers(rates);
  return { rates, messages };
}

/** A new caller is counted as soon as the server answers, after the earlier calls of this machine. */
async function answers(rates: SiteRates): Promise<void> {
  const other = principal({ rpm: 1_000_000 });
  const noop = {
    ...other,
    user: { ...other.user, id: 0 },
    token: { ...other.token, id: 77 },
  } as unknown as Principal;
  await expect.poll(() => rates.enter(noop), { timeout: 60_000 }).not.toBeNull();
}

async function attempts(rates: SiteRates, who: Principal, tokens = 0, output = 0): Promise<SiteVisit | string> {
  try {
    const site = await rates.enter(who);
    if (site === null) return 'no server counts';
    try {
      await site.reserve(tokens, output);
    } catch (error) {
      site.rollBack();
      throw error;
    }
    return site;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test('300 requests at once on three machines: as many as the limit says, on whichever', async () => {
  const machines = await Promise.all([machine(), machine(), machine()]);
  const who = principal({ rpm: 20 });
  const all = await Promise.all(
    Array.from({ length: 300 }, (_, n) => attempts((machines[n % 3] as Machine).rates, who)),
  );
  expect(all.filter((one) => typeof one === 'object')).toHaveLength(20);
  expect(all.filter((one) => one === 'limit_rpm')).toHaveLength(280);
});

test('one window that refuses counts in none; what was not let in after all is taken back', async () => {
  const settings = settingsWith({ groupLimits: new Map([['small', { rpm: 2, tpm: 0, concurrency: 0 }]]) });
  const [a, b] = [await machine(settings), await machine(settings)];
  const who = principal({ rpm: 3 }, 'small');
  expect(typeof (await attempts(a.rates, who))).toBe('object');
  const second = await attempts(b.rates, who);
  for (let n = 0; n < 5; n++) expect(await attempts(a.rates, who)).toBe('limit_rpm');
  (second as SiteVisit).rollBack();
  (second as SiteVisit).rollBack();
  await answers(b.rates);
  expect(typeof (await attempts(a.rates, who))).toBe('object');
  expect(await attempts(b.rates, who)).toBe('limit_rpm');
  // The key's own window has counted two, whatever the group's refused.
  expect(typeof (await attempts(b.rates, principal({ rpm: 3 })))).toBe('object');
  expect(await attempts(b.rates, principal({ rpm: 3 }))).toBe('limit_rpm');
});

test('the remaining rate is that of the whole site, and of the tightest limit', async () => {
  const settings = settingsWith({ groupLimits: new Map([['small', { rpm: 5, tpm: 1000, concurrency: 0 }]]) });
  const [a, b] = [await machine(settings), await machine(settings)];
  const who = principal({ rpm: 50, tpm: 300 }, 'small');
  await attempts(a.rates, who, 40, 60);
  const second = (await attempts(b.rates, who, 10, 40)) as SiteVisit;
  expect(second.rates()).toEqual([
    { kind: 'requests', limit: 5, remaining: 3, resetMs: 60_000 },
    { kind: 'tokens', limit: 300, remaining: 150, resetMs: 60_000 },
  ]);
  const visited = (await attempts(a.rates, principal({ rpm: 9 }))) as SiteVisit;
  expect(visited.rates()).toEqual([{ kind: 'requests', limit: 9, remaining: 6, resetMs: 60_000 }]);
  const refused = await a.rates
    .enter(who)
    .then(async (site) => {
      await site?.reserve(200, 10);
    })
    .catch((error: AppError) => error.params);
  expect(refused).toMatchObject({ limit: 300, remaining: 150 });
});

test('tokens: more than was asked is added, less is given back; a prompt larger than the limit goes alone', async () => {
  const [a, b] = [await machine(), await machine()];
  const who = principal({ tpm: 100 });
  const first = (await attempts(a.rates, who, 60)) as SiteVisit;
  expect(await attempts(b.rates, who, 60)).toBe('limit_tpm');
  first.ended(10, true);
  await answers(a.rates);
  const second = (await attempts(b.rates, who, 60)) as SiteVisit;
  second.ended(95, true);
  await answers(b.rates);
  expect(await attempts(a.rates, who, 1)).toBe('limit_tpm');
  const other = principal({ tpm: 100 }, 'other');
  const alone = { ...other, token: { ...other.token, id: 10 } } as unknown as Principal;
  expect(typeof (await attempts(a.rates, alone, 500))).toBe('object');
  expect(await attempts(b.rates, alone, 1)).toBe('limit_tpm');
});

test('tokens: what an answer may have is taken at entry; one request at a time takes what is left', async () => {
  const [a, b] = [await machine(), await machine()];
  const who = principal({ tpm: 1000 });
  const all = await Promise.all(
    Array.from({ length: 60 }, (_, n) => attempts((n % 2 === 0 ? a : b).rates, who, 10, 100)),
  );
  const admitted = all.filter((one) => typeof one === 'object');
  expect(admitted).toHaveLength(10);
  for (const one of admitted) (one as SiteVisit).ended(20, true);
  for (const { rates } of [a, b]) await answers(rates);
  const other = { ...who, token: { ...who.token, id: 10 } } as unknown as Principal;
  for (const one of [who, other]) {
    const large = await attempts(a.rates, one, 50, 64_000);
    expect(typeof large).toBe('object');
    expect(await attempts(b.rates, one, 50, 64_000)).toBe('limit_tpm');
    (large as SiteVisit).ended(100, true);
    await answers(a.rates);
    expect(typeof (await attempts(b.rates, one, 50, 64_000))).toBe('object');
  }
});

test('model requests: failures leave the good ones, and the refusal says how long', async () => {
  const settings = settingsWith({ modelRequests: { periodMs: 60_000, total: 4, success: 2 } });
  const [a, b] = [await machine(settings), await machine(settings)];
  const who = principal(null);
  for (const { rates } of [a, b]) ((await attempts(rates, who)) as SiteVisit).ended(0, false);
  for (const { rates } of [a, b]) await answers(rates);
  for (const { rates } of [a, b]) expect(typeof (await attempts(rates, who))).toBe('object');
  await expect(a.rates.enter(who)).rejects.toMatchObject({
    code: 'limit_requests',
    params: { limit: 4, minutes: 1 },
  });
  const error = await a.rates.enter(who).catch((one: unknown) => one as { params: { seconds: number } });
  const { seconds } = (error as { params: { seconds: number } }).params;
  expect(seconds).toBeGreaterThan(50);
  expect(seconds).toBeLessThanOrEqual(63);
});

test('while Redis is away, frozen or emptied no request waits long or is refused, each machine keeps to its share, and all count together when it is back', async () => {
  const { rates, messages } = await machine();
  const who = principal({ rpm: 4 });
  expect(typeof (await attempts(rates, who))).toBe('object');
  const before = messages.length;
  process.kill(redis.pid, 'SIGSTOP');
  const frozen = [await attempts(rates, who), await attempts(rates, who)];
  // A server that is frozen does not end either.
  process.kill(redis.pid, 'SIGCONT');
  expect(frozen).toEqual(['no server counts', 'no server counts']);
  expect(messages.slice(before).filter((line) => line.includes('is away'))).toHaveLength(1);
  await answers(rates);
  expect(messages.at(-1)).toContain('answers again');

  const flush = redisAt(redis.url);
  await flush.connect();
  await flush.send('FLUSHALL', []);
  await flush.send('SCRIPT', ['FLUSH']);
  flush.close();
  expect(typeof (await attempts(rates, who))).toBe('object');
  await redis.stop();
  expect(await attempts(rates, who)).toBe('no server counts');
});

test('each of several machines lets in its part of a limit where nobody counts for all, and one at least', () => {
  let nodes = { live: 1, recent: 3 };
  const settings = settingsWith({ modelRequests: { periodMs: 60_000, total: 30, success: 0 } });
  const limits = new Limits({ state: { settings }, monoNow: () => 1e9, nodes: () => nodes });
  const admitted = (who: Principal, site?: SiteVisit): number => {
    for (let n = 0; n < 100; n++) {
      try {
        limits.enter(who, { site }).reserve({ tokens: 0 });
      } catch {
        return n;
      }
    }
    return 100;
  };
  expect(admitted(principal({ rpm: 9 }))).toBe(3);
  expect(
    admitted({ ...principal({ rpm: 2 }), token: { ...principal({ rpm: 2 }).token, id: 1 } } as unknown as Principal),
  ).toBe(1);
  expect(admitted(principal(null))).toBe(6);
  nodes = { live: 3, recent: 1 };
  expect(admitted(principal({ rpm: 9 }))).toBe(6);
  // Where the site has counted, this machine does not refuse.
  expect(
    admitted(principal({ rpm: 1 }), {
      reserve: () => null,
      ended: () => undefined,
      rates: () => [],
      rollBack: () => undefined,
    }),
  ).toBe(100);
});

test('a dead machine’s requests are not under way any more, and its minute still counts', () => {
  const admitted = (limits: object): number => {
    const nodes = () => ({ live: 3, recent: 4 });
    const own = new Limits({ state: { settings: settingsWith({}) }, monoNow: () => 1e9, nodes });
    for (let n = 0; ; n++) {
      try {
        own.enter(principal(limits), {}).reserve({ tokens: 0 });
      } catch {
        return n;
      }
    }
  };
  expect([admitted({ concurrency: 6 }), admitted({ concurrency: 7 }), admitted({ rpm: 7 })]).toEqual([2, 2, 1]);
});

test('a request that goes to another target takes its tokens anew, and gives back those of the one before it', async () => {
  const { rates } = await machine();
  const who = principal({ tpm: 100 });
  const first = await rates.enter(who);
  await first?.reserve(60, 0);
  await first?.reserve(90, 0);
  const second = await rates.enter(who);
  await second?.reserve(10, 0);
  expect(second?.rates().map(({ remaining }) => remaining)).toEqual([0]);
});
