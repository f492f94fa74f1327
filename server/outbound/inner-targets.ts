/**
 * Networks of its own that a site may send alerts and notifications to. They are named in the environment of the process alone:
 * who may only change settings must not open the inner network to everybody who has a webhook.
 */
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { AppError } from '../contract/errors.ts';
import { createVerifiedGuard, type Fetch, type GuardOptions } from './guard.ts';

export const innerTargetsName = 'GATEWAY_INNER_TARGETS';

/** null = none. */
export type InnerTargets = ((address: string) => boolean) | null;

/**
 * @param input addresses and networks with commas between them: `10.1.2.3, 192.168.0.0/16, fd00::/8`; '' = none.
 * @throws AppError usage: a part that is neither.
 */
export function parseInnerTargets(input: string): InnerTargets {
  const parts = input
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return null;
  const list = new BlockList();
  for (const part of parts) {
    const [address = '', bits, more] = part.split('/');
    const family = isIP(address);
    const longest = family === 4 ? 32 : 128;
    const length = bits === undefined ? longest : Number(bits);
    const isNetwork =
      family !== 0 && more === undefined && /^\d{1,3}$/.test(bits ?? '0') && length > 0 && length <= longest;
    if (!isNetwork || address.includes('%'))
      throw new AppError('usage', { detail: `${innerTargetsName}: ${part.slice(0, 100)}` });
    list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6');
  }
  return (address) => {
    const bare = address.replace(/^\[|\]$/g, '');
    const family = isIP(bare);
    return family !== 0 && !bare.includes('%') && list.check(bare, family === 4 ? 'ipv4' : 'ipv6');
  };
}

interface InnerFetch {
  readonly isInner: (address: string) => boolean;
  /** Carries calls to all other addresses. */
  readonly outer: Fetch;
  /** Schemes that calls to inner addresses may have. */
  readonly schemes: readonly string[];
  readonly resolve?: NonNullable<GuardOptions['resolve']>;
}

/** A name counts as inner where all its addresses are; what is dialled is looked at again. */
export function createInnerFetch({
  isInner,
  outer,
  schemes,
  resolve = (host) => lookup(host, { all: true }),
}: InnerFetch): Fetch {
  const inner = createVerifiedGuard({ schemes, isAllowed: isInner, resolve });
  const leadsInside = async (address: string): Promise<boolean> => {
    const host = URL.parse(address)?.hostname ?? '';
    if (host === '') return false;
    if (isIP(host.replace(/^\[|\]$/g, '')) !== 0) return isInner(host);
    const answers = await resolve(host).catch(() => []);
    return answers.length > 0 && answers.every((answer) => isInner(answer.address));
  };
  return async (address, init) => ((await leadsInside(address)) ? inner : outer)(address, init);
}
