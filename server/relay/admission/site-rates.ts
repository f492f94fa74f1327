/**
 * Rate windows that all machines of a site count in together, in one step of a server that they share. The same rings as in
 * `windows.ts`, by that server's clock: thirty slots of a span, too long by one at most, never too short.
 */
import { AppError, type ErrorCode } from '../../contract/errors.ts';
import type { RateLimits, RateUse } from '../../contract/snapshot.ts';
import type { Principal } from '../intake/parsed-request.ts';
import type { RelaySettings } from '../state/settings.ts';

/** A request that was counted; `ended` is called once with its outcome. */
export interface SiteVisit {
  /** Takes what it may use of the tokens per minute, instead of what it took before. @returns null where no shared counter has to be asked. @throws AppError limit_tpm */
  reserve(prompt: number, output: number): Promise<void> | null;
  ended(tokens: number, success: boolean): void;
  /** How the limits stood when it was counted. */
  rates(): readonly RateUse[];
  /** It never ran. */
  rollBack(): void;
}

export interface SiteRates {
  /** @returns null where nothing is to be counted, or the shared counter is unavailable: then this node's own share holds. @throws AppError limit_* */
  enter(principal: Principal): Promise<SiteVisit | null>;
  /** The same in the group alone: that of a virtual model's target. */
  enterTarget(principal: Principal): Promise<SiteVisit | null>;
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
  /** The window's limit, -1 = none. */
  readonly max: number;
  readonly adds: number;
  /** The least that must fit where not all of it does: then one request at a time may take the rest. */
  readonly min: number;
  readonly rejected: () => AppErrorInput;
}
interface AppErrorInput {
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

/**
 * All windows have room and it is counted in all, or it is counted in none. Answers 0, the time, what was added to each and
 * what each holds with it, or which one refuses, how long it does and what it holds. Who took what was left is noted for as
 * long as that counts.
 */
const enter = `${ring}
local added, sums = {}, {}
for at = 1, #KEYS do
  local span, most = tonumber(ARGV[at * 4 - 3]), tonumber(ARGV[at * 4 - 2])
  local adds, least = tonumber(ARGV[at * 4 - 1]), tonumber(ARGV[at * 4])
  local width = span / slots
  local newest, sum, kept = read(KEYS[at], width)
  added[at] = adds
  if most >= 0 and sum + math.max(adds, least) > most then
    local rest = math.max(0, most - least)
    if sum > rest then
      local held = sum
      table.sort(kept, function(one, other) return one[1] < other[1] end)
      for _, slot in ipairs(kept) do
        sum = sum - slot[2]
        if sum <= rest then return { at, math.max(1, math.ceil((slot[1] + 1) * width + span - now)), held } end
      end
      return { at, span, held }
    end
    if least < adds then
      if redis.call('EXISTS', KEYS[at] .. ':capped') == 1 then return { at, 1000, sum } end
      added[at] = -math.max(least, most - sum)
    end
  end
  sums[at] = sum + math.abs(added[at])
end
for at = 1, #KEYS do
  local span = tonumber(ARGV[at * 4 - 3])
  if added[at] < 0 then redis.call('SET', KEYS[at] .. ':capped', now, 'PX', span) end
  redis.call('HINCRBY', KEYS[at], math.floor(now / (span / slots)), math.abs(added[at]))
  redis.call('PEXPIRE', KEYS[at], math.ceil(span * 2))
end
for at = 1, #KEYS do added[#KEYS + at] = sums[at] end
return { 0, now, unpack(added) }`;

/** More is counted now; less is taken back where it was counted, as long as it still counts. Who took what was left has ended. */
const change = `${ring}
for at = 1, #KEYS do
  local span, adds, entered = tonumber(ARGV[at * 4 - 3]), tonumber(ARGV[at * 4 - 2]), tonumber(ARGV[at * 4 - 1])
  local width = span / slots
  local capped = KEYS[at] .. ':capped'
  if ARGV[at * 4] == '1' and redis.call('GET', capped) == ARGV[at * 4 - 1] then redis.call('DEL', capped) end
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

/** Tokens are only looked at before their number is known. */
function scopeWindows(name: string, key: string, { rpm, tpm }: RateLimits): Window[] {
  return [
    {
      key: `${key}:requests`,
      spanMs: minuteMs,
      // Counted where there is no limit, too: one may be set while it runs.
      max: rpm === 0 ? -1 : rpm,
      adds: 1,
      min: 1,
      rejected: () => ({ code: 'limit_rpm', params: { who: name, limit: rpm } }),
    },
    tokenWindow(name, key, tpm, 0, 1),
  ];
}

const tokenWindow = (name: string, key: string, tpm: number, adds: number, min: number): Window => ({
  key: `${key}:tokens`,
  spanMs: minuteMs,
  max: tpm === 0 ? -1 : tpm,
  adds,
  min,
  rejected: () => ({ code: 'limit_tpm', params: { who: name, limit: tpm } }),
});

interface Scope {
  readonly name: string;
  readonly key: string;
  readonly limits: RateLimits;
}

function scopesOf(principal: Principal, settings: RelaySettings): readonly Scope[] {
  const { token } = principal;
  const ofGroup = groupScopes(principal, settings);
  if (token === null || token.limits === null) return ofGroup;
  return [{ name: `API key ${token.name}`, key: `t${token.id}`, limits: token.limits }, ...ofGroup];
}

function groupScopes({ group }: Principal, { groupLimits }: RelaySettings): readonly Scope[] {
  const limits = groupLimits.get(group);
  return limits === undefined ? [] : [{ name: `group ${group}`, key: `g:${group}`, limits }];
}

function visitWindows({ user }: Principal, settings: RelaySettings): readonly Window[] {
  const rule = user.id === 0 ? null : settings.modelRequests;
  if (rule === null) return [];
  const minutes = rule.periodMs / minuteMs;
  const visits = (kind: string, code: ErrorCode, limit: number): Window => ({
    // Another span starts a new count.
    key: `u${user.id}:${kind}:${rule.periodMs}`,
    spanMs: rule.periodMs,
    max: limit === 0 ? -1 : limit,
    adds: 1,
    min: 1,
    rejected: () => ({ code, params: { limit, minutes } }),
  });
  return [visits('all', 'limit_requests', rule.total), visits('good', 'limit_successes', rule.success)];
}

/** Of each kind the limit of which the least is left. */
export function tightest(uses: Iterable<RateUse>): readonly RateUse[] {
  let requests: RateUse | null = null;
  let tokens: RateUse | null = null;
  for (const use of uses) {
    const other = use.kind === 'requests' ? requests : tokens;
    if (other !== null && other.remaining <= use.remaining) continue;
    if (use.kind === 'requests') requests = use;
    else tokens = use;
  }
  return [requests, tokens].filter((use) => use !== null);
}

const isOfTokens = ({ key }: Window): boolean => key.endsWith(':tokens');

/** As it stood when it was counted: all of it is there again when that has left the window. */
function rateUse({ window, held }: Counted): readonly RateUse[] {
  if (window.max < 0) return [];
  const kind = isOfTokens(window) ? 'tokens' : 'requests';
  return [{ kind, limit: window.max, remaining: Math.max(0, window.max - held), resetMs: window.spanMs }];
}

const isGood = ({ key }: Window): boolean => key.includes(':good:');

export function createSiteRates({ run, settings }: SiteRatesDeps): SiteRates {
  /** @returns what was counted in each, null = no answer. @throws AppError limit_* */
  const counted = async (windows: readonly Window[]): Promise<Counted[] | null> => {
    const answer = await run(
      'enter',
      windows.map(({ key }) => key),
      windows.flatMap(({ spanMs, max, adds, min }) => [spanMs, max, adds, min]),
    );
    if (answer === null) return null;
    const [refusing = 0, found = 0, ...added] = answer;
    const window = windows[refusing - 1];
    if (window !== undefined) {
      const { code, params } = window.rejected();
      const remaining = Math.max(0, window.max - (added[0] ?? window.max));
      // A window of a minute is waited for a minute at most, as on a single machine.
      const waitMs = window.spanMs === minuteMs ? Math.min(found, minuteMs) : found;
      throw new AppError(code, { ...params, remaining, seconds: Math.max(1, Math.ceil(waitMs / 1000)) });
    }
    return windows.map((each, at) => {
      const amount = added[at] ?? each.adds;
      const held = added[windows.length + at] ?? each.max;
      return { window: each, amount: Math.abs(amount), held, atMs: found, capped: amount < 0 };
    });
  };
  const change = (all: readonly Counted[], by: (one: Counted) => number): void => {
    const moved = all.filter((one) => by(one) !== 0 || one.capped);
    if (moved.length === 0) return;
    const values = moved.flatMap((one) => [one.window.spanMs, by(one), one.atMs, one.capped ? 1 : 0]);
    void run(
      'change',
      moved.map(({ window }) => window.key),
      values,
    );
  };

  const visit = async (scopes: readonly Scope[], visits: readonly Window[]): Promise<SiteVisit | null> => {
    if (scopes.length === 0 && visits.length === 0) return null;
    const all = await counted([
      ...scopes.flatMap(({ name, key, limits }) => scopeWindows(name, key, limits)),
      ...visits,
    ]);
    if (all === null) return null;
    const requests = all.filter(({ window }) => window.adds !== 0);
    const enteredMs = all[0]?.atMs ?? 0;
    const noTokens = (): Counted[] =>
      scopes.map(({ name, key }) => ({
        window: tokenWindow(name, key, 0, 0, 0),
        amount: 0,
        held: 0,
        atMs: enteredMs,
        capped: false,
      }));
    let tokens = noTokens();
    let over = false;
    const end = (by: (one: Counted) => number, ofTokens: (one: Counted) => number) => {
      if (over) return;
      over = true;
      change(requests, by);
      change(tokens, ofTokens);
    };
    return {
      reserve(prompt, output) {
        if (scopes.every(({ limits }) => limits.tpm === 0)) return null;
        const windows = scopes.map(({ name, key, limits }) =>
          tokenWindow(name, key, limits.tpm, prompt + output, Math.max(1, prompt)),
        );
        // Another target is asked for: what was taken for the one before it comes back.
        change(tokens, ({ amount }) => -amount);
        tokens = noTokens();
        return counted(windows).then((taken) => {
          tokens = taken ?? noTokens();
        });
      },
      rates() {
        // Its later reservations are in the later count.
        const later = tokens.filter(({ window }) => window.max >= 0);
        const earlier = all.filter(({ window }) => later.length === 0 || !isOfTokens(window));
        return tightest([...earlier, ...later].flatMap(rateUse));
      },
      ended: (used, success) =>
        end(
          ({ window }) => (isGood(window) && !success ? -window.adds : 0),
          ({ amount }) => used - amount,
        ),
      rollBack: () =>
        end(
          ({ window }) => -window.adds,
          ({ amount }) => -amount,
        ),
    };
  };

  return {
    enter: async (principal) => visit(scopesOf(principal, settings()), visitWindows(principal, settings())),
    enterTarget: async (principal) => visit(groupScopes(principal, settings()), []),
  };
}

/** Count of a window. */
interface Counted {
  readonly window: Window;
  readonly amount: number;
  /** Amount in the window then. */
  readonly held: number;
  /** By the clock of the server that counts. */
  readonly atMs: number;
  /** It took what was left. */
  readonly capped: boolean;
}
