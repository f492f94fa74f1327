/** Environment variables about serving, within bounds. */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { AppError } from '../../contract/errors.ts';
import { type ConnectionLimits, defaultConnectionLimits } from '../../http/connections.ts';
import { defaultLimits } from '../../relay/relay-deps.ts';
import { maxOpenFor, type OverloadLimits } from './load-shedding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds the end of a response waits for its bill before it is sent all the same; without the variable it waits as long as the bill takes. */
export const maxCommitWait = (env: Environment): number => {
  const value = Number(env.GATEWAY_COMMIT_CEILING_MS);
  return Number.isFinite(value) && value > 0 ? value : defaultLimits.maxCommitWaitMs;
};

/** A number of the environment within its bounds, else what holds without it. */
const within = (text: string | undefined, min: number, max: number, fallback: number): number => {
  const value = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(value) && value >= min && value <= max
    ? value
    : fallback;
};

export function connectionLimits(env: Environment): ConnectionLimits {
  const { idleSeconds, bodyMs } = defaultConnectionLimits;
  return {
    idleSeconds: within(env.GATEWAY_IDLE_SECONDS, 8, 255, idleSeconds),
    bodyMs: within(env.GATEWAY_BODY_SECONDS, 1, 3600, bodyMs / 1000) * 1000,
    perAddress: within(env.GATEWAY_CONNECTIONS_PER_ADDRESS, 1, 1_000_000, 0) || null,
  };
}

/**
 * Found by the simulation of `tests/relay/overload.test.ts`. With more, those let in wait for seconds before anybody is turned
 * away; with less, two hundred streams that begin at once on a machine that others keep busy are turned away without need.
 */
const defaultDelayMs = 150;

/** @param descriptors that may be open; null = unknown. */
export const overloadLimits = (env: Environment, descriptors: number | null): OverloadLimits => ({
  delayMs: within(env.GATEWAY_SHED_DELAY_MS, 0, 60_000, defaultDelayMs) || Number.POSITIVE_INFINITY,
  maxOpen: within(env.GATEWAY_MAX_OPEN, 1, 10_000_000, 0) || maxOpenFor(descriptors),
});

const mb = 1024 * 1024;

/** The limit of a process's data, as `LimitDATA=` and `ulimit -d` set it; Infinity where there is none. Source: proc_pid_limits(5). */
function dataLimit(file: string): number {
  try {
    const bytes = /^Max data size +(\d+) /m.exec(readFileSync(file, 'utf8'))?.[1];
    return bytes === undefined ? Number.POSITIVE_INFINITY : Number(bytes);
  } catch {
    // reason: the file alone; other systems have none.
    return Number.POSITIVE_INFINITY;
  }
}

/** Bytes of memory that this process may use: as it is told, else the least of its own limit, its container's and the machine's. @param limits file with the limits of the process. */
export function processMemory(env: Environment, limits = '/proc/self/limits'): number {
  const stated = within(env.GATEWAY_MEMORY_MB, 64, 64 * mb, 0) * mb;
  const constrained = process.constrainedMemory();
  return stated || Math.min(totalmem(), dataLimit(limits), constrained > 0 ? constrained : Number.POSITIVE_INFINITY);
}

export const maxRelayThreads = 8;

/**
 * @param setting a number, or `auto`: one on two cores or fewer, else one less than there are cores.
 * @returns one wherever the platform does not spread connections over several listeners of one port.
 * @throws AppError usage
 */
export function relayThreadCount(setting: string | undefined, cores: number, platform: NodeJS.Platform): number {
  const count = setting === undefined || setting === '' || setting === 'auto' ? null : Number(setting);
  if (count !== null && !(Number.isInteger(count) && count >= 1 && count <= maxRelayThreads))
    throw new AppError('usage', { detail: `--relays ${setting}: auto, 1-${maxRelayThreads}` });
  if (platform !== 'linux') return 1;
  return count ?? (cores <= 2 ? 1 : Math.min(maxRelayThreads, cores - 1));
}
