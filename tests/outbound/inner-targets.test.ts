/** Alerts and notifications to the site's own network: only where the environment names it, and nowhere else. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createInnerFetch, parseInnerTargets } from '../../server/outbound/inner-targets.ts';
import { createTestGateway } from '../support/gateway.ts';

describe('what the environment names', () => {
  const isInner = parseInnerTargets('10.1.2.3, 192.168.0.0/16,fd00::/8 ,');

  test.each([
    ['10.1.2.3', true],
    ['10.1.2.4', false],
    ['192.168.255.255', true],
    ['192.169.0.0', false],
    ['fd12::1', true],
    ['[fd12::1]', true],
    ['fe80::1', false],
    ['fd12::1%eth0', false],
    ['127.0.0.1', false],
    ['169.254.169.254', false],
    ['8.8.8.8', false],
    ['::ffff:10.1.2.3', true],
    ['::ffff:10.1.2.4', false],
    ['10.1.2.3.example', false],
    ['', false],
  ])('%s: %s', (address, inside) => expect(isInner?.(address)).toBe(inside));

  test('an empty list of networks allows nothing', () => {
    for (const input of ['', ' ', ',', ' , ']) expect(parseInnerTargets(input)).toBe(null);
  });

  test.each([
    'gateway.local',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/8x',
    '10.0.0',
    'http://10.0.0.1',
    '10.0.0.1:8080',
    'fe80::1%eth0',
    // All addresses are no network of one's own.
    '0.0.0.0/0',
    '::/0',
    '10.0.0.1;10.0.0.2',
  ])('%s is refused, so that a slip opens nothing', (input) =>
    expect(() => parseInnerTargets(`10.1.2.3,${input}`)).toThrow(expect.objectContaining({ code: 'usage' })),
  );
});

const receiver = createServer((request, response) => {
  if (request.url === '/moved') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  else response.end('received');
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  ({ port } = receiver.address() as AddressInfo);
});
afterAll(() => void receiver.close());

describe('a call', () => {
  const outer = vi.fn(async () => new Response('outside'));
  const addresses: Record<string, readonly string[]> = {
    'inner.example': ['127.0.0.1'],
    'mixed.example': ['127.0.0.1', '93.184.216.34'],
    'public.example': ['93.184.216.34'],
    'other.example': ['10.9.9.9'],
  };
  const resolve = async (host: string) => {
    const found = addresses[host];
    if (found === undefined) throw new Error('ENOTFOUND');
    return found.map((address) => ({ address, family: 4 }));
  };
  const fetchFor = (schemes: readonly string[]) =>
    createInnerFetch({ isInner: (address) => address === '127.0.0.1', outer, schemes, resolve });
  const call = fetchFor(['https:', 'http:']);
  const textOf = async (url: string) => (await call(url)).text();

  test('reaches an inner address, named or by its number, over HTTP', async () => {
    expect(await textOf(`http://127.0.0.1:${port}/`)).toBe('received');
    expect(await textOf(`http://inner.example:${port}/`)).toBe('received');
  });

  test.each(['public.example', 'mixed.example', 'other.example', 'unknown.example', '8.8.8.8', '10.9.9.9'])(
    'to %s is the business of whoever carries the others',
    async (host) => expect(await textOf(`https://${host}/`)).toBe('outside'),
  );

  test('that is no address is, too', async () => expect(await textOf('nonsense')).toBe('outside'));

  test('of a user needs https inside as well', async () => {
    const ofUser = fetchFor(['https:']);
    await expect(ofUser(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'address_forbidden' });
  });

  test('is not led elsewhere by its receiver', () =>
    expect(call(`http://127.0.0.1:${port}/moved`)).rejects.toMatchObject({ code: 'address_redirects' }));

  test('dials what was looked at: a name that changes its mind is refused', async () => {
    let asked = 0;
    const fickle = createInnerFetch({
      isInner: (address) => address === '127.0.0.1',
      outer,
      schemes: ['http:'],
      resolve: async () => [{ address: asked++ === 0 ? '127.0.0.1' : '169.254.169.254', family: 4 }],
    });
    await expect(fickle(`http://fickle.example:${port}/`)).rejects.toMatchObject({ code: 'address_forbidden' });
    expect(asked).toBe(2);
  });
});

test.each([
  ['127.0.0.1', true],
  ['10.9.9.9', false],
  ['', false],
])('an alert of the site arrives inside where the environment names %j: %s', async (named, arrives) => {
  const gateway = await createTestGateway({ more: { innerTargets: parseInnerTargets(named) } });
  try {
    await gateway.option('alert_setting.webhook_url', `http://127.0.0.1:${port}/`);
    const [outcome] = (await gateway.call('alert.test', {})) as { target: string; ok: boolean; message: string }[];
    expect(outcome).toMatchObject({ target: 'webhook', ok: arrives });
  } finally {
    await gateway.close();
  }
});
