/** Rounds over many channels: tests and balances, a few at a time, one round of each kind at once. */

import type { JobLock } from '../../../db/job-lock.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { storedText } from '../../contract/stored-texts.ts';
import { statusInfo } from './failures.ts';
import type { ChannelsService } from './service.ts';

export interface BulkTestsDeps {
  readonly channels: ChannelsService;
  /** Option ChannelDisableThreshold: seconds, 0 = none. */
  readonly slowSeconds: () => number;
  /** Option AutomaticDisableChannelEnabled. */
  readonly automaticDisable: () => boolean;
  /** One round of each kind at once, on whichever machine. */
  readonly turns: JobLock;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly report: (error: unknown) => void;
}

export interface TestResult {
  readonly id: number;
  readonly name: string;
  readonly success: boolean;
  readonly message: string;
  /** Seconds. */
  readonly time: number;
  /** Seconds until the first byte; null when none came. */
  readonly first_token_time: number | null;
}

/** Upstreams of one operator often share an account; more at once would only meet its rate limit. */
const atOnce = 4;

async function inTurns<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const work = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
}

type Selected = Awaited<ReturnType<ChannelsService['choose']>>[number];

export function createBulkTests({ channels, slowSeconds, automaticDisable, turns, now, report }: BulkTestsDeps) {
  /** Slow is failed where the operator set a limit. */
  const testOne = async ({ id, name, auto_ban }: Selected, model: string, stream: boolean): Promise<TestResult> => {
    const result = await channels.test(id, model, stream);
    const time = Math.round(result.ms) / 1000;
    const first = result.firstTokenMs ?? null;
    const first_token_time = first === null ? null : Math.round(first) / 1000;
    const limit = slowSeconds();
    if (result.ok && limit > 0 && time > limit) {
      const message = storedText('tooSlow', { time: time.toFixed(2), limit: limit.toFixed(2) });
      if (automaticDisable() && auto_ban === 1)
        await channels.disableFor(id, statusInfo(message, Math.floor(now() / 1000)));
      return { id, name, success: false, message, time, first_token_time };
    }
    return { id, name, success: result.ok, message: result.message, time, first_token_time };
  };

  return {
    /** Tests the given channels, or those of a tag, or all that are enabled. */
    async test(
      filter: { readonly ids?: readonly number[] | undefined; readonly tag?: string | undefined },
      model: string,
      stream: boolean,
    ): Promise<TestResult[]> {
      const selected = await channels.choose(filter);
      const results = new Map<number, TestResult>();
      await inTurns(selected, async (one) => void results.set(one.id, await testOne(one, model, stream)));
      return selected.flatMap(({ id }) => results.get(id) ?? []);
    },
    /** Starts a test of all channels that were not disabled by hand, and returns. @throws AppError channel_tests_running */
    async startTests(): Promise<void> {
      const started = Promise.withResolvers<boolean>();
      const round = async () => {
        const all = await channels.choose({ all: true });
        started.resolve(true);
        const selected = all.filter(({ status }) => status !== ChannelStatus.disabled);
        await inTurns(selected, async (one) => void (await testOne(one, '', false))).catch(report);
      };
      void turns.take('channel tests', 0, round).then(started.resolve, started.reject);
      if (!(await started.promise)) throw new AppError('channel_tests_running');
    },
    /** Refreshes the balance of every enabled channel whose provider reports one. */
    async refreshBalances(): Promise<void> {
      await turns.take('channel balances', 0, async () => {
        const selected = await channels.choose({});
        await inTurns(selected, async ({ id }) => void (await channels.refreshBalance(id).catch(() => undefined)));
      });
    },
  };
}

export type BulkTests = ReturnType<typeof createBulkTests>;
