/**
 * Rate windows that all machines of a site count in together, in one step of a server that they share. The same rings as in
 * `windows.ts`, by that server's clock: thirty slots of a span, too long by one at most, never too short.
 */
import { AppError, type ErrorCode } from '../../contract/errors.ts';
import type { Principal } from '../intake/inquiry.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { RateLimits } from '../state/snapshot.ts';

/** A request that was counted in; told once how it ended. */
export interface SiteVisit {
  ended(tokens: number, success: boolean): void;
  /** It never ran. */
  withdraw(): void;
}

export interface SiteRates {
  /** @returns null where nothing is to be counted, or nobody can be asked: then this machine's own share holds. @throws AppError limit_* */
  enter(principal: Principal, tokens: number): Promise<SiteVisit | null>;
}

export interface SiteRatesDeps {
  /** Runs a script on the shared server. @returns null when it does not answer. */
  readonly run: (
    script: 'enter' | 'change',
    keys: readonly string[],
    values: readonly (string | number)[],
  ) => Promise<readonly number[] | null>;
  readonly settings: () => RelaySettings;
}

/** @see scripts `enter` and `change`. */
interface Window {
  readonly key: string;
  readonly spanMs: number;
  /** What may be in it already. */
  readonly most: number;
  readonly adds: number;
  readonly refused: () => AppErrorFacts;
}
interface AppErrorFacts {
  readonly code: ErrorCode;
  readonly params: Readonly<Record<string, string | number>>;
}

const minuteMs = 60_000;

const ring = `local slots = 30
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function read(key, width)
  local newest, sum, kept = math.floor(now / width), 0, {}
  local all = redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    local slot, amount = tonumber(all[at]), tonumber(all[at + 1])
    if slot < newest - slots or slot > newest + slots then redis.call('HDEL', key, all[at])
    else sum = sum + amount; kept[#kept + 1] = { slot, amount } end
  end
  return newest, sum, kept
end
`;

/** All windows have room and it is counted in all, or it is counted in none. Answers 0 and the time, or which one refuses and how long it does. */
const enter = `${ring}
for at = 1, #KEYS do
  local span, most = tonumber(ARGV[at * 3 - 2]), tonumber(ARGV[at * 3 - 1])
  local width = span / slots
  local newest, sum, kept = read(KEYS[at], width)
  if most >= 0 and sum > most then
    table.sort(kept, function(one, other) return one[1] < other[1] end)
    for _, slot in ipairs(kept) do
      sum = sum - slot[2]
      if sum <= most then return { at, math.max(1, math.ceil((slot[1] + 1) * width + span - now)) } end
    end
    return { at, span }
  end
end
for at = 1, #KEYS do
  local span, adds = tonumber(ARGV[at * 3 - 2]), tonumber(ARGV[at * 3])
  redis.call('HINCRBY', KEYS[at], math.floor(now / (span / slots)), adds)
  redis.call('PEXPIRE', KEYS[at], math.ceil(span * 2))
end
return { 0, now }`;

/** More is counted now; less is taken back where it was counted, as long as it still counts. */
const change = `${ring}
for at = 1, #KEYS do
  local span, adds, entered = tonumber(ARGV[at * 3 - 2]), tonumber(ARGV[at * 3 - 1]), tonumber(ARGV[at * 3])
  local width = span / slots
  if adds > 0 then
    redis.call('HINCRBY', KEYS[at], math.floor(now / width), adds)
    redis.call('PEXPIRE', KEYS[at], math.ceil(span * 2))
  else
    local slot = math.floor(entered / width)
    local had = tonumber(redis.call('HGET', KEYS[at], slot) or '0')
    if had > 0 then redis.call('HINCRBY', KEYS[at], slot, math.max(adds, -had)) end
  end
end
return { 0 }`;

export const rateScripts = { enter, change } as const;

function scopeWindows(name: string, key: string, { rpm, tpm }: RateLimits, tokens: number): Window[] {
  const window = (kind: string, code: ErrorCode, limit: number, adds: number): Window => ({
    key: `${key}:${kind}`,
    spanMs: minuteMs,
    // Counted where there is no limit, too: one may be set while it runs. A prompt larger than the limit may go alone.
    most: limit === 0 ? -1 : Math.max(0, limit - adds),
    adds,
    refused: () => ({ code, params: { who: name, limit } }),
  });
  return [window('requests', 'limit_rpm', rpm, 1), window('tokens', 'limit_tpm', tpm, tokens)];
}

function windowsOf({ token, user, group }: Principal, settings: RelaySettings, tokens: number): Window[] {
  const windows: Window[] = [];
  if (token !== null && token.limits !== null)
    windows.push(...scopeWindows(`API key ${token.name}`, `t${token.id}`, token.limits, tokens));
  const groupLimits = settings.groupLimits.get(group);
  if (groupLimits !== undefined) windows.push(...scopeWindows(`group ${group}`, `g:${group}`, groupLimits, tokens));
  const rule = user.id === 0 ? null : settings.modelRequests;
  if (rule === null) return windows;
  const minutes = rule.periodMs / minuteMs;
  const visits = (kind: string, code: ErrorCode, limit: number): Window => ({
    // Another span counts anew.
    key: `u${user.id}:${kind}:${rule.periodMs}`,
    spanMs: rule.periodMs,
    most: limit === 0 ? -1 : limit - 1,
    adds: 1,
    refused: () => ({ code, params: { limit, minutes } }),
  });
  return [...windows, visits('all', 'limit_requests', rule.total), visits('good', 'limit_successes', rule.success)];
}

const isTokens = ({ key }: Window): boolean => key.endsWith(':tokens');
const isGood = ({ key }: Window): boolean => key.includes(':good:');

export function createSiteRates({ run, settings }: SiteRatesDeps): SiteRates {
  const changed = (windows: readonly Window[], by: (window: Window) => number, at: number): void => {
    const moved = windows.filter((window) => by(window) !== 0);
    if (moved.length === 0) return;
    const values = moved.flatMap((window) => [window.spanMs, by(window), at]);
    void run(
      'change',
      moved.map(({ key }) => key),
      values,
    );
  };
  return {
    async enter(principal, tokens) {
      const windows = windowsOf(principal, settings(), tokens);
      if (windows.length === 0) return null;
      const answer = await run(
        'enter',
        windows.map(({ key }) => key),
        windows.flatMap(({ spanMs, most, adds }) => [spanMs, most, adds]),
      );
      if (answer === null) return null;
      const [refusing = 0, told = 0] = answer;
      const window = windows[refusing - 1];
      if (window !== undefined) {
        const { code, params } = window.refused();
        throw new AppError(code, { ...params, seconds: Math.max(1, Math.ceil(told / 1000)) });
      }
      let over = false;
      const end = (by: (window: Window) => number) => {
        if (over) return;
        over = true;
        changed(windows, by, told);
      };
      return {
        ended: (used, success) =>
          end((one) => (isTokens(one) ? used - tokens : isGood(one) && !success ? -one.adds : 0)),
        withdraw: () => end(({ adds }) => -adds),
      };
    },
  };
}
