/** Notices a proxy nearby whose X-Forwarded-For is not believed: all its clients then count as one address. */
import { BlockList, isIP } from 'node:net';

const nearby = new BlockList();
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  nearby.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  ['::1', 128],
  ['fc00::', 7],
] as const)
  nearby.addSubnet(network, prefix, 'ipv6');

export interface UnknownProxy {
  /** A request with X-Forwarded-For came from an address that is no trusted proxy. Any client can send that header, too: only addresses nearby are noted. */
  saw(peer: string): void;
  /** Address of the last one within the hour, '' = none. */
  address(): string;
}

const memoryMs = 3_600_000;

/** @param now milliseconds. */
export function createUnknownProxy(now: () => number): UnknownProxy {
  let last = { peer: '', at: 0 };
  return {
    saw(peer) {
      const address = peer.replace(/^::ffff:(?=\d+\.)/i, '');
      const family = isIP(address);
      if (family !== 0 && nearby.check(address, family === 4 ? 'ipv4' : 'ipv6')) last = { peer: address, at: now() };
    },
    address: () => (now() - last.at < memoryMs ? last.peer : ''),
  };
}
