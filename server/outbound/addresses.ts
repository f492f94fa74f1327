/** Which user-supplied addresses the gateway may call. All that are not plainly public are refused. */
import { BlockList, isIP } from 'node:net';

const notPublic4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Prefixes that embed an IPv4 address are refused whole: no public host needs them. */
const notPublic6 = [
  '::/96',
  '::ffff:0:0/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

const list = (rows: readonly string[], family: 'ipv4' | 'ipv6'): BlockList => {
  const block = new BlockList();
  for (const row of rows) {
    const [address = '', bits = ''] = row.split('/');
    block.addSubnet(address, Number(bits), family);
  }
  return block;
};
const mapped = list(notPublic4, 'ipv4');
const six = list(notPublic6, 'ipv6');

/** @param address as the resolver gives it, or as a URL spells it in its host. */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, '');
  const family = isIP(bare);
  if (family === 4) return !mapped.check(bare, 'ipv4');
  return family === 6 && !bare.includes('%') && !six.check(bare, 'ipv6');
}
