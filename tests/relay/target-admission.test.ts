/** Limits of a request that goes over targets of several groups. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { allocateRows, createOpenRequests, Row } from '../../server/billing/balances/open-requests.ts';
import { createWindows } from '../../server/billing/balances/rate-windows.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { RateSlot } from '../../server/billing/balances/slot.ts';
import type { Ledger } from '../../server/billing/ledger/commands.ts';
import { AppError } from '../../server/contract/errors.ts';
import { Limits } from '../../server/relay/admission/limits.ts';
import type { SiteRates, SiteVisit } from '../../server/relay/admission/site-rates.ts';
import { TargetAdmission } from '../../server/relay/admission/target-admission.ts';
import type { Principal } from '../../server/relay/intake/parsed-request.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';
import { createRelayState } from '../../server/relay/state/state.ts';
import { endLost } from '../../server/threads/relay/lost-thread.ts';

const caller: Principal = {
  user: {
    ...{ id: 1, username: 'u', role: 1, status: 1, group: 'default', balance: 1000, used: 0 },
    ...{ balanceVersion: 0, overrun: 0, setting: {} },
  },
  ...{ token: null, keyHmac: '', group: 'default', pinnedChannel: null },
};
const inGroup = (group: string): Principal => ({ ...caller, group });

function setUp(groupLimits: object) {
  const money = createMoney(createMemory(1));
  money.accounts.observeUser(caller.user);
  const settings = compileSettings(new Map([['GroupLimits', JSON.stringify(groupLimits)]]), 0);
  const limits = new Limits({ state: { settings }, monoNow: () => 1e6, money });
  const { memory, accounts } = money;
  const windows = createWindows(memory, 60_000);
  const counted = (group: string) => {
    const slot = accounts.group(group);
    return {
      running: memory.get(slot + RateSlot.running),
      requests: windows.total(memory.get(slot + RateSlot.rates), 1e6),
    };
  };
  const rows = allocateRows(memory);
  const open = createOpenRequests(memory);
  open.add(rows);
  const row = (ref: string) => {
    const begun = open.begin(new Balances(money).account(1, 0), {
      ...{ ref, model: 'm', group: 'default', startedMs: 0, streams: false, promptTokens: 1 },
      ...{ selfUse: false, epoch: 0 },
    });
    if (begun === null) throw new Error('no rows');
    return begun;
  };
  return { money, limits, counted, row, rows };
}

/** All machines together; `full` refuses. */
function siteOf(full: ReadonlySet<string>) {
  const ends: string[][] = [];
  const enterTarget = async ({ group }: Principal): Promise<SiteVisit | null> => {
    if (full.has(group)) throw new AppError('limit_rpm', { who: group, limit: 1, remaining: 0, seconds: 1 });
    const end: string[] = [];
    ends.push(end);
    return {
      reserve: (prompt) => (prompt > 50 ? Promise.reject(new AppError('limit_tpm')) : Promise.resolve()),
      ended: () => void end.push('ended'),
      rollBack: () => void end.push('never ran'),
      rates: () => [],
    };
  };
  const rates: SiteRates = { enter: async () => null, enterTarget };
  return { rates, ends };
}

const groups = ['default', 'one', 'two', 'free', 'full'];
type Step = readonly [target: number, tokens: number, fails: boolean];
const steps = fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 60 }), fc.boolean()), { maxLength: 6 });

test.each([
  ['by one machine', false],
  ['by all machines together', true],
])(
  'whatever way a request takes over groups, counted %s, it runs in one at a time and in none at its end',
  async (_who, isShared) => {
    const limited = { tpm: 50, concurrency: 5 };
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom('ended', 'rolled back'), async (way: readonly Step[], end) => {
        const { limits, counted, row } = setUp({ default: limited, one: limited, two: limited, full: { rpm: 1 } });
        const site = siteOf(new Set(['full']));
        limits.enter(inGroup('full'), {}).ended(0, true);
        const open = row('a');
        const own = limits.enter(caller, { open });
        const admission = new TargetAdmission({ limits, rates: isShared ? site.rates : null }, own, 'default');
        for (const [target, tokens, isTaken] of way) {
          const group = groups[target] ?? '';
          admission.aim(inGroup(group));
          const requested = { tokens, output: 0 };
          try {
            await admission.reserveAtSite(requested);
            admission.reserve(requested, open);
            expect([group, tokens <= 50]).not.toEqual(['full', true]);
            const running = groups.filter((each) => counted(each).running > 0);
            expect(running).toEqual(['default', 'free'].includes(group) ? ['default'] : ['default', group]);
            if (isTaken) admission.release();
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
            expect(tokens > 50 || group === 'full').toBe(true);
          }
        }
        if (end === 'ended') admission.ended(3, true);
        else admission.rollBack();
        expect(groups.map((group) => counted(group).running)).toEqual([0, 0, 0, 0, 0]);
        expect(counted('default').requests).toBe(end === 'ended' ? 1 : 0);
        for (const ends of site.ends) expect(ends).toHaveLength(1);
      }),
      { numRuns: 150 },
    );
  },
);

test('the whole site counts a target’s request once however it waits for money, and not at all where it never ran', async () => {
  const { limits, row, counted } = setUp({ vip: { rpm: 5 } });
  const { rates, ends } = siteOf(new Set());
  const admission = new TargetAdmission({ limits, rates }, limits.enter(caller, {}), 'default');
  admission.aim(inGroup('vip'));
  await admission.reserveAtSite({ tokens: 1 });
  const open = row('a');
  admission.reserve({ tokens: 1 }, open);
  // The balance refuses, and has room after a wait.
  admission.release();
  expect([ends, counted('vip').running]).toEqual([[[]], 0]);
  admission.reserve({ tokens: 1 }, open);
  expect(counted('vip')).toEqual({ running: 1, requests: 1 });
  admission.withdraw();
  expect([ends, counted('vip')]).toEqual([[['never ran']], { running: 0, requests: 0 }]);
  admission.ended(0, false);
  expect(ends).toEqual([['never ran']]);
});

test('a request whose thread dies runs no longer in the groups of its key and of its target', async () => {
  const { money, limits, counted, row, rows } = setUp({ default: { rpm: 5 }, vip: { rpm: 5 } });
  const open = row('a');
  const admission = new TargetAdmission({ limits, rates: null }, limits.enter(caller, { open }), 'default');
  admission.aim(inGroup('vip'));
  admission.reserve({ tokens: 1 }, open);
  expect([counted('default').running, counted('vip').running]).toEqual([1, 1]);
  expect(money.memory.get(open.row + Row.targetRuns)).toBe(money.accounts.group('vip'));
  const ledger: Ledger = { execute: async () => ({ status: 'done' }), healthy: () => ({ ok: true }) };
  const { accounts } = money;
  const state = createRelayState({ ...accounts, observeUser: () => undefined, observeToken: () => undefined }, () => 0);
  const deps = { balances: new Balances(money), state, ledger, now: () => 1e12, pause: Bun.sleep };
  await (await endLost(deps, 1, [rows])).written;
  expect([counted('default').running, counted('vip').running]).toEqual([0, 0]);
});
