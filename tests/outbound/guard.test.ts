import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isPublicAddress } from '../../server/outbound/addresses.ts';
import { createGuard, verifyGuard } from '../../server/outbound/guard.ts';
import { figure } from '../support/figure.ts';

let port: number;
const visits: string[] = [];
const canary = createServer((request, response) => {
  visits.push(request.url ?? '');
  if (request.url?.startsWith('/jump')) response.writeHead(302, { location: `http://127.0.0.1:${port}/landed` });
  response.end('reached');
});
beforeAll(async () => {
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
  port = (canary.address() as AddressInfo).port;
});
afterAll(() => void canary.close());

const octets = (address: string): number[] => address.split('.').map(Number);
/** Every way in which a URL may spell an address of version 4, plain and inside version 6. */
function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = octets(address);
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (value: number) => `0x${value.toString(16)}`;
  const octal = (value: number) => `0${value.toString(8)}`;
  const high = ((a << 8) | b).toString(16);
  const low = ((c << 8) | d).toString(16);
  const wide = [...address]
    .map((character) => (/\d/.test(character) ? String.fromCharCode(character.charCodeAt(0) + 0xfee0) : '\u3002'))
    .join('');
  return [
    address,
    `${address}.`,
    wide,
    encodeURIComponent(address).replaceAll('.', '%2e'),
    String(whole),
    hex(whole),
    hex(whole).toUpperCase().replace('0X', '0x'),
    octal(whole),
    [a, b, c, d].map(hex).join('.'),
    [a, b, c, d].map(octal).join('.'),
    `${hex(a)}.${b}.${octal(c)}.${d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `[::ffff:${address}]`,
    `[::FFFF:${high}:${low}]`,
    `[::${address}]`,
    `[::${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
  ];
}
const forbidden = [
  ...[
    '127.0.0.1',
    '127.1.2.3',
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
  ].flatMap(spellings),
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fdff::1]',
  '[ff02::1]',
  '[100::1]',
  '[2001::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
];

test('no spelling of an address that is not public reaches anything', async () => {
  expect(forbidden.length).toBeGreaterThan(400);
  const call = createGuard();
  const reached: string[] = [];
  for (const host of forbidden) {
    const outcome = await call(`http://${host}:${port}/spelled`).then(
      () => 'reached',
      (error: Error) => error.message,
    );
    if (outcome === 'reached') reached.push(host);
  }
  figure(`${forbidden.length} spellings, ${reached.length} reached`);
  expect(reached).toEqual([]);
  expect(visits).toEqual([]);
});

test.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '172.32.0.1', '100.128.0.1'])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  ['another scheme', (at: number) => `ftp://site.example:${at}/`],
  ['a name and a password', (at: number) => `http://user:secret@site.example:${at}/`],
  ['no address at all', () => 'nowhere'],
])('%s is refused', async (_name, address) => {
  const call = createGuard({ resolve: async () => [{ address: '93.184.216.34', family: 4 }] });
  await expect(call(address(port))).rejects.toMatchObject({ code: 'address_forbidden' });
});

test('users’ addresses are https alone', async () => {
  const call = createGuard({ schemes: ['https:'], isAllowed: () => true });
  await expect(call(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'address_forbidden' });
});

test('one private answer among public ones refuses the name', async () => {
  const resolve = async () => [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ];
  await expect(createGuard({ resolve })(`http://site.example:${port}/`)).rejects.toMatchObject({
    code: 'address_forbidden',
  });
  expect(visits).toEqual([]);
});

test('a resolver that changes its mind is asked once: the checked answer is the one that is dialled', async () => {
  const requested: string[] = [];
  const resolve = async (host: string) => {
    requested.push(host);
    // First the address that is allowed here, afterwards the canary's own.
    return [{ address: requested.length === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }];
  };
  const call = createGuard({ resolve, isAllowed: (address) => address === '127.0.0.2' });
  expect(await (await call(`http://rebind.example:${port}/once`)).text()).toBe('reached');
  expect(requested).toEqual(['rebind.example']);
  visits.length = 0;
});

test('a redirect is an error, and is not followed', async () => {
  const call = createGuard({
    resolve: async () => [{ address: '127.0.0.2', family: 4 }],
    isAllowed: (address) => address === '127.0.0.2',
  });
  await expect(call(`http://site.example:${port}/jump`)).rejects.toMatchObject({ code: 'address_redirects' });
  expect(visits).toEqual(['/jump']);
});

test('the self-test passes with the guard and fails when it is unplugged', async () => {
  await verifyGuard();
  const unplugged = (() => Promise.resolve(new Response('went through'))) as unknown as Parameters<
    typeof verifyGuard
  >[0];
  await expect(verifyGuard(unplugged)).rejects.toThrow('do not pass the address guard');
  const deaf = ((url: string) => fetch(url)) as unknown as Parameters<typeof verifyGuard>[0];
  await expect(verifyGuard(deaf)).rejects.toThrow('do not pass the address guard');
});
