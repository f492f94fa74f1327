/** What the environment says about serving, within bounds. */
import { AppError } from '../../contract/errors.ts';
import { type ConnectionLimits, defaultConnectionLimits } from '../../http/connections.ts';
import { defaultLimits } from '../../relay/relay-deps.ts';
import { maxOpenFor, type OverloadLimits } from './load-shedding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds an answer's end waits for its bill before it goes out all the same; without an order it waits as long as that takes. */
export const maxCommitWait = (env: Environment): number => {
  const given = Number(env.GATEWAY_COMMIT_CEILING_MS);
  return Number.isFinite(given) && given > 0 ? given : defaultLimits.maxCommitWaitMs;
};

/** A number of the environment within its bounds, else what holds without it. */
const within = (text: string | undefined, min: number, max: number, fallback: number): number => {
  const given = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(given) && given >= min && given <= max
    ? given
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

export const maxRelayThreads = 8;

/**
 * @param wanted a number, or `auto`: one on two cores or fewer, else one less than there are cores.
 * @returns one wherever the platform does not spread connections over several listeners of one port.
 * @throws AppError usage
 */
export function relayThreadCount(wanted: string | undefined, cores: number, platform: NodeJS.Platform): number {
  const given = wanted === undefined || wanted === '' || wanted === 'auto' ? null : Number(wanted);
  if (given !== null && !(Number.isInteger(given) && given >= 1 && given <= maxRelayThreads))
    throw new AppError('usage', { detail: `--relays ${wanted}: auto, 1-${maxRelayThreads}` });
  if (platform !== 'linux') return 1;
  return given ?? (cores <= 2 ? 1 : Math.min(maxRelayThreads, cores - 1));
}
