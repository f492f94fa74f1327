/**
 * Which users and keys were changed lately, written down on the Redis of the site by every node that reads the change feed: a
 * node that is cut off from the database learns there whose rights it does not know any more.
 */
import type { RedisScript } from './redis.ts';

/** Longer than any lease lasts. */
const keptMs = 15 * 60_000;
const key = 'changes';
/** In one call. */
const atOnce = 500;

const time = `local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/** Times are the server's own, so that nodes' clocks do not matter. */
export const recentChangesScripts = {
  post: `${time}
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], now, ARGV[at]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[1]))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return { 0 }`,
  read: `${time}
local found = redis.call('ZRANGEBYSCORE', KEYS[1], now - tonumber(ARGV[1]), '+inf')
local ids = {}
for at = 1, #found do ids[at] = tonumber(found[at]) end
return ids`,
};

export interface ChangedIds {
  readonly users: readonly number[];
  readonly tokens: readonly number[];
}

export interface RecentChanges {
  /** @returns whether all of it arrived. */
  post(changed: ChangedIds): Promise<boolean>;
  /** @returns what was posted in the last `ms` milliseconds; null = Redis does not answer. */
  read(ms: number): Promise<ChangedIds | null>;
}

export function createRecentChanges(run: RedisScript<keyof typeof recentChangesScripts>): RecentChanges {
  return {
    async post({ users, tokens }) {
      // One list of numbers: keys are the negative ones.
      const ids = [...users, ...tokens.map((id) => -id)];
      for (let from = 0; from < ids.length; from += atOnce)
        if ((await run('post', [key], [keptMs, ...ids.slice(from, from + atOnce)])) === null) return false;
      return true;
    },
    async read(ms) {
      const ids = await run('read', [key], [Math.ceil(ms)]);
      if (ids === null) return null;
      return { users: ids.filter((id) => id > 0), tokens: ids.filter((id) => id < 0).map((id) => -id) };
    },
  };
}
