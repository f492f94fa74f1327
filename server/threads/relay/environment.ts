/** What the environment says about serving, within bounds. */
import { AppError } from '../../contract/errors.ts';
import { type ConnectionLimits, defaultConnectionLimits } from '../../http/connections.ts';
import { defaultLimits } from '../../relay/relay-deps.ts';
import { mostOpenFor, type OverloadLimits } from './load-shedding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds an answer's end waits for its bill before it goes out all the same; without an order it waits as long as that takes. */
export const commitCeiling = (env: Environment): number => {
  const given = Number(env.GATEWAY_COMMIT_CEILING_MS);
  return Number.isFinite(given) && given > 0 ? given : defaultLimits.commitCeilingMs;
};

/** A number of the environment within its bounds, else what holds without it. */
const within = (text: string | undefined, least: number, most: number, otherwise: number): number => {
  const given = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(given) && given >= least && given <= most
    ? given
    : otherwise;
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
const usualDelayMs = 150;

/** @param descriptors that may be open; null = nobody knows. */
export const overloadLimits = (env: Environment, descriptors: number | null): OverloadLimits => ({
  delayMs: within(env.GATEWAY_SHED_DELAY_MS, 0, 60_000, usualDelayMs) || Number.POSITIVE_INFINITY,
  mostOpen: within(env.GATEWAY_MAX_OPEN, 1, 10_000_000, 0) || mostOpenFor(descriptors),
});

export const mostRelays = 8;

/**
 * @param wanted a number, or `auto`: one on two cores or fewer, else one less than there are cores.
 * @returns one wherever the platform does not spread connections over several listeners of one port.
 * @throws AppError usage
 */
export function relaysFor(wanted: string | undefined, cores: number, platform: NodeJS.Platform): number {
  const given = wanted === undefined || wanted === '' || wanted === 'auto' ? null : Number(wanted);
  if (given !== null && !(Number.isInteger(given) && given >= 1 && given <= mostRelays))
    throw new AppError('usage', { detail: `--relays ${wanted}: auto, 1-${mostRelays}` });
  if (platform !== 'linux') return 1;
  return given ?? (cores <= 2 ? 1 : Math.min(mostRelays, cores - 1));
}
